"""Losses without effect for two classes, and terms with too little weight, are found."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from limbeck.doctor.training import empty, weak_losses

Make = Callable[..., Any]
TWO, THREE = (SimpleNamespace(labels=labels) for labels in (["bad", "good"], ["bad", "fine", "good"]))


def test_a_loss_that_is_degenerate_for_two_classes_is_found(make_known: Make) -> None:
    losses = {"distillation": {"losses": [{"kind": "dkd"}, {"kind": "logit_mse"}]}}

    (finding,) = empty(make_known(losses, corpus=TWO))

    assert finding.level == "warning"
    assert finding.what == "dkd has little or no effect with 2 classes"
    assert empty(make_known(losses, corpus=THREE)) == []


def test_a_term_that_drowns_is_found_with_the_seeds_it_drowns_in(make_known: Make, make_student_of: Make) -> None:
    drowning = [{"epoch": 1, "losses": {"logit_mse": 99.5, "hint": 0.5}}]
    even = [{"epoch": 1, "losses": {"logit_mse": 98.0, "hint": 2.0}}]
    students = [make_student_of(drowning, seed=0), make_student_of(even, seed=1)]

    (finding,) = weak_losses(make_known(students=students))

    assert finding.level == "warning"
    assert finding.what == "hint hardly counts in the objective"
    assert finding.evidence == "hint is 0.50% of the loss and logit_mse is 100%; in 1 of 2 seeds"
    assert finding.advice == "Raise the weight of hint, or lower that of logit_mse."
    assert weak_losses(make_known(students=students[1:])) == []

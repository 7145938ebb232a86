"""A loss function of the user's own: found, called as it asked, and refused with a reason."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from limbeck.distillation.objective import Objective
from limbeck.distillation.terms.custom import CustomLossUnusable, CustomTerm, custom_files
from limbeck.distillation.terms.term import Batch, Outputs, Shapes
from limbeck.recipe.kinds import Loss
from limbeck.recipe.losses import Custom, LogitMse

MODULE = """
import torch

NUMBER = 3


class Ready:
    @staticmethod
    def loss(student_logits, teacher_logits, labels):
        return (student_logits - teacher_logits).abs().mean()


def focal(student_logits, teacher_logits, labels, *, gamma=1.0):
    return gamma * (student_logits - teacher_logits).square().sum()


def far(student_logits, teacher_logits, labels, student_features, teacher_features):
    return (student_features.mean() - teacher_features.mean()).abs()


def labelled(student_logits, teacher_logits, labels):
    return student_logits.sum() * 0 + (labels >= 0).sum()


def broken(student_logits, teacher_logits, labels):
    raise RuntimeError("no luck")


def rows(student_logits, teacher_logits, labels):
    return student_logits.sum(dim=1)


def plain(student_logits, teacher_logits, labels):
    return 1.0
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """`own_losses`, importable for the time of a test."""
    path = tmp_path / "own_losses.py"
    path.write_text(MODULE, encoding="utf-8")
    (tmp_path / "broken_module.py").write_text("import nothing_of_this_name", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield path
    sys.modules.pop("own_losses", None)


def batch() -> Batch:
    torch.manual_seed(1)
    student = Outputs(torch.randn(3, 2, requires_grad=True), features=torch.randn(3, 4))
    teacher = Outputs(torch.randn(3, 2), features=torch.randn(3, 5))
    return Batch(student, teacher, labels=torch.tensor([0, 1, -1]), mask=torch.ones(3, 2), done=0.0)


def custom(name: str, **rest: Any) -> Custom:
    return Custom(kind="custom", call=f"own_losses:{name}", **rest)


def term(name: str, **rest: Any) -> Tensor:
    found: Tensor = CustomTerm(custom(name, **rest), Shapes())(batch())
    return found


def test_it_gets_the_logits_and_its_options() -> None:
    seen = batch()
    difference = (seen.student.logits - seen.teacher.logits).square().sum()

    torch.testing.assert_close(term("focal"), difference)
    torch.testing.assert_close(term("focal", options={"gamma": 2.5}), 2.5 * difference)
    assert term("focal").requires_grad


def test_it_gets_the_labels_with_minus_one_for_rows_without_one() -> None:
    assert term("labelled").item() == 2


def test_it_gets_features_if_it_asks_for_them() -> None:
    seen = batch()
    assert seen.student.features is not None
    assert seen.teacher.features is not None

    found = term("far", features=True)

    torch.testing.assert_close(found, (seen.student.features.mean() - seen.teacher.features.mean()).abs())
    with pytest.raises(CustomLossUnusable, match="student_features"):
        term("far")


def test_it_may_be_inside_a_class() -> None:
    seen = batch()

    torch.testing.assert_close(term("Ready.loss"), (seen.student.logits - seen.teacher.logits).abs().mean())


def test_it_is_weighted_and_named_like_any_other() -> None:
    losses: list[Loss] = [custom("focal", weight=2.0), custom("Ready.loss"), LogitMse(kind="logit_mse")]

    terms = Objective(losses, Shapes())(batch())

    assert terms.keys() == {"focal", "Ready.loss", "logit_mse"}
    torch.testing.assert_close(terms["focal"], 2.0 * term("focal"))


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("no_such_module:focal", "No module named 'no_such_module'"),
        ("broken_module:focal", "No module named 'nothing_of_this_name' \\(.*broken_module.py, line 1\\)"),
        ("own_losses:fokal", "no attribute 'fokal'"),
        ("own_losses:NUMBER", "not a function but a int"),
        ("own_losses:Ready.other", "no attribute 'other'"),
    ],
)
def test_one_that_cannot_be_found_is_refused_before_it_is_called(call: str, reason: str) -> None:
    loss = Custom(kind="custom", call=call)

    for find in (lambda loss: CustomTerm(loss, Shapes()), lambda loss: custom_files([loss])):
        with pytest.raises(CustomLossUnusable, match=reason) as raised:
            find(loss)
        assert raised.value.call == call
        assert "PYTHONPATH" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("broken", "RuntimeError: no luck \\(.*own_losses.py, line 26, in broken\\)"),
        ("rows", r"a tensor of shape \(3,\), not one number"),
        ("plain", "returned float, not one number as a tensor"),
    ],
)
def test_one_that_does_not_do_what_a_loss_must_is_refused(name: str, reason: str) -> None:
    with pytest.raises(CustomLossUnusable, match=reason):
        term(name)


def test_an_option_that_it_does_not_accept_is_reported() -> None:
    with pytest.raises(CustomLossUnusable, match="unexpected keyword argument 'alpha'"):
        term("focal", options={"alpha": 1})


def test_the_files_of_own_functions_are_known_for_keys(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_here = ModuleType("made_here")  # as in a notebook: without a file
    exec("def root(student, teacher): return student.sum()", made_here.__dict__)
    monkeypatch.setitem(sys.modules, "made_here", made_here)
    losses = [custom("focal"), LogitMse(kind="logit_mse"), Custom(kind="custom", call="made_here:root")]

    assert custom_files(losses) == {"own_losses:focal": module, "made_here:root": None}

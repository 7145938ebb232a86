"""Terms on features: the formula of each, and what it learns with the student."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from limbeck.distillation.losses.features import (
    factor_transfer,
    feature_cosine,
    hint,
    pkt,
    rkd_angle,
    rkd_distance,
    spkd,
    vid,
)
from limbeck.distillation.objective import Objective, term_of
from limbeck.distillation.student_with_objective import train_paraphrasers
from limbeck.distillation.terms.features import Factors, Variational
from limbeck.distillation.terms.term import Batch, Shapes
from limbeck.progress import SilentReporter
from limbeck.recipe.feature_losses import FactorTransfer, FeatureCosine, FeatureLoss, Hint, Pkt, Rkd, Spkd, Vid
from limbeck.recipe.kinds import Loss
from limbeck.recipe.losses import LogitMse

SHAPES = Shapes(student_features=6, teacher_features=10)
MakeBatch = Callable[..., Batch]


class Notes(SilentReporter):
    """A reporter that keeps every note."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.notes.append(text)


def features(batch: Batch) -> tuple[Tensor, Tensor]:
    assert batch.student.features is not None
    assert batch.teacher.features is not None
    return batch.student.features, batch.teacher.features


@pytest.mark.parametrize(
    ("loss", "formula"),
    [
        (Spkd(kind="spkd"), spkd),
        (Pkt(kind="pkt"), pkt),
        (
            Rkd(kind="rkd", distance_weight=2.0, angle_weight=3.0),
            lambda student, teacher: 2.0 * rkd_distance(student, teacher) + 3.0 * rkd_angle(student, teacher),
        ),
        (Rkd(kind="rkd", distance_weight=2.0, angle_weight=0.0), lambda *both: 2.0 * rkd_distance(*both)),
    ],
)
def test_how_rows_lie_to_each_other_needs_no_projection(
    loss: FeatureLoss, formula: Callable[[Tensor, Tensor], Tensor], make_batch: MakeBatch
) -> None:
    term, batch = term_of(loss, SHAPES), make_batch(SHAPES)

    torch.testing.assert_close(term(batch), formula(*features(batch)))
    assert not list(term.parameters())


def test_angles_that_weigh_nothing_are_not_computed(make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take memory with the third power of the batch."""
    from limbeck.distillation.losses import features as formulas

    def refuse(*_: Tensor) -> Tensor:
        raise AssertionError("the angles were computed")

    monkeypatch.setattr(formulas, "rkd_angle", refuse)

    assert term_of(Rkd(kind="rkd", angle_weight=0.0), SHAPES)(make_batch(SHAPES)).isfinite()


@pytest.mark.parametrize(
    ("loss", "formula"), [(Hint(kind="hint"), hint), (FeatureCosine(kind="feature_cosine"), feature_cosine)]
)
@pytest.mark.parametrize("teacher_width", [6, 10])
def test_a_formula_for_one_width_has_a_learned_projection_even_where_widths_agree(
    loss: FeatureLoss, formula: Callable[[Tensor, Tensor], Tensor], teacher_width: int, make_batch: MakeBatch
) -> None:
    shapes = replace(SHAPES, teacher_features=teacher_width)
    term: Any = term_of(loss, shapes)
    student, teacher = features(batch := make_batch(shapes))

    assert isinstance(term.projection, nn.Linear)
    assert term.projection.weight.shape == (teacher_width, 6)
    torch.testing.assert_close(term(batch), formula(term.projection(student), teacher))


def test_the_variance_of_each_feature_is_learned(make_batch: MakeBatch) -> None:
    term = term_of(Vid(kind="vid"), SHAPES)
    assert isinstance(term, Variational)
    student, teacher = features(batch := make_batch(SHAPES))

    term(batch).backward()

    assert term.log_variance.shape == (10,)
    assert term.log_variance.grad is not None
    assert term.log_variance.grad.all()
    expected = vid(term.projection(student), teacher, log_variance=torch.zeros(10))
    torch.testing.assert_close(term(batch), expected)


@pytest.mark.parametrize("power", [1, 2])
def test_factors_are_compared_as_the_recipe_says(power: Any, make_batch: MakeBatch) -> None:
    term = term_of(FactorTransfer(kind="factor_transfer", factor_share=0.3, power=power), SHAPES)
    assert isinstance(term, Factors)
    student, teacher = features(batch := make_batch(SHAPES))

    factors = term.paraphraser.encode(teacher)

    assert factors.shape == (5, 3)
    torch.testing.assert_close(term(batch), factor_transfer(term.translator(student), factors, power=power))


def test_the_translator_learns_with_the_student_and_the_paraphraser_is_frozen(make_batch: MakeBatch) -> None:
    objective = Objective([FactorTransfer(kind="factor_transfer")], SHAPES)

    objective(make_batch(SHAPES))["factor_transfer"].backward()

    learned = {name.split(".")[2] for name, weight in objective.named_parameters() if weight.requires_grad}
    reached = {name.split(".")[2] for name, weight in objective.named_parameters() if weight.grad is not None}
    assert learned == reached == {"translator"}


def test_a_paraphraser_is_trained_before_the_student_and_then_frozen() -> None:
    torch.manual_seed(0)
    teacher = (torch.randn(200, 2) @ torch.randn(2, 10)).half()  # ten features that two numbers determine
    losses: list[Loss] = [
        LogitMse(kind="logit_mse"),
        FactorTransfer(kind="factor_transfer", paraphraser_epochs=600),
    ]
    objective = Objective(losses, SHAPES)
    _, term = objective.terms
    assert isinstance(term, Factors)
    untrained = {name: weight.clone() for name, weight in objective.state_dict().items()}
    reporter = Notes()

    train_paraphrasers(objective, teacher, seed=0, reporter=reporter)

    assert term.paraphraser.error(teacher.float()) < 0.2
    assert not any(weight.requires_grad for weight in term.paraphraser.parameters())
    assert all(weight.grad is None for weight in objective.parameters())  # the student's are clipped together with all
    assert all(weight.requires_grad for weight in term.translator.parameters())
    changed = {name for name, weight in objective.state_dict().items() if not torch.equal(weight, untrained[name])}
    assert changed == {f"terms.1.paraphraser.{name}" for name in term.paraphraser.state_dict()}
    (note,) = reporter.notes
    assert "10 features as 5 factors" in note


def test_training_a_paraphraser_does_not_change_the_random_state() -> None:
    """Otherwise a training that continues after a stop would differ from one that was never stopped."""
    objective = Objective([FactorTransfer(kind="factor_transfer", paraphraser_epochs=1)], SHAPES)
    before = torch.get_rng_state()

    train_paraphrasers(objective, torch.randn(20, 10, generator=torch.Generator()), seed=0, reporter=SilentReporter())

    assert torch.equal(torch.get_rng_state(), before)


def test_the_teacher_may_be_in_half_precision(make_batch: MakeBatch) -> None:
    batch = make_batch(SHAPES)
    student, teacher = features(batch)
    halved = replace(batch, teacher=replace(batch.teacher, features=teacher.half().float()))

    for loss in (Spkd(kind="spkd"), Hint(kind="hint")):
        term = term_of(loss, SHAPES)
        torch.testing.assert_close(term(halved), term(batch), atol=1e-2, rtol=1e-2)
    assert student.dtype == torch.float32

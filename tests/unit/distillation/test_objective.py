"""The weighted sum."""

from typing import Any

import pytest
import torch
from torch import Tensor

from limbeck.distillation.losses.logits import hard_label_sets, hard_labels, logit_mse, soft_target_sets, soft_targets
from limbeck.distillation.objective import Objective
from limbeck.distillation.terms.term import Batch, Outputs, Shapes
from limbeck.recipe.feature_losses import Hint
from limbeck.recipe.kinds import Loss
from limbeck.recipe.losses import Custom, HardLabels, LogitMse, SoftTargets
from limbeck.recipe.schedule import Schedule

STUDENT = torch.tensor([[0.5, -0.5], [1.0, 0.0]])
TEACHER = torch.tensor([[2.0, -2.0], [-1.0, 1.0]])
LABELS = torch.tensor([0, -1])


def terms_of(*losses: Loss, labels: Tensor = LABELS, done: float = 0.0, **shapes: Any) -> dict[str, Tensor]:
    batch = Batch(Outputs(STUDENT), Outputs(TEACHER), labels=labels, mask=torch.ones(2, 3), done=done)
    terms: dict[str, Tensor] = Objective(losses, Shapes(**shapes))(batch)
    return terms


def test_each_term_is_weighted_and_returned_separately() -> None:
    terms = terms_of(
        SoftTargets(kind="soft_targets", weight=0.5, temperature=4.0), LogitMse(kind="logit_mse", weight=3.0)
    )

    assert terms.keys() == {"soft_targets", "logit_mse"}
    torch.testing.assert_close(terms["soft_targets"], 0.5 * soft_targets(STUDENT, TEACHER, temperature=4.0))
    torch.testing.assert_close(terms["logit_mse"], 3.0 * logit_mse(STUDENT, TEACHER))


def test_the_temperature_of_the_recipe_is_the_one_used() -> None:
    """KD_Lib's loss takes a temperature and ignores it."""
    warm = terms_of(SoftTargets(kind="soft_targets", temperature=1.0))
    hot = terms_of(SoftTargets(kind="soft_targets", temperature=8.0))

    assert warm["soft_targets"].item() != hot["soft_targets"].item()


def test_two_losses_of_one_kind_add_up() -> None:
    once = terms_of(HardLabels(kind="hard_labels"))
    twice = terms_of(HardLabels(kind="hard_labels"), HardLabels(kind="hard_labels", weight=2.0))

    torch.testing.assert_close(twice["hard_labels"], 3 * once["hard_labels"])


def test_two_losses_of_one_kind_keep_settings_of_their_own() -> None:
    both = terms_of(
        SoftTargets(kind="soft_targets", temperature=1.0), SoftTargets(kind="soft_targets", temperature=8.0)
    )

    expected = sum(soft_targets(STUDENT, TEACHER, temperature=temperature) for temperature in (1.0, 8.0))
    torch.testing.assert_close(both["soft_targets"], expected)


@pytest.mark.parametrize(
    ("schedule", "weights"),
    [
        (Schedule(kind="linear", start=1.0, end=0.0), (1.0, 0.5, 0.0)),
        (Schedule(kind="cosine", start=0.0, end=4.0), (0.0, 2.0, 4.0)),
        (Schedule(kind="warm_up", end=2.0), (0.0, 2.0, 2.0)),
        (3.0, (3.0, 3.0, 3.0)),
    ],
)
def test_a_weight_moves_as_its_schedule_says(schedule: float | Schedule, weights: tuple[float, ...]) -> None:
    plain = logit_mse(STUDENT, TEACHER)

    found = [terms_of(LogitMse(kind="logit_mse", weight=schedule), done=done)["logit_mse"] for done in (0.0, 0.5, 1.0)]

    torch.testing.assert_close(torch.stack(found), torch.tensor(weights) * plain, atol=1e-6, rtol=1e-6)


def test_a_temperature_moves_as_its_schedule_says() -> None:
    cooling = SoftTargets(kind="soft_targets", temperature=Schedule(kind="linear", start=8.0, end=2.0))

    for done, temperature in ((0.0, 8.0), (0.5, 5.0), (1.0, 2.0)):
        expected = soft_targets(STUDENT, TEACHER, temperature=temperature)
        torch.testing.assert_close(terms_of(cooling, done=done)["soft_targets"], expected)


def test_several_labels_a_row_take_the_losses_of_classes_by_themselves() -> None:
    sets, weights = torch.tensor([[1, 1], [0, 1]]), torch.tensor([1.0, 2.0])

    terms = terms_of(
        HardLabels(kind="hard_labels", smoothing=0.1),
        SoftTargets(kind="soft_targets", temperature=2.0),
        labels=sets,
        multi_label=True,
        class_weights=weights,
    )

    expected = hard_label_sets(STUDENT, sets, class_weights=weights, smoothing=0.1)
    torch.testing.assert_close(terms["hard_labels"], expected)
    torch.testing.assert_close(terms["soft_targets"], soft_target_sets(STUDENT, TEACHER, temperature=2.0))


def test_class_weights_and_smoothing_reach_the_loss_on_labels() -> None:
    weights, labels = torch.tensor([1.0, 9.0]), torch.tensor([0, 1])

    terms = terms_of(HardLabels(kind="hard_labels", smoothing=0.2), labels=labels, class_weights=weights)

    expected = hard_labels(STUDENT, labels, class_weights=weights, smoothing=0.2)
    torch.testing.assert_close(terms["hard_labels"], expected)
    assert expected.item() != hard_labels(STUDENT, labels).item()


def test_class_weights_are_not_in_a_checkpoint_but_move_with_the_student() -> None:
    objective = Objective([HardLabels(kind="hard_labels")], Shapes(class_weights=torch.ones(2)))

    assert objective.state_dict() == {}
    assert [tensor.shape for tensor in objective.buffers()] == [(2,)]


def test_what_terms_learn_is_among_the_weights_of_the_objective() -> None:
    shapes = Shapes(student_features=4, teacher_features=6)

    objective = Objective([LogitMse(kind="logit_mse"), Hint(kind="hint")], shapes)

    assert {name: tuple(weight.shape) for name, weight in objective.named_parameters()} == {
        "terms.1.projection.weight": (6, 4),
        "terms.1.projection.bias": (6,),
    }


def test_a_loss_of_ones_own_is_called_by_the_name_of_its_function() -> None:
    own = Custom(kind="custom", call="torch.nn.functional:mse_loss")

    assert own.name == "mse_loss"

"""What holds for every loss: full precision; for those on logits and on features, gradients that training can use."""

from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import Tensor

from limbeck.distillation.losses.features import (
    agreements,
    crd,
    factor_transfer,
    feature_cosine,
    hint,
    pkt,
    rkd_angle,
    rkd_distance,
    spkd,
    vid,
)
from limbeck.distillation.losses.layers import (
    attention_kl,
    attention_mse,
    attention_scores,
    fsp,
    hidden_cosine,
    hidden_mse,
    minilm,
    minilm_v2,
    nst,
    pkd,
)
from limbeck.distillation.losses.logits import (
    certain_target_sets,
    certain_targets,
    dist,
    dkd,
    hard_label_sets,
    hard_labels,
    jensen_shannon,
    logit_mse,
    soft_target_sets,
    soft_targets,
    standardised_logits,
)
from limbeck.distillation.losses.parts import in_full_precision, unit_vectors

Loss = Callable[[Tensor, Tensor], Tensor]

LOSSES: dict[str, Loss] = {
    "hard_labels": lambda student, teacher: hard_labels(
        student, teacher.argmax(dim=1), class_weights=torch.ones(student.shape[1]), smoothing=0.1
    ),
    "hard_label_sets": lambda student, teacher: hard_label_sets(student, (teacher > 0).long(), smoothing=0.1),
    "logit_mse": logit_mse,
    "soft_targets": lambda student, teacher: soft_targets(student, teacher, temperature=2.0),
    "soft_target_sets": lambda student, teacher: soft_target_sets(student, teacher, temperature=2.0),
    "certain_targets": certain_targets,
    "certain_target_sets": certain_target_sets,
    "jensen_shannon": lambda student, teacher: jensen_shannon(student, teacher, temperature=2.0),
    "dkd": lambda student, teacher: dkd(student, teacher, torch.full((len(student),), -1)),
    "dist": dist,
    "standardised_logits": standardised_logits,
    "spkd": spkd,
    "rkd_distance": rkd_distance,
    "rkd_angle": rkd_angle,
    "factor_transfer": factor_transfer,
    "hint": hint,
    "feature_cosine": feature_cosine,
    "pkt": pkt,
    "crd": lambda student, teacher: crd(_densities(student, teacher), _densities(teacher, student), bank_rows=9),
    "vid": lambda student, teacher: vid(student, teacher, log_variance=torch.zeros(student.shape[1])),
}
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
LAYER_LOSSES: dict[str, Loss] = {  # of states (rows, tokens, width), which serve as queries, keys and values too
    "hidden_mse": lambda student, teacher: hidden_mse(student, teacher, MASK),
    "hidden_cosine": lambda student, teacher: hidden_cosine(student, teacher, MASK),
    "pkd": pkd,
    "nst": lambda student, teacher: nst(student, teacher, MASK),
    "fsp": lambda student, teacher: fsp(student, student, teacher, teacher, MASK),
    "attention_mse": lambda student, teacher: attention_mse(_scores(student), _scores(teacher), MASK),
    "attention_kl": lambda student, teacher: attention_kl(_scores(student), _scores(teacher), MASK),
    "minilm": lambda student, teacher: minilm(*_thrice(student), *_thrice(teacher), MASK),
    "minilm_v2": lambda student, teacher: minilm_v2(_thrice(student), _thrice(teacher), MASK, relation_heads=2),
}
EVERY_LOSS = pytest.mark.parametrize("loss", [pytest.param(loss, id=name) for name, loss in LOSSES.items()])


def _densities(vectors: Tensor, bank: Tensor) -> Tensor:
    own, others = (unit_vectors(part.float()) for part in (vectors, bank))
    return agreements(own, others, torch.arange(len(bank)).repeat(len(vectors), 1), temperature=1.0)


def _thrice(states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return states[:, None], states[:, None], states[:, None]


def _scores(states: Tensor) -> Tensor:
    return attention_scores(states[:, None], states[:, None])


@pytest.mark.parametrize("loss", [pytest.param(loss, id=name) for name, loss in LAYER_LOSSES.items()])
def test_autocast_changes_nothing_on_layers_either(loss: Loss) -> None:
    """In bfloat16 the scores of a student close to its teacher differ by more than the two do."""
    student = torch.randn(2, 4, 6)
    teacher = student + 0.01 * torch.randn(2, 4, 6)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = loss(student, teacher)

    assert found.dtype == torch.float32
    assert found.item() == loss(student, teacher).item()


@EVERY_LOSS
def test_bfloat16_is_widened_before_anything_is_computed(loss: Loss) -> None:
    student, teacher = torch.randn(6, 4).bfloat16(), torch.randn(6, 4).bfloat16()

    found = loss(student, teacher)

    assert found.dtype == torch.float32
    assert found.item() == loss(student.float(), teacher.float()).item()


@EVERY_LOSS
def test_autocast_changes_nothing(loss: Loss) -> None:
    student, teacher = torch.randn(6, 4), torch.randn(6, 4)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = loss(student, teacher)

    assert found.item() == loss(student, teacher).item()


@EVERY_LOSS
def test_rows_without_any_difference_give_finite_losses_and_gradients(loss: Loss) -> None:
    bad = []
    for rows, (student, teacher) in product([1, 2, 5], [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.3, 0.3), (1e4, -1e4)]):
        logits = torch.full((rows, 3), student, requires_grad=True)
        found = loss(logits, torch.full((rows, 3), teacher))
        (gradient,) = torch.autograd.grad(found, logits)
        is_finite = torch.isfinite(found) and torch.isfinite(gradient).all()
        if found.ndim or not is_finite or gradient.abs().max().item() >= 1e5:
            bad.append((rows, student, teacher))

    assert bad == []


@EVERY_LOSS
def test_student_and_teacher_that_agree_give_a_finite_gradient(loss: Loss) -> None:
    student = torch.randn(5, 4, requires_grad=True)

    (gradient,) = torch.autograd.grad(loss(student, student.detach().clone()), student)

    assert torch.isfinite(gradient).all()
    assert gradient.abs().max().item() < 10


@EVERY_LOSS
def test_a_step_downhill_makes_the_loss_smaller(loss: Loss) -> None:
    student, teacher = torch.randn(6, 4, requires_grad=True), torch.randn(6, 4)

    before = loss(student, teacher)
    (gradient,) = torch.autograd.grad(before, student)
    after = loss(student - 1e-2 * gradient / gradient.norm(), teacher)

    assert after.item() < before.item()


def test_float64_stays_float64_and_labels_stay_integers() -> None:
    @in_full_precision
    def first(logits: Tensor, labels: Tensor) -> Tensor:
        assert labels.dtype == torch.int64
        return logits.sum()

    assert first(torch.zeros(2, dtype=torch.float64), labels=torch.tensor([1])).dtype == torch.float64
    assert first(torch.zeros(2, dtype=torch.float16), labels=torch.tensor([1])).dtype == torch.float32


def test_a_loss_keeps_its_name_and_its_formula() -> None:
    assert spkd.__name__ == "spkd"
    assert "‖ G_teacher - G_student ‖²_F" in str(spkd.__doc__)

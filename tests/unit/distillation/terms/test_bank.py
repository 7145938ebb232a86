"""The bank of contrastive distillation: what is drawn from it, how it moves, and that a killed training finds it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.distillation.objective import term_of
from limbeck.distillation.student_with_objective import StudentWithObjective, can_be_captured
from limbeck.distillation.terms.bank import Bank, NothingToDraw
from limbeck.distillation.terms.features import Contrast
from limbeck.distillation.terms.term import Batch, Shapes
from limbeck.distillation.training_rows import TrainingRows, training_rows_of
from limbeck.recipe.feature_losses import Crd
from limbeck.training import loop

GROUPS = torch.tensor([0, 1, 0, 2, 1, 0])
SHAPES = Shapes(student_features=6, teacher_features=10, row_groups=torch.tensor([0, 1, 2, 0, 1]))
Train = Callable[..., StudentFolder]
MakeBatch = Callable[..., Batch]


def test_rows_of_other_classes_are_drawn_all_equally_often() -> None:
    bank = Bank(GROUPS, width=4, momentum=0.5)

    drawn = bank.draw(torch.arange(6), count=6_000)

    for row in range(6):
        counts = torch.bincount(drawn[row], minlength=6)
        others = GROUPS[row] != GROUPS
        assert not counts[~others].any()
        torch.testing.assert_close(
            counts[others] / 6_000, torch.full((int(others.sum()),), 1 / int(others.sum())), atol=0.03, rtol=0
        )


def test_of_all_rows_every_one_but_the_own_is_drawn() -> None:
    term: Any = term_of(Crd(kind="crd", negatives_of="all"), replace(SHAPES, row_groups=torch.zeros(5)))

    drawn = term.bank.draw(torch.tensor([2]), count=500)

    assert drawn.unique().tolist() == [0, 1, 3, 4]


def test_rows_of_one_class_alone_are_refused() -> None:
    with pytest.raises(NothingToDraw, match="rows of other classes") as refused:
        term_of(Crd(kind="crd"), replace(SHAPES, row_groups=torch.ones(5)))

    assert 'negatives_of = "all"' in refused.value.advice


def test_a_vector_moves_halfway_and_has_unit_length_and_others_stay() -> None:
    bank = Bank(GROUPS, width=2, momentum=0.5)
    bank.student[1] = torch.tensor([1.0, 0.0])
    before = bank.student.clone()

    bank.move(torch.tensor([1]), student=torch.tensor([[0.0, 1.0]]), teacher=torch.tensor([[1.0, 0.0]]))

    torch.testing.assert_close(bank.student[1], torch.tensor([0.5, 0.5]) * 2**0.5)
    others = [0, 2, 3, 4, 5]
    assert torch.equal(bank.student[others], before[others])


def test_the_constants_are_those_of_the_first_batch(make_batch: MakeBatch) -> None:
    term: Any = term_of(Crd(kind="crd", negatives=7), SHAPES)
    batch = make_batch(SHAPES)
    assert term.bank.constants.tolist() == [0, 0]

    term(batch)
    first = term.bank.constants.clone()
    term(batch)

    assert (first > 0).all()
    assert torch.equal(term.bank.constants, first)


def test_at_the_start_the_densities_are_one_over_the_rows_on_average() -> None:
    """Z is the number of rows times the mean exponential."""
    bank = Bank(GROUPS, width=4, momentum=0.5)
    vectors = torch.nn.functional.normalize(torch.randn(6, 4))

    sides = bank.densities(vectors, vectors, torch.arange(6).repeat(6, 1), temperature=0.07)

    assert [side.mean().item() for side in sides] == pytest.approx([1 / 6, 1 / 6])


def test_the_same_rows_in_another_order_have_the_same_numbers(toy_corpus: Corpus, vocabulary: VocabularyFolder) -> None:
    rows = toy_corpus.splits["train"]
    turned = np.arange(len(rows))[::-1]

    straight, reverse = (read(part, vocabulary) for part in (rows, rows.select(turned)))

    assert straight.row_numbers is not None
    assert reverse.row_numbers is not None
    assert straight.row_numbers.sort().values.tolist() == list(range(len(rows)))
    assert torch.equal(straight.row_numbers, reverse.row_numbers.flip(0))
    groups, same_groups = straight.row_groups(), reverse.row_groups()
    assert groups is not None
    assert same_groups is not None
    assert torch.equal(groups, same_groups)
    assert groups[straight.row_numbers].tolist() == list(rows.labels)


def test_a_row_without_a_label_is_in_the_class_of_the_teacher(
    vocabulary: VocabularyFolder, make_labels: Callable[..., TeacherLabels]
) -> None:
    rows = Rows.of(ids=["a", "b"], texts=["x", "a longer text"], labels=[1, -1])
    labels = make_labels(rows)

    found = read(rows, vocabulary, labels=labels)

    groups = found.row_groups()
    assert groups is not None
    assert groups.tolist() == [1, int(labels.for_rows(["b"])[0].argmax())]


def read(rows: Rows, vocabulary: VocabularyFolder, *, labels: TeacherLabels | None = None) -> TrainingRows:
    return training_rows_of(
        rows,
        labels,
        tokenizer=vocabulary.tokenizer,
        kind="words",
        classes=2,
        max_length=12,
        with_features=False,
        with_numbers=True,
        device=torch.device("cpu"),
    )


def test_steps_with_a_bank_are_not_captured() -> None:
    assert not can_be_captured(torch.nn.Linear(1, 1), [Crd(kind="crd")])


class Killed(Exception):
    """Stands in for kill -9: nothing is tidied up."""


@pytest.mark.parametrize("steps_before_death", [2, 4])
def test_a_killed_training_goes_on_with_the_bank_it_had(
    run_training: Train,
    toy_corpus: Corpus,
    make_labels: Callable[..., TeacherLabels],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    steps_before_death: int,
) -> None:
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)  # a checkpoint after every step
    labels = make_labels(toy_corpus.splits["train"], width=5)
    losses = [{"kind": "hard_labels"}, {"kind": "crd", "negatives": 20, "width": 4}]
    options: dict[str, Any] = {"role": "student", "labels": labels, "losses": losses, "epochs": 2}
    straight = run_training(**options, out=tmp_path / "straight")
    steps, forward = 0, StudentWithObjective.forward

    def dying(self: StudentWithObjective, *arguments: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps == steps_before_death + 1:
            raise Killed
        return forward(self, *arguments)

    monkeypatch.setattr(StudentWithObjective, "forward", dying)
    with pytest.raises(Killed):
        run_training(**options, out=tmp_path / "killed")
    torch.manual_seed(99)  # what the new process has done so far must not matter
    resumed = run_training(**options, out=tmp_path / "killed")

    assert resumed.fingerprint == straight.fingerprint
    assert isinstance(term_of(Crd(kind="crd"), SHAPES), Contrast)

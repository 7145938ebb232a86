"""Several fine-tunings from one start: the mean of their weights, and what happens when they are stopped."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import load_file

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import WORK, Key
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.progress import SilentReporter
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.teacher import averaged, prepare_teacher
from limbeck.teacher.averaged import APART, mean_of
from limbeck.teacher.fine_tune import fine_tune

Prepare = Callable[..., TeacherFolder]
SECTION = {"epochs": 2, "batch_size": 20, "precision": "fp32", "learning_rate": 1e-3, "head": "mean", "keep": "latest"}


@pytest.fixture
def prepare(toy_corpus: Corpus, tiny_teacher_folder: Path, tmp_path: Path) -> Prepare:
    """prepare(name, keys of [teacher]…): a teacher, fine-tuned on the toy rows."""

    def prepare(name: str, **section: Any) -> TeacherFolder:
        return prepare_teacher(
            EncoderTeacher.model_validate({"checkpoint": str(tiny_teacher_folder), **SECTION, **section}),
            corpus=toy_corpus,
            out=tmp_path / name,
            key=Key(section={}, inputs={}),
            reporter=SilentReporter(),
        )

    return prepare


def weights_of(teacher: TeacherFolder) -> dict[str, torch.Tensor]:
    return load_file(teacher.folder / "model.safetensors")


def test_a_mean_worked_by_hand_leaves_whole_numbers_as_they_are() -> None:
    models = [
        {"w": torch.tensor([1.0, 4.0]), "n": torch.tensor([3])},
        {"w": torch.tensor([2.0, 0.0]), "n": torch.tensor([3])},
    ]

    found = mean_of(models)

    assert found["w"].tolist() == [1.5, 2.0]
    assert found["n"].tolist() == [3]


def test_the_teacher_has_the_mean_of_the_weights_that_each_fine_tuning_has_alone(prepare: Prepare) -> None:
    alone = [weights_of(prepare(f"alone-{number}", seed=APART * number)) for number in range(3)]

    together = prepare("together", fine_tunings=3)

    found, expected = weights_of(together), mean_of(alone)
    assert max(float((found[name] - expected[name]).abs().max()) for name in expected) < 1e-6
    assert max(float((alone[0][name] - alone[1][name]).abs().max()) for name in expected) > 1e-3
    history = json.loads((together.folder / "history.json").read_text(encoding="utf-8"))
    assert [entry.get("averaged") for entry in history] == [None] * (len(history) - 1) + [3]
    assert [entry for entry in history if entry.get("kept")] == history[-1:]
    assert together.facts.dev_accuracy == history[-1]["dev_accuracy"]


def test_what_was_finished_before_a_stop_is_not_trained_again(
    prepare: Prepare, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole, seeds, plain = weights_of(prepare("whole", fine_tunings=3)), [], fine_tune

    def stopped(encoder: Any, section: EncoderTeacher, **rest: Any) -> Any:
        seeds.append(section.seed)
        if len(seeds) == 3:
            raise KeyboardInterrupt
        return plain(encoder, section, **rest)

    monkeypatch.setattr(averaged, "fine_tune", stopped)
    with pytest.raises(KeyboardInterrupt):
        prepare("stopped", fine_tunings=3)
    kept = [{file.name for file in (tmp_path / "stopped.partial" / WORK / str(number)).iterdir()} for number in (0, 1)]
    again = weights_of(prepare("stopped", fine_tunings=3))

    assert seeds == [0, APART, 2 * APART, 2 * APART]
    assert kept == [{"fine-tuned.safetensors", "history.json"}] * 2  # not the optimisers' states as well
    assert all(torch.equal(again[name], whole[name]) for name in whole)


def test_where_the_mean_is_clearly_worse_the_best_of_them_is_kept(
    prepare: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = weights_of(prepare("alone"))
    monkeypatch.setattr(averaged, "judge", lambda *_, **__: {"dev_accuracy": 0.0, "dev_loss": 9.0, "dev_noise": 0.01})
    monkeypatch.setattr(averaged, "score_of", lambda entry: 1.0 if entry["dev_loss"] < 9 else 0.0)

    found = prepare("together", fine_tunings=2)

    assert all(torch.equal(weights_of(found)[name], alone[name]) for name in alone)
    assert (found.facts.dev_accuracy or 0) > 0


def test_heads_that_start_at_random_are_not_averaged() -> None:
    with pytest.raises(ValidationError, match='needs head = "mean"'):
        EncoderTeacher.model_validate({"checkpoint": "x", "fine_tunings": 3})

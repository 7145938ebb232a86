"""The training loop: best epoch kept, and a killed training ends as an undisturbed one."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from limbeck.errors import TrainingDiverged
from limbeck.progress import SilentReporter
from limbeck.training import loop
from limbeck.training.batches import length_batches
from limbeck.training.checkpoints import save_checkpoint
from limbeck.training.loop import Progress, train

SETTINGS = SimpleNamespace(epochs=4, learning_rate=0.05, warmup_fraction=0.1, weight_decay=0.01, clip_norm=1.0)
INPUTS = torch.randn(96, 6, generator=torch.Generator().manual_seed(1))
LABELS = (INPUTS[:, 0] > 0).long()


class Killed(Exception):
    """Stands in for kill -9: nothing is tidied up."""


def fresh_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))


def learn(model: nn.Module, work: Path, *, steps_before_death: int | None = None) -> Progress:
    steps = 0

    def losses(model: nn.Module, rows: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        nonlocal steps
        steps += 1
        if steps_before_death is not None and steps > steps_before_death:
            raise Killed
        return {"hard_labels": F.cross_entropy(model(INPUTS[rows]), LABELS[rows])}

    def validate(model: nn.Module) -> dict[str, float]:
        model.eval()
        with torch.no_grad():
            logits = model(INPUTS)
        return {
            "dev_accuracy": float((logits.argmax(1) == LABELS).float().mean()),
            "dev_loss": float(F.cross_entropy(logits, LABELS)),
        }

    work.mkdir(exist_ok=True)
    return train(
        model,
        SETTINGS,
        arithmetic="fp32",
        batches=lambda epoch: length_batches(np.ones(96, dtype=np.int64), batch_size=8, seed=0, epoch=epoch),
        losses=losses,
        validate=validate,
        work=work,
        reporter=SilentReporter(),
        what="training",
    )


@pytest.mark.parametrize("steps_before_death", [5, 12, 13, 30])
def test_a_killed_training_goes_on_and_ends_with_the_same_weights_and_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps_before_death: int
) -> None:
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)  # a checkpoint after every step
    undisturbed = fresh_model()
    straight = learn(undisturbed, tmp_path / "straight")

    with pytest.raises(Killed):
        learn(fresh_model(), tmp_path / "killed", steps_before_death=steps_before_death)
    torch.manual_seed(99)  # whatever the new process has done so far must not matter
    resumed = fresh_model()
    again = learn(resumed, tmp_path / "killed")

    assert again.history == straight.history
    assert again.best_epoch == straight.best_epoch
    for name, tensor in undisturbed.state_dict().items():
        assert torch.equal(tensor, resumed.state_dict()[name]), name


def test_the_weights_of_the_best_epoch_by_dev_are_left_in_the_model(tmp_path: Path) -> None:
    model = fresh_model()

    progress = learn(model, tmp_path / "work")
    model.eval()
    with torch.no_grad():
        logits = model(INPUTS)

    best = max(progress.history, key=lambda entry: (entry["dev_accuracy"], -entry["dev_loss"]))
    assert best["epoch"] == progress.best_epoch + 1
    assert float(F.cross_entropy(logits, LABELS)) == pytest.approx(best["dev_loss"], abs=1e-6)


def test_the_loss_of_an_epoch_is_the_mean_over_its_rows(tmp_path: Path) -> None:
    progress = learn(fresh_model(), tmp_path / "work")

    assert [entry["epoch"] for entry in progress.history] == [1, 2, 3, 4]
    assert progress.history[0]["loss"] == pytest.approx(progress.history[0]["losses"]["hard_labels"])
    assert progress.history[-1]["loss"] < progress.history[0]["loss"] < 2.0


def test_a_loss_that_is_no_number_stops_the_training_with_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the weights are no numbers either, and the report says so an hour later."""
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    model = fresh_model()
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))

    with pytest.raises(TrainingDiverged, match="epoch 1") as raised:
        learn(model, tmp_path / "work")

    assert raised.value.what == "training"
    assert not list((tmp_path / "work").iterdir())  # nothing that a next run would go on from


def test_saving_that_takes_long_is_done_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, saved = 0.0, 0

    def monotonic() -> float:
        nonlocal now
        now += 1.0  # every look at the clock is a second later; a step takes one look
        return now

    def slow_save(work: Path, **rest: object) -> None:
        nonlocal now, saved
        now, saved = now + 9.0, saved + 1
        save_checkpoint(work, **rest)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=monotonic))
    monkeypatch.setattr(loop, "save_checkpoint", slow_save)
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 2.0)
    monkeypatch.setattr(SETTINGS, "epochs", 1)
    learn(fresh_model(), tmp_path / "work")

    assert saved == 2  # once in the twelve steps, since twenty times as long must pass; and at the end

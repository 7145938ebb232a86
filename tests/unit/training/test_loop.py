"""The training loop: best epoch kept, and a killed training ends as an undisturbed one."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from limbeck.progress import SilentReporter, Style
from limbeck.training import loop
from limbeck.training.batches import length_batches
from limbeck.training.checkpoints import CHECKPOINT, progress_of
from limbeck.training.epochs import MOST_POINTS, STEPS_BETWEEN_READINGS, Progress
from limbeck.training.loop import TrainingDiverged, train
from limbeck.training.tracks import NO_TRACKS, Tracks

SETTINGS = SimpleNamespace(
    patience=None,
    accumulation_steps=1,
    epochs=4,
    learning_rate=0.05,
    warmup_fraction=0.1,
    weight_decay=0.01,
    clip_norm=1.0,
)
INPUTS = torch.randn(96, 6, generator=torch.Generator().manual_seed(1))
LABELS = (INPUTS[:, 0] > 0).long()


class RecordingReporter(SilentReporter):
    """Keeps its notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str, *, style: Style = "") -> None:
        del style
        self.notes.append(text)


class Killed(Exception):
    """Simulates kill -9: nothing is tidied up."""


def new_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))


def learn(
    model: nn.Module,
    work: Path,
    *,
    steps_before_death: int | None = None,
    batch_size: int = 8,
    tracks: Tracks = NO_TRACKS,
    how_far: list[float] | None = None,
    keep: Any = "best",
    average: float | None = None,
    **changes: object,
) -> Progress:
    steps = 0

    def losses(model: nn.Module, rows: npt.NDArray[np.int64], done: float) -> dict[str, Tensor]:
        nonlocal steps
        steps += 1
        if steps_before_death is not None and steps > steps_before_death:
            raise Killed
        if how_far is not None:
            how_far.append(done)
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
        SimpleNamespace(**{**vars(SETTINGS), **changes}),
        arithmetic="fp32",
        batches=lambda epoch: length_batches(np.ones(96, dtype=np.int64), batch_size=batch_size, seed=0, epoch=epoch),
        losses=losses,
        validate=validate,
        work_folder=work,
        reporter=SilentReporter(),
        what="training",
        tracks=tracks,
        keep=keep,
        average=average,
    )


@pytest.mark.parametrize("average", [None, 0.9])
@pytest.mark.parametrize("steps_before_death", [5, 12, 13, 30])
def test_a_killed_training_goes_on_and_ends_with_the_same_weights_and_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps_before_death: int, average: float | None
) -> None:
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)  # a checkpoint after every step
    undisturbed = new_model()
    straight = learn(undisturbed, tmp_path / "straight", average=average)

    with pytest.raises(Killed):
        learn(new_model(), tmp_path / "killed", steps_before_death=steps_before_death, average=average)
    torch.manual_seed(99)  # what the new process has done so far must not matter
    resumed = new_model()
    again = learn(resumed, tmp_path / "killed", average=average)

    assert again.history == straight.history
    assert again.points == straight.points
    assert again.best_epoch == straight.best_epoch
    for name, tensor in undisturbed.state_dict().items():
        assert torch.equal(tensor, resumed.state_dict()[name]), name


def test_the_weights_of_the_best_epoch_by_dev_are_left_in_the_model(tmp_path: Path) -> None:
    model = new_model()

    progress = learn(model, tmp_path / "work")
    model.eval()
    with torch.no_grad():
        logits = model(INPUTS)

    best = max(progress.history, key=lambda entry: (entry["dev_accuracy"], -entry["dev_loss"]))
    assert best["epoch"] == progress.best_epoch + 1
    assert float(F.cross_entropy(logits, LABELS)) == pytest.approx(best["dev_loss"], abs=1e-6)


def test_the_mean_of_the_weights_is_judged_and_left_and_the_training_goes_on_without_it(tmp_path: Path) -> None:
    without = learn(new_model(), tmp_path / "without")

    averaged = new_model()
    progress = learn(averaged, tmp_path / "with", average=0.95)
    averaged.eval()
    with torch.no_grad():
        loss = float(F.cross_entropy(averaged(INPUTS), LABELS))

    assert [epoch["losses"] for epoch in progress.history] == [epoch["losses"] for epoch in without.history]
    assert all(
        one["dev_loss"] != other["dev_loss"] for one, other in zip(progress.history, without.history, strict=True)
    )
    assert loss == pytest.approx(progress.history[progress.best_epoch]["dev_loss"], abs=1e-6)


def test_a_training_with_a_mean_does_not_continue_from_a_checkpoint_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    straight = learn(new_model(), tmp_path / "straight", average=0.9)

    with pytest.raises(Killed):
        learn(new_model(), tmp_path / "killed", steps_before_death=20)
    again = learn(new_model(), tmp_path / "killed", average=0.9)

    assert again.history == straight.history


def test_the_loss_of_an_epoch_is_the_mean_over_its_rows(tmp_path: Path) -> None:
    progress = learn(new_model(), tmp_path / "work")

    assert [entry["epoch"] for entry in progress.history] == [1, 2, 3, 4]
    assert progress.history[0]["loss"] == pytest.approx(progress.history[0]["losses"]["hard_labels"])
    assert progress.history[-1]["loss"] < progress.history[0]["loss"] < 2.0


def test_a_loss_that_is_nan_stops_the_training_with_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the weights become NaN too, and only the report shows it, an hour later."""
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    model = new_model()
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))

    with pytest.raises(TrainingDiverged, match="epoch 1") as raised:
        learn(model, tmp_path / "work")

    assert raised.value.model == "training"
    assert not list((tmp_path / "work").iterdir())  # nothing that a next run would go on from


def _learn_losses(
    work: Path, losses: list[float], scores: list[float], *, reporter: Any = None
) -> tuple[Progress, Any]:
    """A training with these losses and dev scores, one of each an epoch; the weight says which epoch it is from."""
    work.mkdir(exist_ok=True)
    model = nn.Linear(1, 1)

    def loss_of(model: Any, rows: npt.NDArray[np.int64], done: float) -> dict[str, Tensor]:
        del rows
        return {"hard_labels": losses[round(done * len(losses))] + 0 * model.weight.sum()}

    def validate(model: Any) -> dict[str, float]:
        score = next(of_epochs)
        with torch.no_grad():
            model.bias.fill_(score)
        return {"dev_accuracy": score, "dev_loss": 1.0}

    done = len(progress_of(work)["history"]) if (work / CHECKPOINT).is_file() else 0
    of_epochs = iter(scores[done:])
    settings = SimpleNamespace(**{**vars(SETTINGS), "epochs": len(losses)})
    progress = train(
        model,
        settings,
        arithmetic="fp32",
        batches=lambda _: [np.arange(4)],
        losses=loss_of,
        validate=validate,
        work_folder=work,
        reporter=reporter or SilentReporter(),
        what="training",
    )
    return progress, model


NAN = float("nan")


@pytest.mark.parametrize(
    ("losses", "scores", "epochs", "best", "said"),
    [
        ([0.5, 0.2, NAN, 0.1], [0.6, 0.8, 0.9, 0.9], 2, 1, "no longer finite in epoch 3"),
        ([0.5, 0.2, 0.9, 0.9, 0.9], [0.6, 0.8, 0.5, 0.5, 0.5], 3, 1, "rose sharply in epoch 3"),
    ],
)
def test_a_training_that_diverges_late_ends_with_its_best_epoch(
    tmp_path: Path, losses: list[float], scores: list[float], epochs: int, best: int, said: str
) -> None:
    reporter = RecordingReporter()

    progress, model = _learn_losses(tmp_path / "work", losses, scores, reporter=reporter)
    again, _ = _learn_losses(tmp_path / "work", losses, scores)

    assert len(progress.history) == epochs
    assert float(model.bias.detach()) == pytest.approx(scores[best])
    assert any(said in note and "epoch 2 is kept" in note for note in reporter.notes)
    assert again.history == progress.history


@pytest.mark.parametrize(
    ("losses", "scores"),
    [
        ([0.5, 0.01, 0.04, 0.04], [0.6, 0.9, 0.7, 0.7]),  # noise near zero: still far below the first epoch
        ([0.5, 0.2, 0.9, 0.9], [0.6, 0.8, 0.78, 0.79]),  # the weights of its terms are scheduled: dev goes on
        ([0.5, 0.4, 0.6, 0.5], [0.6, 0.8, 0.5, 0.9]),  # one bad epoch
    ],
)
def test_a_loss_that_rises_is_not_a_collapse_by_itself(
    tmp_path: Path, losses: list[float], scores: list[float]
) -> None:
    progress, _ = _learn_losses(tmp_path / "work", losses, scores)

    assert len(progress.history) == 4


def still(model: nn.Module) -> nn.Module:
    """Without dropout, so that the same rows in other batches give the same gradient."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


def test_two_batches_of_eight_make_the_same_step_as_one_of_sixteen(tmp_path: Path) -> None:
    halves, whole = still(new_model()), still(new_model())

    learn(halves, tmp_path / "halves", batch_size=8, accumulation_steps=2, epochs=1, clip_norm=1e9)
    order = length_batches(np.ones(96, dtype=np.int64), batch_size=8, seed=0, epoch=0)
    joined = [np.concatenate(order[start : start + 2]) for start in range(0, len(order), 2)]
    _learn_plan(whole, tmp_path / "whole", joined)

    for name, tensor in halves.state_dict().items():
        torch.testing.assert_close(tensor, whole.state_dict()[name], atol=1e-6, rtol=1e-5)


def _learn_plan(model: nn.Module, work: Path, plan: list[npt.NDArray[np.int64]]) -> None:
    work.mkdir()
    train(
        model,
        SimpleNamespace(**{**vars(SETTINGS), "epochs": 1, "clip_norm": 1e9}),
        arithmetic="fp32",
        batches=lambda _: plan,
        losses=lambda model, rows, _done: {"hard_labels": F.cross_entropy(model(INPUTS[rows]), LABELS[rows])},
        validate=lambda _: {"dev_accuracy": 0.0, "dev_loss": 0.0},
        work_folder=work,
        reporter=SilentReporter(),
        what="training",
    )


def test_a_last_step_of_fewer_batches_is_taken_too(tmp_path: Path) -> None:
    progress = learn(new_model(), tmp_path / "work", batch_size=20, accumulation_steps=3, epochs=1)  # 5 batches

    assert len(progress.history) == 1
    assert progress.history[0]["loss"] > 0


def _learn_scores(work: Path, scores: list[float], *, patience: int | None) -> Progress:
    """A training whose dev scores are these, one an epoch."""
    work.mkdir(exist_ok=True)
    done = iter(scores)
    return train(
        new_model(),
        SimpleNamespace(**{**vars(SETTINGS), "epochs": len(scores), "patience": patience}),
        arithmetic="fp32",
        batches=lambda _: [np.arange(96)],
        losses=lambda model, rows, _done: {"hard_labels": F.cross_entropy(model(INPUTS[rows]), LABELS[rows])},
        validate=lambda _: {"dev_accuracy": 0.5, "dev_score": next(done), "dev_loss": 1.0},
        work_folder=work,
        reporter=SilentReporter(),
        what="training",
    )


@pytest.mark.parametrize(
    ("scores", "patience", "epochs", "best"),
    [
        ([0.5, 0.6, 0.6, 0.6, 0.9], 2, 4, 1),  # two epochs without a better one: the fifth is never seen
        ([0.5, 0.4, 0.6, 0.4, 0.7], 2, 5, 4),  # one bad epoch is borne
        ([0.5, 0.4, 0.6], 1, 2, 0),
        ([0.5, 0.4, 0.3], None, 3, 0),
    ],
)
def test_training_stops_when_patience_is_spent(
    tmp_path: Path, scores: list[float], patience: int | None, epochs: int, best: int
) -> None:
    progress = _learn_scores(tmp_path / "work", scores, patience=patience)

    assert len(progress.history) == epochs
    assert progress.best_epoch == best


def test_a_training_that_stopped_early_does_not_go_on_when_it_is_resumed(tmp_path: Path) -> None:
    first = _learn_scores(tmp_path / "work", [0.6, 0.5, 0.9], patience=1)

    again = _learn_scores(tmp_path / "work", [0.6, 0.5, 0.9], patience=1)

    assert again.history == first.history
    assert len(again.history) == 2


def test_the_dev_score_decides_and_not_the_accuracy(tmp_path: Path) -> None:
    progress = _learn_scores(tmp_path / "work", [0.1, 0.3, 0.2], patience=None)

    assert progress.best_epoch == 1


def test_losses_get_the_progress_of_the_training(tmp_path: Path) -> None:
    how_far: list[float] = []

    learn(new_model(), tmp_path / "work", epochs=2, how_far=how_far)  # twelve steps an epoch

    assert how_far == [step / 24 for step in range(24)]


def test_batches_of_one_step_are_equally_far(tmp_path: Path) -> None:
    how_far: list[float] = []

    learn(new_model(), tmp_path / "work", epochs=2, accumulation_steps=4, how_far=how_far)  # three steps an epoch

    assert how_far == [step / 6 for step in range(6) for _ in range(4)]


def test_a_killed_training_goes_on_from_how_far_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    before: list[float] = []
    behind: list[float] = []

    with pytest.raises(Killed):
        learn(new_model(), tmp_path / "work", steps_before_death=17, how_far=before)
    learn(new_model(), tmp_path / "work", how_far=behind)

    assert before + behind == [step / 48 for step in range(48)]


def _learn_scores_and_keep(
    work: Path, scores: list[float], *, keep: Any = "best", patience: int | None = None, may_keep_start: bool = False
) -> tuple[Any, Any]:
    """The progress, and the weights after each epoch and at the end; before them the start's, if it may be kept."""
    work.mkdir()
    weights: list[Tensor] = []
    model, script = new_model(), iter(scores)

    def validate(model: nn.Module) -> dict[str, float]:
        weights.append(next(model.parameters()).detach().clone())
        return {"dev_accuracy": next(script), "dev_loss": 1.0, "dev_noise": 0.025}

    progress = train(
        model,
        SimpleNamespace(**{**vars(SETTINGS), "epochs": len(scores) - may_keep_start, "patience": patience}),
        arithmetic="fp32",
        batches=lambda _: [np.arange(96)],
        losses=lambda model, rows, _done: {"hard_labels": F.cross_entropy(model(INPUTS[rows]), LABELS[rows])},
        validate=validate,
        judge_start=(lambda: validate(model)) if may_keep_start else None,
        work_folder=work,
        reporter=SilentReporter(),
        what="training",
        keep=keep,
    )
    return progress, [*weights, next(model.parameters())]


def test_the_last_epoch_can_be_kept_for_any_dev_score(tmp_path: Path) -> None:
    last, of_last = _learn_scores_and_keep(tmp_path / "last", [0.9, 0.5, 0.1], keep="last", patience=1)
    best, of_best = _learn_scores_and_keep(tmp_path / "best", [0.9, 0.5, 0.1], keep="best", patience=None)

    assert (last.best_epoch, best.best_epoch) == (2, 0)
    assert len(last.history) == 3  # patience is about dev, too
    assert torch.equal(of_last[-1], of_last[2])
    assert torch.equal(of_best[-1], of_best[0])


@pytest.mark.parametrize(
    ("scores", "patience", "kept", "epochs"),
    [
        ([0.9, 0.7, 0.86], None, 2, 3),  # the last is as good as the first within two standard errors of 0.025
        ([0.9, 0.86, 0.7], None, 1, 3),  # it is not, but the one before it
        ([0.9, 0.86, 0.84], None, 1, 3),  # compared with the best, not with the one before
        ([0.9, 0.88, 0.86, 0.89], 2, 3, 4),  # patience counts from the one that is kept
        ([0.9, 0.8, 0.8, 0.9], 2, 0, 3),
        ([0.5, 0.7, 0.9], 1, 2, 3),
    ],
)
def test_the_latest_epoch_is_kept_that_is_as_good_as_the_best_within_the_noise(
    scores: list[float], patience: int | None, kept: int, epochs: int, tmp_path: Path
) -> None:
    progress, weights = _learn_scores_and_keep(tmp_path / "run", scores, keep="latest", patience=patience)

    assert (progress.best_epoch, len(progress.history)) == (kept, epochs)
    assert torch.equal(weights[-1], weights[kept])


def test_the_start_is_kept_only_if_it_is_better_than_the_last_epoch_beyond_the_noise(tmp_path: Path) -> None:
    within, of_within = _learn_scores_and_keep(tmp_path / "within", [0.9, 0.87], keep="latest", may_keep_start=True)
    beyond, of_beyond = _learn_scores_and_keep(tmp_path / "beyond", [0.9, 0.84], keep="latest", may_keep_start=True)

    assert (within.best_epoch, beyond.best_epoch) == (0, -1)
    assert torch.equal(of_within[-1], of_within[1])
    assert torch.equal(of_beyond[-1], of_beyond[0])


@pytest.mark.parametrize(
    ("scores", "patience", "best", "kept", "epochs"),
    [
        ([0.9, 0.8, 0.9], None, -1, 0, 2),  # an epoch that is as good is not better
        ([0.8, 0.7, 0.9], None, 1, 2, 2),
        ([0.8, 0.7, 0.6, 0.9], 2, -1, 0, 2),  # patience counts from the start
    ],
)
def test_the_start_is_kept_if_no_epoch_is_better(
    tmp_path: Path, scores: list[float], patience: int | None, best: int, kept: int, epochs: int
) -> None:
    progress, weights = _learn_scores_and_keep(tmp_path / "work", scores, patience=patience, may_keep_start=True)

    assert (progress.best_epoch, len(progress.history)) == (best, epochs)
    assert progress.best["dev_accuracy"] == scores[kept]
    assert torch.equal(weights[-1], weights[kept])


@pytest.mark.parametrize("steps_before_death", [5, 24, 30])
def test_a_killed_training_that_keeps_its_last_epoch_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps_before_death: int
) -> None:
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    undisturbed, resumed = new_model(), new_model()
    straight = learn(undisturbed, tmp_path / "straight", keep="last")

    with pytest.raises(Killed):
        learn(new_model(), tmp_path / "killed", keep="last", steps_before_death=steps_before_death)
    again = learn(resumed, tmp_path / "killed", keep="last")

    assert again.best_epoch == straight.best_epoch == 3
    for name, tensor in undisturbed.state_dict().items():
        assert torch.equal(tensor, resumed.state_dict()[name]), name


def test_points_cover_sixteen_steps_or_the_rest_of_an_epoch(tmp_path: Path) -> None:
    progress = learn(new_model(), tmp_path / "work", batch_size=4, epochs=2)  # 24 steps an epoch

    assert [point["step"] for point in progress.points] == [15, 23, 39, 47]
    sixteen, eight = (point["hard_labels"] for point in progress.points[:2])
    assert (16 * sixteen + 8 * eight) / 24 == pytest.approx(progress.history[0]["loss"])


def test_points_do_not_depend_on_when_losses_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are part of a student, which must come out the same on a slow machine."""
    rarely = learn(new_model(), tmp_path / "rarely", batch_size=4)
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    often = learn(new_model(), tmp_path / "often", batch_size=4)

    assert often.points == rarely.points


def test_there_are_never_too_many_points() -> None:
    progress, counts = Progress(), []

    for step in range(MOST_POINTS * STEPS_BETWEEN_READINGS * 3):
        progress.add_step(step, {"logit_mse": float(step)})
        counts.append(len(progress.points))

    assert max(counts) == MOST_POINTS
    steps = [point["step"] for point in progress.points]
    assert steps == sorted(steps)
    assert steps[0] < 100  # thinned out, not cut off
    assert steps[-1] == len(counts) - 1
    assert len(counts) > 20_000


def test_curves_are_written_for_tensorboard_when_asked(tmp_path: Path) -> None:
    tracks = Tracks(["tensorboard"], "limbeck", tmp_path / "tracking")

    learn(new_model(), tmp_path / "work", epochs=2, tracks=tracks)

    events = read_events(tmp_path / "tracking")
    assert {"loss/hard_labels", "learning_rate", "dev_accuracy", "dev_loss"} <= set(events)
    assert [step for step, _ in events["dev_accuracy"]] == [12, 24]  # twelve steps an epoch


def test_nothing_is_written_when_no_tracker_is_asked_for(tmp_path: Path) -> None:
    learn(new_model(), tmp_path / "work", epochs=1)

    assert {path.name for path in tmp_path.iterdir()} == {"work"}


def read_events(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Curve → points, from all TensorBoard files in the folder."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    curves: dict[str, list[tuple[int, float]]] = {}
    for file in folder.rglob("events.out.tfevents.*"):
        events = EventAccumulator(str(file)).Reload()
        for name in events.Tags()["scalars"]:
            curves.setdefault(name, []).extend((point.step, point.value) for point in events.Scalars(name))
    return curves

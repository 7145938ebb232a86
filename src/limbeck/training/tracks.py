"""Sends the curves of a running training to TensorBoard, or any other tracker that accelerate supports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from accelerate.tracking import LOGGER_TYPE_TO_CLASS, get_available_trackers

from limbeck.errors import LimbeckError, did_you_mean

RUN_NAME = {"wandb": "name", "mlflow": "run_name", "swanlab": "experiment_name", "trackio": "name"}  # option names


class TrackerUnusable(LimbeckError):
    """A tracker of the recipe is unknown to accelerate, or its package is not installed."""

    def __init__(self, *, name: str, known: Sequence[str], available: Sequence[str]) -> None:
        if name in known:
            extra = "pip install 'limbeck[track]'" if name == "tensorboard" else f"pip install {name}"
            reason, advice = "its package is not installed", f"Run: {extra}"
        else:
            reason = f"it is not a known tracker{did_you_mean(name, known)}; known: {', '.join(known)}"
            advice = "Correct tracking.trackers in the recipe."
        super().__init__(
            f"cannot track with '{name}': {reason}",
            found=f"installed here: {', '.join(available) or 'none'}",
            advice=advice,
        )


@dataclass(frozen=True)
class Tracks:
    """The trackers, the name of the project, and the folder for trackers that write files."""

    trackers: Sequence[str] = ()
    project: str = "limbeck"
    folder: Path = Path("tracking")


NO_TRACKS = Tracks()


def refuse_unknown_trackers(names: Sequence[str]) -> None:
    """Raise TrackerUnusable if one is unknown or not installed: accelerate would skip it silently."""
    available = [str(tracker) for tracker in get_available_trackers()]
    for name in names:
        if name not in available:
            raise TrackerUnusable(name=name, known=list(LOGGER_TYPE_TO_CLASS), available=available)


class Curves:
    """The curves of one training."""

    def __init__(self, accelerator: Accelerator, tracks: Tracks, *, what: str, settings: object) -> None:
        self._accelerator, self._is_on = accelerator, bool(tracks.trackers)
        if self._is_on:
            named = {tracker: {key: what} for tracker, key in RUN_NAME.items() if tracker in tracks.trackers}
            accelerator.init_trackers(tracks.project, config=_plain(settings), init_kwargs=named)

    def add(self, values: Mapping[str, float], *, step: int) -> None:
        """Add a point to each curve."""
        if self._is_on:
            self._accelerator.log(dict(values), step=step)

    def close(self) -> None:
        """Write what is still buffered."""
        if self._is_on:  # not end_training(), which also ends a group of processes that may train something else yet
            for tracker in self._accelerator.trackers:
                tracker.finish()


def log_folder(tracks: Tracks, *, what: str) -> Path:
    """A folder for each training, so that their curves are separate."""
    return tracks.folder / "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in what)


def _plain(settings: object) -> dict[str, Any]:
    """The settings that every tracker can show: numbers, texts and booleans."""
    values = settings.model_dump() if hasattr(settings, "model_dump") else vars(settings)
    return {key: value for key, value in values.items() if isinstance(value, int | float | str | bool)}

"""A second and third training with another learning rate, for a student that hardly does better than guessing.

A learning rate that is too high, or far too low, for the data leaves a student that answers one class for every row.
That shows on dev at the end of its training, and another rate is the usual remedy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from limbeck.progress import Reporter
from limbeck.training.epochs import Progress, on_dev, rank
from limbeck.training.loop import TrainingDiverged

LOWER, HIGHER, MUCH_LOWER = 1 / 3, 3.0, 1 / 9  # times the learning rate of the recipe


@dataclass(frozen=True)
class Attempt:
    """A student after all stages of its training."""

    model: Any
    finished: list[Progress]
    learning_rate: float  # of its last stage
    problem: str  # why it hardly does better than guessing; empty if it does

    @property
    def best(self) -> dict[str, Any]:
        """The numbers of the epoch that was kept, or of the start."""
        best = self.finished[-1].best
        assert best is not None, "a training that ended has at least one epoch"
        return best

    @property
    def facts(self) -> dict[str, Any]:
        """For student.json."""
        numbers: dict[str, Any] = {
            name: self.best[name] for name in ("dev_accuracy", "dev_score", "dev_spearman") if name in self.best
        }
        return {"learning_rate": self.learning_rate, **numbers, "problem": self.problem}


TrainWith = Callable[[float, str], Attempt]  # the factor of the learning rate, and a folder inside the work folder


def train_until_learned(
    train_with: TrainWith, *, name: str, reporter: Reporter, has_rate: bool = True
) -> tuple[Attempt, list[Attempt]]:
    """The best attempt by dev, and all of them: one if it learned something or its rate has no effect, at most three.

    Each starts from the same seed in a folder of its own, so a stopped run comes to the same attempts again. Raises
    TrainingDiverged if every attempt diverged.
    """
    attempts: list[Attempt] = []
    first_error: TrainingDiverged | None = None
    for number in range(3):
        factor = (1.0, LOWER, MUCH_LOWER if first_error else HIGHER)[number]
        try:
            attempts.append(train_with(factor, f"attempt-{number + 1}" if number else ""))
        except TrainingDiverged as error:
            first_error = first_error or error
            why = "the loss is no longer a finite number"
        else:
            why = attempts[-1].problem
        if not why or not has_rate:
            break
        if number < 2:
            higher = number == 1 and first_error is None
            _warn(
                reporter, f"{name}: {why}; it is trained again with a {'higher' if higher else 'lower'} learning rate"
            )
    if not attempts and first_error:
        raise first_error
    kept = max(attempts, key=lambda attempt: (not attempt.problem, rank(attempt.best)))
    _tell_result(kept, attempts, name=name, reporter=reporter, is_first=first_error is None and kept is attempts[0])
    return kept, attempts


def _tell_result(kept: Attempt, attempts: Sequence[Attempt], *, name: str, reporter: Reporter, is_first: bool) -> None:
    rate = f"{kept.learning_rate:.2g}"
    if kept.problem and not kept.finished[-1].history:
        _warn(reporter, f"{name}: {kept.problem}")
    elif kept.problem:
        tried = ", ".join(f"{attempt.learning_rate:.2g}" for attempt in attempts)
        advice = "the best one is kept, but it is of no use as it is; limbeck doctor RUN looks for the reason"
        _warn(reporter, f"{name} hardly does better than guessing with any learning rate ({tried}): {advice}")
    elif not is_first:
        reporter.note(
            f"  {name}: learning_rate = {rate} helped, {on_dev(kept.best)}; set it to save the other training"
        )


def _warn(reporter: Reporter, text: str) -> None:
    reporter.note(f"  warning: {text}", style="warning")

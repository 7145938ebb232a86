"""How many steps a general distillation makes, and which windows each of them reads."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from limbeck.recipe.general_layers import GeneralLayers
from limbeck.training.batches import length_batches

Places = npt.NDArray[np.int64]
SHARE_OF_MINUTES = 0.95  # for steps; the rest is for looking at the windows held back, and for checkpoints


@dataclass(frozen=True)
class Settings:
    """What the training loop reads, which calls a round an epoch."""

    epochs: int
    patience: int | None
    accumulation_steps: int
    learning_rate: float
    warmup_fraction: float
    weight_decay: float
    clip_norm: float


@dataclass(frozen=True)
class Steps:
    """Rounds of equally many steps; a step reads `accumulation_steps` batches, which go on where the last one ended."""

    section: GeneralLayers
    lengths: npt.NDArray[np.int64]  # of the windows that are learned from
    steps_of_round: int
    rounds: int
    speed: Mapping[str, float]
    _passes: dict[int, list[Places]] = field(default_factory=dict, compare=False)

    @property
    def steps(self) -> int:
        """All of them."""
        return self.rounds * self.steps_of_round

    @property
    def settings(self) -> Settings:
        """For the training loop."""
        return Settings(
            epochs=self.rounds,
            patience=None,
            accumulation_steps=self.section.accumulation_steps,
            learning_rate=self.section.learning_rate,
            warmup_fraction=self.section.warmup_fraction,
            weight_decay=self.section.weight_decay,
            clip_norm=self.section.clip_norm,
        )

    def batches(self, number: int) -> list[Places]:
        """Of a round: places of windows, plus the number of windows for every pass before.

        So they are numbers unique to the pass, from which masks follow: a stopped run goes on with the same ones.
        """
        each = self.steps_of_round * self.section.accumulation_steps
        of_pass = batches_of_pass(len(self.lengths), self.section)
        places = [divmod(place, of_pass) for place in range(number * each, (number + 1) * each)]
        return [self._pass(one)[place] + one * len(self.lengths) for one, place in places]

    def _pass(self, number: int) -> list[Places]:
        if number not in self._passes:
            self._passes.clear()
            size, seed = self.section.batch_size, self.section.seed
            self._passes[number] = length_batches(self.lengths, batch_size=size, seed=seed, epoch=number)
        return self._passes[number]


def batches_of_pass(windows: int, section: GeneralLayers) -> int:
    """How many batches read every window once."""
    return math.ceil(windows / section.batch_size)


def planned(
    section: GeneralLayers, lengths: npt.NDArray[np.int64], *, speed: Callable[[], dict[str, float]], file: Path
) -> Steps:
    """The plan; its steps and the measured speed are kept in a file, for a process that continues."""
    if file.is_file():
        kept = json.loads(file.read_text(encoding="utf-8"))
    else:
        found = speed()
        kept = {"steps": steps_for(section, windows=len(lengths), per_second=found["student"]), "speed": found}
        scratch = file.with_suffix(".partial")
        scratch.write_text(json.dumps(kept), encoding="utf-8")
        scratch.replace(file)
    rounds = min(section.rounds, kept["steps"])
    return Steps(section, lengths, math.ceil(kept["steps"] / rounds), rounds, kept["speed"])


def steps_for(section: GeneralLayers, *, windows: int, per_second: float) -> int:
    """The steps that the section asks for, given how many windows a second are learned from."""
    if section.steps is not None:
        return section.steps
    of_step = section.batch_size * section.accumulation_steps
    if section.minutes is not None:
        return max(1, int(section.minutes * 60 * SHARE_OF_MINUTES * per_second / of_step))
    return math.ceil(section.epochs * batches_of_pass(windows, section) / section.accumulation_steps)

"""Training steps as recordings: what the CPU launches kernel by kernel the first time, a GPU then does by itself.

A step of a small student is hundreds of short kernels, and a GPU waits longer for each than it takes: of 8 ms it works
less than 3. A CUDA graph is a recording of such a step that is started as one. It does the same to other rows, if these
lie where the first ones lay and if nothing about their shape is different. So batches are padded to a few widths, and
there is one recording for each shape that occurs.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limbeck.training.device import sent

CUDA: Any = torch.cuda  # much of it is untyped
FINENESS = 4  # bits: of 16 places, at most one is padding that a narrower batch would not have
MOST_RECORDINGS = 128

Places = npt.NDArray[np.int64]  # row positions


@dataclass(frozen=True)
class Slots:
    """Rows of a batch by where they stand on the device, and how wide each of their texts is padded."""

    chosen: Tensor  # (rows)
    widths: tuple[int, ...]


Widths = Callable[[Places], Sequence[int]]  # of each text of these rows, padded to the longest
Step = Callable[[Slots], dict[str, Tensor]]  # trains on these rows; the terms of the loss


class Recording(Protocol):
    """A step that can be done again, on the rows that stand in its slots by then."""

    @property
    def terms(self) -> dict[str, Tensor]:
        """What the loss was when it was played last."""

    def play(self) -> None:
        """Do it."""


class Stage(Protocol):
    """Where steps are recorded and played."""

    def entered(self) -> AbstractContextManager[None]:
        """All steps have to be taken inside."""

    def record(self, step: Callable[[], dict[str, Tensor]]) -> Recording:
        """The step, written down and not done."""


class Recorder:
    """Takes steps, and records those whose shape comes again."""

    def __init__(self, widths: Widths, *, stage: Stage, device: torch.device) -> None:
        self._widths, self._stage, self._device = widths, stage, device
        self._recordings: dict[tuple[int, ...], tuple[Slots, Recording]] = {}
        self._met: set[tuple[int, ...]] = set()
        self.problem = ""  # why no more steps are recorded

    def at_work(self) -> AbstractContextManager[None]:
        """All steps have to be taken inside."""
        return self._stage.entered()

    def take(self, places: Places, step: Step) -> dict[str, Tensor]:
        """One step on these rows. The first of its shape is as always, which also readies what recording must not."""
        widths = tuple(rounded_up(width) for width in self._widths(places))
        shape = (len(places), *widths)
        if shape not in self._recordings and shape in self._met and len(self._recordings) < MOST_RECORDINGS:
            self._record(shape, places, step)
        self._met.add(shape)
        found = self._recordings.get(shape)
        if found is None:
            return step(Slots(sent(torch.from_numpy(places), self._device), widths))
        slots, recording = found
        slots.chosen.copy_(sent(torch.from_numpy(places), self._device))
        recording.play()
        return {name: term.clone() for name, term in recording.terms.items()}  # the next step writes over them

    def _record(self, shape: tuple[int, ...], places: Places, step: Step) -> None:
        if self.problem:
            return
        slots = Slots(sent(torch.from_numpy(places), self._device).clone(), shape[1:])
        try:
            self._recordings[shape] = slots, self._stage.record(lambda: step(slots))
        except RuntimeError as error:  # an operation that waits for the GPU, or one that a driver cannot record
            self.problem = str(error).splitlines()[0]


def stage_for(device: torch.device) -> Stage | None:
    """None where nothing can be recorded."""
    return CudaStage() if device.type == "cuda" else None


class CudaStage:
    """One stream of a GPU, which is not the usual one, and memory that all recordings use in turn."""

    def __init__(self) -> None:
        self._stream, self._memory = CUDA.Stream(), CUDA.graph_pool_handle()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Inside, the stream of recordings is the one that all work goes to."""
        outer = CUDA.current_stream()
        self._stream.wait_stream(outer)
        with CUDA.stream(self._stream):
            yield
        outer.wait_stream(self._stream)

    def record(self, step: Callable[[], dict[str, Tensor]]) -> Recording:
        """The step, written down and not done."""
        graph = CUDA.CUDAGraph()
        with CUDA.graph(graph, pool=self._memory, stream=self._stream, capture_error_mode="thread_local"):
            terms = {name: term.detach() for name, term in step().items()}
        return CudaRecording(graph, terms)


@dataclass(frozen=True)
class CudaRecording:
    """A CUDA graph, and where it leaves the terms of the loss."""

    graph: Any
    terms: dict[str, Tensor]

    def play(self) -> None:
        """Start all of it."""
        self.graph.replay()


def rounded_up(width: int) -> int:
    """The next width of which there are few: eight of them between each power of two and the next."""
    step = 1 << max((width - 1).bit_length() - FINENESS, 0)
    return -(-width // step) * step

"""Training steps as recordings: what the CPU launches kernel by kernel the first time, a GPU then does by itself.

A step of a small student is hundreds of short kernels, and a GPU waits longer for each than it takes: of 8 ms it works
less than 3. A CUDA graph is a recording of such a step that is started as one. It does the same to other rows, if these
lie where the first ones lay and if nothing about their shape is different. So batches are padded to a few widths, and
there is one recording for each shape that comes often enough.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limbeck.training.device import sent

CUDA: Any = torch.cuda  # much of it is untyped
FINENESS = 4  # bits: a width is rounded up by an eighth at most
MOST_RECORDINGS = 128
FEWEST_PLAYS = 12  # what it takes to record a step is worth some of them

Places = npt.NDArray[np.int64]  # row positions
Shape = tuple[int, ...]  # rows, and the width of each text


@dataclass(frozen=True)
class Slots:
    """Rows of a batch by where they stand on the device, and how wide each of their texts is padded."""

    chosen: Tensor  # (rows)
    widths: tuple[int, ...]


@dataclass(frozen=True)
class Widths:
    """How wide batches are."""

    of: Callable[[Places], Sequence[int]]  # of each text of these rows, padded to the longest
    most: int  # of the longest text that there is

    def shape(self, places: Places) -> Shape:
        """Of these rows; two texts are as wide as the wider one, else there would be too many shapes."""
        exact = self.of(places)
        width = min(rounded_up(max(exact)), self.most)
        return (len(places), *[width] * len(exact))


Step = Callable[[Slots], dict[str, Tensor]]  # trains on these rows; the terms of the loss


class CapturedStep(Protocol):
    """A step that can be done again, on the rows that stand in its slots by then."""

    @property
    def terms(self) -> dict[str, Tensor]:
        """What the loss was when it was played last."""

    def play(self) -> None:
        """Do it."""


class CaptureContext(Protocol):
    """Where steps are recorded and played."""

    def entered(self) -> AbstractContextManager[None]:
        """All steps have to be taken inside."""

    def record(self, step: Callable[[], dict[str, Tensor]]) -> CapturedStep:
        """The step, written down and not done."""


class Recorder:
    """Takes steps, and records those whose shape comes again and again."""

    def __init__(self, widths: Widths, *, stage: CaptureContext, device: torch.device) -> None:
        self._widths, self._stage, self._device = widths, stage, device
        self._recordings: dict[Shape, tuple[Slots, CapturedStep]] = {}
        self._met: set[Shape] = set()
        self._worth: set[Shape] = set()
        self.problem = ""  # why no more steps are recorded

    def expect(self, plan: Sequence[Places], *, epochs: int) -> None:
        """What an epoch is like: the shapes that come often enough in so many of them are to be recorded."""
        counts = Counter(self._widths.shape(places) for places in plan)
        often = [shape for shape, count in counts.most_common(MOST_RECORDINGS) if count * epochs >= FEWEST_PLAYS]
        self._worth = set(often)

    def at_work(self) -> AbstractContextManager[None]:
        """All steps have to be taken inside."""
        return self._stage.entered()

    def take(self, places: Places, step: Step) -> dict[str, Tensor]:
        """One step on these rows. The first of its shape is as always, which also readies what recording must not."""
        shape = self._widths.shape(places)
        if shape in self._worth and shape in self._met and shape not in self._recordings and not self.problem:
            self._record(shape, places, step)
        self._met.add(shape)
        found = self._recordings.get(shape)
        if found is None:
            return self._taken(Slots(self._sent(places), shape[1:]), step)
        slots, recording = found
        slots.chosen.copy_(self._sent(places))
        recording.play()
        return {name: term.clone() for name, term in recording.terms.items()}  # the next step writes over them

    def _sent(self, places: Places) -> Tensor:
        return sent(torch.from_numpy(places), self._device)

    def _taken(self, slots: Slots, step: Step) -> dict[str, Tensor]:
        """As always. Recordings keep memory for themselves; where it is wanted, they have to go."""
        try:
            return step(slots)
        except torch.OutOfMemoryError:
            if not self._recordings:
                raise
        self._give_up("the GPU's memory is too small for both")
        return step(slots)

    def _record(self, shape: Shape, places: Places, step: Step) -> None:
        slots = Slots(self._sent(places).clone(), shape[1:])
        try:
            self._recordings[shape] = slots, self._stage.record(lambda: step(slots))
        except RuntimeError as error:  # an operation that waits for the GPU, or one that a driver cannot record
            self._give_up(str(error.__context__ or error).partition("\n")[0] or type(error).__name__)

    def _give_up(self, reason: str) -> None:
        self.problem = reason
        self._recordings.clear()
        if self._device.type == "cuda":
            CUDA.empty_cache()


def stage_for(device: torch.device) -> CaptureContext | None:
    """None where nothing can be recorded."""
    return CudaStage(device) if device.type == "cuda" and not CudaStage.has_failed else None


class CudaStage:
    """One stream of a GPU, which is not the usual one, and memory that all recordings use in turn."""

    has_failed = False  # in this process

    def __init__(self, device: torch.device) -> None:
        self._index = CUDA.current_device() if device.index is None else device.index
        self._stream, self._memory = _stream(self._index), CUDA.graph_pool_handle()
        self._broken: list[Any] = []

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Inside, the stream of recordings is the one that all work goes to."""
        outer = CUDA.current_stream()
        self._stream.wait_stream(outer)
        try:
            with CUDA.stream(self._stream):
                yield
        finally:
            outer.wait_stream(self._stream)

    def record(self, step: Callable[[], dict[str, Tensor]]) -> CapturedStep:
        """The step, written down and not done."""
        graph = CUDA.CUDAGraph()
        try:
            with CUDA.graph(graph, pool=self._memory, stream=self._stream, capture_error_mode="thread_local"):
                terms = {name: term.detach() for name, term in step().items()}
        except BaseException:
            self._mend(graph)
            raise
        return CudaRecording(graph, terms)

    def _mend(self, graph: Any) -> None:
        """PyTorch leaves its allocator and its generator believing that a recording that was broken off goes on."""
        CudaStage.has_failed = True
        self._broken.append(graph)  # the allocator still asks it what belongs to it
        with suppress(RuntimeError, AttributeError):
            torch._C._cuda_endAllocateToPool(self._index, self._memory)
        generator = CUDA.default_generators[self._index]
        generator.graphsafe_set_state(generator.clone_state())


@cache
def _stream(index: int) -> Any:
    """One for all trainings of a process: libraries keep memory for every stream they have seen."""
    return CUDA.Stream(device=index)


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

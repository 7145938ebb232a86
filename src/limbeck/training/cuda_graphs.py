"""Training steps as CUDA graphs: captured once, and replayed with one launch instead of hundreds.

A step of a small student is hundreds of short kernels, and a GPU waits longer for each launch than the kernel takes: of
8 ms it works less than 3. A CUDA graph holds all kernels of a step and is launched as one. A replay does the same to
other rows, if these are written to the same memory and have the same shape. So batches are padded to a few widths, and
there is one graph for each shape that comes often enough.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from limbeck.training.device import sent

CUDA: Any = torch.cuda  # much of it is untyped
CPU = torch.device("cpu")
FINENESS = 4  # bits: a width is rounded up by an eighth at most
MOST_GRAPHS = 128
FEWEST_REPLAYS = 12  # a capture costs as much as some of them save

Places = npt.NDArray[np.int64]  # row positions
Shape = tuple[int, ...]  # rows, and the width of each text


@dataclass(frozen=True)
class Slots:
    """Rows of a batch by their places on the device, and how wide each of their texts is padded."""

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
    """A step that can be replayed, on the rows that its slots hold by then."""

    @property
    def terms(self) -> dict[str, Tensor]:
        """The terms of the loss of the last replay."""

    def replay(self) -> None:
        """Take the step."""


class CaptureContext(Protocol):
    """Where steps are captured and replayed."""

    def active(self) -> AbstractContextManager[None]:
        """All steps have to be taken inside."""

    def capture(self, step: Callable[[], dict[str, Tensor]]) -> CapturedStep:
        """The step as a graph; it is not taken yet."""


@dataclass(frozen=True)
class _Graph:
    """A captured step, and the tensors that it reads."""

    slots: Slots
    constants: "CopiedConstants"
    step: CapturedStep


class StepCapturer:
    """Takes steps, and captures those whose shape comes again and again."""

    def __init__(self, widths: Widths, *, context: CaptureContext, device: torch.device) -> None:
        self._widths, self._context, self._device = widths, context, device
        self._graphs: dict[Shape, _Graph] = {}
        self._constants: dict[Shape, CopiedConstants] = {}  # of shapes that were met and are worth a graph
        self._worth: set[Shape] = set()
        self.problem = ""  # why no more steps are captured

    def expect(self, plan: Sequence[Places], *, epochs: int) -> None:
        """The batches of one epoch: shapes that come often enough in so many epochs are to be captured."""
        counts = Counter(self._widths.shape(places) for places in plan)
        often = [shape for shape, count in counts.most_common(MOST_GRAPHS) if count * epochs >= FEWEST_REPLAYS]
        self._worth = set(often)

    def active(self) -> AbstractContextManager[None]:
        """All steps have to be taken inside."""
        return self._context.active()

    def take(self, places: Places, step: Step) -> dict[str, Tensor]:
        """One step on these rows. The first of a shape is never captured: it initialises what a capture must not."""
        shape = self._widths.shape(places)
        if shape in self._constants and shape not in self._graphs and not self.problem:
            self._capture(shape, places, step)
        graph = self._graphs.get(shape)
        if graph is None:
            return self._taken(shape, Slots(self._sent(places), shape[1:]), step)
        graph.slots.chosen.copy_(self._sent(places))
        graph.step.replay()
        return {name: term.clone() for name, term in graph.step.terms.items()}  # the next step overwrites them

    def _sent(self, places: Places) -> Tensor:
        return sent(torch.from_numpy(places), self._device)

    def _taken(self, shape: Shape, slots: Slots, step: Step) -> dict[str, Tensor]:
        """Without a graph. Graphs keep memory for themselves; where it is needed, they are dropped."""
        try:
            if shape not in self._worth or shape in self._constants or self.problem:
                return step(slots)
            self._constants[shape] = CopiedConstants(self._device)
            with self._constants[shape].collected():
                return step(slots)
        except torch.OutOfMemoryError:
            if not self._graphs:
                raise
        self._give_up("the GPU's memory is too small for both")
        return step(slots)

    def _capture(self, shape: Shape, places: Places, step: Step) -> None:
        slots, constants = Slots(self._sent(places).clone(), shape[1:]), self._constants[shape]

        def with_constants() -> dict[str, Tensor]:
            with constants.reused():
                return step(slots)

        try:
            self._graphs[shape] = _Graph(slots, constants, self._context.capture(with_constants))
        except RuntimeError as error:  # an operation that waits for the GPU, or one that a driver cannot capture
            self._give_up(str(error.__context__ or error).partition("\n")[0] or type(error).__name__)

    def _give_up(self, reason: str) -> None:
        self.problem = reason
        self._graphs.clear()
        self._constants.clear()
        if self._device.type == "cuda":
            CUDA.empty_cache()


@dataclass
class CopiedConstants:
    """Tensors that a step makes on the CPU and copies to the device, the same ones whenever its shape is the same.

    No graph can hold such a copy (torch: "Cannot copy between CPU and CUDA tensors during CUDA graph capture"). MPNet
    makes some in each forward pass with transformers before 5.22: buckets of relative positions, and the zero of its
    mask. So the step before the capture keeps its copies, and the captured one reads those. A copy is taken only for a
    tensor of the same values; numbers are written by the device itself.
    """

    device: torch.device
    pairs: list[tuple[Tensor, Tensor]] = field(default_factory=list)  # on the CPU, and on the device

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Inside, what is copied to the device is kept."""
        with _Copies(self.device, self._keep):
            yield

    @contextmanager
    def reused(self) -> Iterator[None]:
        """Inside, nothing is copied to the device. Raises RuntimeError for a tensor that was not copied before."""
        with _Copies(self.device, self._find):
            yield

    def _keep(self, source: Tensor) -> Tensor:
        copy = source.to(self.device)
        if source.ndim:
            self.pairs.append((source.detach().clone(), copy.detach().clone()))
        return copy

    def _find(self, source: Tensor) -> Tensor:
        if not source.ndim:
            return torch.full((), source.item(), dtype=source.dtype, device=self.device)
        for known, copy in self.pairs:
            if known.dtype == source.dtype and torch.equal(known, source):
                return copy.clone()  # the step may write to it
        raise RuntimeError(f"a tensor of shape {tuple(source.shape)} on the CPU differs from step to step")


class _Copies(TorchFunctionMode):
    """Sends each copy from the CPU to the device through `bring`."""

    def __init__(self, device: torch.device, bring: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self._device, self._bring = device, bring

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        del types
        options = kwargs or {}
        is_copy = function in (torch.tensor, torch.as_tensor, Tensor.to) and any(
            self._is_device(value) for value in (*args[1:], options.get("device"))
        )
        if not is_copy or (isinstance(args[0], Tensor) and args[0].device.type != "cpu"):
            return function(*args, **options)
        here = [CPU if self._is_device(value) else value for value in args[1:]]
        there = {name: CPU if name == "device" else value for name, value in options.items()}
        return self._bring(function(args[0], *here, **there))

    def _is_device(self, value: Any) -> bool:
        is_named = isinstance(value, str | torch.device) and torch.device(value).type == self._device.type
        return is_named and self._device != CPU


def capture_context_for(device: torch.device) -> CaptureContext | None:
    """None where nothing can be captured."""
    return CudaContext(device) if device.type == "cuda" and not CudaContext.has_failed else None


class CudaContext:
    """One stream of a GPU, which is not the default one, and a memory pool that all graphs share."""

    has_failed = False  # in this process

    def __init__(self, device: torch.device) -> None:
        self._index = CUDA.current_device() if device.index is None else device.index
        self._stream, self._memory = _stream(self._index), CUDA.graph_pool_handle()
        self._broken: list[Any] = []

    @contextmanager
    def active(self) -> Iterator[None]:
        """Inside, all work goes to the stream that captures."""
        outer = CUDA.current_stream()
        self._stream.wait_stream(outer)
        try:
            with CUDA.stream(self._stream):
                yield
        finally:
            outer.wait_stream(self._stream)

    def capture(self, step: Callable[[], dict[str, Tensor]]) -> CapturedStep:
        """The step as a graph; it is not taken yet."""
        graph = CUDA.CUDAGraph()
        try:
            with CUDA.graph(graph, pool=self._memory, stream=self._stream, capture_error_mode="thread_local"):
                terms = {name: term.detach() for name, term in step().items()}
        except BaseException:
            self._mend(graph)
            raise
        return CudaGraphStep(graph, terms)

    def _mend(self, graph: Any) -> None:
        """After a failed capture, PyTorch leaves its allocator and its generator as if the capture went on."""
        CudaContext.has_failed = True
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
class CudaGraphStep:
    """A CUDA graph, and where it leaves the terms of the loss."""

    graph: Any
    terms: dict[str, Tensor]

    def replay(self) -> None:
        """Launch all of it."""
        self.graph.replay()


def rounded_up(width: int) -> int:
    """The next width of which there are few: eight of them between each power of two and the next."""
    step = 1 << max((width - 1).bit_length() - FINENESS, 0)
    return -(-width // step) * step

"""Training steps as CUDA graphs: captured once, and replayed with one launch instead of hundreds.

A step of a small student is hundreds of short kernels, and each launch takes longer than its kernel: of 8 ms, the GPU
computes less than 3. A CUDA graph holds all kernels of a step and is launched once. A replay does the same to other
rows, if they are written to the same memory and have the same shape. So batches are padded to a few widths, and there
is one graph for each shape that is frequent enough.
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
WIDTH_BITS = 4  # significant bits of a width: it is rounded up by an eighth at most
MOST_GRAPHS = 128
FEWEST_REPLAYS = 12  # a capture takes as long as several replays save

Places = npt.NDArray[np.int64]  # row positions
Shape = tuple[int, ...]  # rows, and the width of each text


@dataclass(frozen=True)
class Slots:
    """The row numbers of a batch, on the device, and the width to which each of their texts is padded."""

    chosen: Tensor  # (rows)
    widths: tuple[int, ...]


@dataclass(frozen=True)
class Widths:
    """The widths of batches."""

    of: Callable[[Places], Sequence[int]]  # the width of each text of these rows: that of the longest row
    most: int  # the width of the longest text of all rows

    def shape(self, places: Places) -> Shape:
        """The shape of these rows; two texts get the width of the wider one, to limit the number of shapes."""
        exact = self.of(places)
        width = min(rounded_up(max(exact)), self.most)
        return (len(places), *[width] * len(exact))


Step = Callable[[Slots], dict[str, Tensor]]  # trains on these rows; returns the terms of the loss


class CapturedStep(Protocol):
    """A step that can be replayed, on the rows that its slots currently hold."""

    @property
    def terms(self) -> dict[str, Tensor]:
        """The terms of the loss of the last replay."""

    def replay(self) -> None:
        """Run the step."""


class CaptureContext(Protocol):
    """The context in which steps are captured and replayed."""

    def active(self) -> AbstractContextManager[None]:
        """All steps have to run inside."""

    def capture(self, step: Callable[[], dict[str, Tensor]]) -> CapturedStep:
        """The step as a graph; it does not run yet."""


@dataclass(frozen=True)
class _Graph:
    """A captured step, and the tensors that it reads."""

    slots: Slots
    constants: "CopiedConstants"
    step: CapturedStep


class StepCapturer:
    """Runs steps, and captures those whose shape is frequent."""

    def __init__(self, widths: Widths, *, context: CaptureContext, device: torch.device) -> None:
        self._widths, self._context, self._device = widths, context, device
        self._graphs: dict[Shape, _Graph] = {}
        self._constants: dict[Shape, CopiedConstants] = {}  # of shapes that occurred and are worth a graph
        self._worth: set[Shape] = set()
        self.problem = ""  # why no more steps are captured

    def expect(self, plan: Sequence[Places], *, epochs: int) -> None:
        """Given the batches of one epoch, choose the shapes that are frequent enough to be captured."""
        counts = Counter(self._widths.shape(places) for places in plan)
        frequent = [shape for shape, count in counts.most_common(MOST_GRAPHS) if count * epochs >= FEWEST_REPLAYS]
        self._worth = set(frequent)

    def active(self) -> AbstractContextManager[None]:
        """All steps have to run inside."""
        return self._context.active()

    def take(self, places: Places, step: Step) -> dict[str, Tensor]:
        """One step on these rows. The first of a shape is never captured: it initialises what a capture cannot."""
        shape = self._widths.shape(places)
        if shape in self._constants and shape not in self._graphs and not self.problem:
            self._capture(shape, places, step)
        graph = self._graphs.get(shape)
        if graph is None:
            return self._run_without_graph(shape, Slots(self._sent(places), shape[1:]), step)
        graph.slots.chosen.copy_(self._sent(places))
        graph.step.replay()
        return {name: term.clone() for name, term in graph.step.terms.items()}  # the next step overwrites them

    def _sent(self, places: Places) -> Tensor:
        return sent(torch.from_numpy(places), self._device)

    def _run_without_graph(self, shape: Shape, slots: Slots, step: Step) -> dict[str, Tensor]:
        """Graphs reserve memory; if the step runs out of it, they are dropped."""
        try:
            if shape not in self._worth or shape in self._constants or self.problem:
                return step(slots)
            self._constants[shape] = CopiedConstants(self._device)
            with self._constants[shape].collected():
                return step(slots)
        except torch.OutOfMemoryError:
            if not self._graphs:
                raise
        self._give_up("the GPU does not have enough memory for both")
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
    """Tensors that a step makes on the CPU and copies to the device, always the same ones for the same shape.

    No graph can hold such a copy (torch: "Cannot copy between CPU and CUDA tensors during CUDA graph capture"). MPNet
    makes some in each forward pass, as seen in transformers 5.17: buckets of relative positions, and the zero of its
    mask. So the step before the capture stores its copies, and the captured one reads those. A copy is used only for a
    tensor of the same values; scalars are created on the device itself.
    """

    device: torch.device
    pairs: list[tuple[Tensor, Tensor]] = field(default_factory=list)  # on the CPU, and on the device

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Inside, every copy to the device is stored."""
        with _Copies(self.device, self._keep):
            yield

    @contextmanager
    def reused(self) -> Iterator[None]:
        """Inside, stored copies replace copies to the device. Raises RuntimeError for a tensor that is not stored."""
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
    """Replaces each copy from the CPU to the device by a call of `copied`."""

    def __init__(self, device: torch.device, copied: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self._device, self._copied = device, copied

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
        cpu_args = [CPU if self._is_device(value) else value for value in args[1:]]
        cpu_options = {name: CPU if name == "device" else value for name, value in options.items()}
        return self._copied(function(args[0], *cpu_args, **cpu_options))

    def _is_device(self, value: Any) -> bool:
        is_named = isinstance(value, str | torch.device) and torch.device(value).type == self._device.type
        return is_named and self._device != CPU


def capture_context_for(device: torch.device) -> CaptureContext | None:
    """A context for this device; None if nothing can be captured on it."""
    return CudaContext(device) if device.type == "cuda" and not CudaContext.has_failed else None


class CudaContext:
    """A stream of a GPU, other than the default one, and a memory pool that all graphs share."""

    has_failed = False  # in this process

    def __init__(self, device: torch.device) -> None:
        self._index = CUDA.current_device() if device.index is None else device.index
        self._stream, self._memory = _stream(self._index), CUDA.graph_pool_handle()
        self._broken: list[Any] = []

    @contextmanager
    def active(self) -> Iterator[None]:
        """Inside, all kernels go to the capture stream."""
        outer = CUDA.current_stream()
        self._stream.wait_stream(outer)
        try:
            with CUDA.stream(self._stream):
                yield
        finally:
            outer.wait_stream(self._stream)

    def capture(self, step: Callable[[], dict[str, Tensor]]) -> CapturedStep:
        """The step as a graph; it does not run yet."""
        graph = CUDA.CUDAGraph()
        try:
            with CUDA.graph(graph, pool=self._memory, stream=self._stream, capture_error_mode="thread_local"):
                terms = {name: term.detach() for name, term in step().items()}
        except BaseException:
            self._clean_up(graph)
            raise
        return CudaGraphStep(graph, terms)

    def _clean_up(self, graph: Any) -> None:
        """After a failed capture, PyTorch leaves its allocator and its generator in capture mode."""
        CudaContext.has_failed = True
        self._broken.append(graph)  # the allocator still refers to it
        with suppress(RuntimeError, AttributeError):
            torch._C._cuda_endAllocateToPool(self._index, self._memory)
        generator = CUDA.default_generators[self._index]
        generator.graphsafe_set_state(generator.clone_state())


@cache
def _stream(index: int) -> Any:
    """One for all trainings of a process: libraries keep memory for every stream they have used."""
    return CUDA.Stream(device=index)


@dataclass(frozen=True)
class CudaGraphStep:
    """A CUDA graph, and the tensors to which it writes the terms of the loss."""

    graph: Any
    terms: dict[str, Tensor]

    def replay(self) -> None:
        """Launch the graph."""
        self.graph.replay()


def rounded_up(width: int) -> int:
    """The next larger width out of a few: eight of them between each power of two and the next."""
    step = 1 << max((width - 1).bit_length() - WIDTH_BITS, 0)
    return -(-width // step) * step

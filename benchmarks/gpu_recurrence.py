"""Milliseconds of one Bi-LSTM layer on a GPU, forwards and backwards, by the ways there are to run both directions.

    python benchmarks/gpu_recurrence.py [--hidden-sizes 128 150 160 300] [--batch-sizes 128 512] [--out FILE]

    two_calls     each direction by itself; the backward one reads rows that are reversed within their length
    two_streams   the same, both at a time
    packed        one bidirectional call over packed rows
    shut_padding  one bidirectional call over padded rows; an extra input closes the cell on padding, so that no state
                  begins before a row's own tokens: the result is that of `two_calls`
    one_call      one bidirectional call over padded rows as they are: wrong at the ends of short rows; its time is the
                  least that `shut_padding` could take
    graphed       `two_calls` replayed as a CUDA graph: how much of its time is spent on launching

Rows are sorted by length, as in training: the longest has `--tokens`, the shortest two fewer. Each way is checked
against the first before it is timed.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.profiler import ProfilerActivity, profile

from limbeck.timing.machine import machine_facts
from limbeck.training.device import training_device

CUDA: Any = torch.cuda  # much of it is untyped
SHUT = -30_000.0  # an input gate that gets this is zero in any arithmetic
WARM_UP, ROUNDS, MULTIPLE = 10, 40, 8
Way = Callable[[Tensor], Tensor]  # (rows, tokens, width) → (rows, 2 · hidden), the largest state of each row


def main() -> None:
    """Measure, print, write."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--hidden-sizes", nargs="+", type=int, default=[128, 150, 160, 300])
    options.add_argument("--batch-sizes", nargs="+", type=int, default=[128, 512])
    options.add_argument("--precisions", nargs="+", choices=["fp32", "bf16"], default=["fp32", "bf16"])
    options.add_argument("--tokens", type=int, default=24)
    options.add_argument("--width", type=int, default=400)
    options.add_argument("--out", type=Path)
    asked = options.parse_args()
    # The weights of `shut_padding` are put together again in each step, which is what is measured.
    warnings.filterwarnings("ignore", message="RNN module weights are not part of single contiguous chunk")
    lines = [
        line_of(Layer(asked.width, hidden, batch, tokens=asked.tokens), precision)
        for precision in asked.precisions
        for hidden in asked.hidden_sizes
        for batch in asked.batch_sizes
    ]
    found = {
        "what": "milliseconds of one Bi-LSTM layer, forwards and backwards",
        "tokens": asked.tokens,
        "width": asked.width,
        "lines": lines,
        "machine": machine_facts(threads=torch.get_num_threads()),
    }
    if asked.out:
        asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


class Layer:
    """One layer with its rows, and every way to run it."""

    def __init__(self, width: int, hidden: int, batch: int, *, tokens: int) -> None:
        device = training_device()
        torch.manual_seed(0)
        self.hidden, self.batch = hidden, batch
        self.forwards = nn.LSTM(width, hidden, batch_first=True).to(device)
        self.backwards = nn.LSTM(width, hidden, batch_first=True).to(device)
        self.both = nn.LSTM(width, hidden, batch_first=True, bidirectional=True).to(device)
        self.both.load_state_dict(
            {
                **self.forwards.state_dict(),
                **{f"{name}_reverse": weight for name, weight in self.backwards.state_dict().items()},
            }
        )
        self.lengths = torch.linspace(tokens, tokens - 2, batch).round().long()  # longest first
        lengths, places = self.lengths.to(device)[:, None], torch.arange(tokens, device=device)[None, :]
        self.inside = places < lengths
        self.mirrored = torch.where(self.inside, lengths - 1 - places, places)
        self.vectors = torch.randn((batch, tokens, width), device=device, requires_grad=True)
        self.side = CUDA.Stream() if device.type == "cuda" else None
        self.shut = self._shut(width, device)

    def ways(self) -> dict[str, Way]:
        """By name; the first is what all are compared with."""
        return {
            "two_calls": self.two_calls,
            "two_streams": self.two_streams,
            "packed": self.packed,
            "shut_padding": self.shut_padding,
            "one_call": lambda vectors: self._largest(self.both(vectors)[0]),
            **({"graphed": self.graphed()} if torch.cuda.is_available() else {}),
        }

    def two_calls(self, vectors: Tensor) -> Tensor:
        back = self.backwards(self._turned(vectors))[0]
        return self._largest(torch.cat([self.forwards(vectors)[0], back], dim=-1))

    def two_streams(self, vectors: Tensor) -> Tensor:
        if self.side is None:
            return self.two_calls(vectors)
        here = CUDA.current_stream()
        turned = self._turned(vectors)
        self.side.wait_stream(here)
        with CUDA.stream(self.side):
            back = self.backwards(turned)[0]
        front = self.forwards(vectors)[0]
        here.wait_stream(self.side)
        turned.record_stream(self.side)
        back.record_stream(here)
        return self._largest(torch.cat([front, back], dim=-1))

    def packed(self, vectors: Tensor) -> Tensor:
        rows = pack_padded_sequence(vectors, self.lengths, batch_first=True)
        states, _ = pad_packed_sequence(self.both(rows)[0], batch_first=True, padding_value=float("-inf"))
        return states.amax(dim=1)

    def shut_padding(self, vectors: Tensor) -> Tensor:
        extra = self.shut.shape[1] - vectors.shape[-1] - 1
        marked = torch.cat([vectors, (~self.inside)[..., None].to(vectors.dtype)], dim=-1)
        marked = F.pad(marked, (0, extra))
        padded = self.shut.shape[0] // 4
        weights = [weight for network in (self.forwards, self.backwards) for weight in self._widened(network)]
        start = vectors.new_zeros((2, vectors.shape[0], padded))
        states: Tensor = torch.lstm(marked, [start, start], weights, True, 1, 0.0, True, True, True)[0]
        halves = [states[..., start : start + self.hidden] for start in (0, padded)]
        return self._largest(torch.cat(halves, dim=-1))

    def _widened(self, network: nn.LSTM) -> list[Tensor]:
        """Its weights with units that stay zero up to a multiple that suits the hardware, and the input for padding."""
        units, (rows, columns) = self.shut.shape[0] // 4 - self.hidden, self.shut.shape
        by_gate = [weight.view(4, self.hidden, *weight.shape[1:]) for weight in network.parameters()]
        inputs, states, *biases = by_gate
        return [
            F.pad(inputs, (0, columns - inputs.shape[-1], 0, units)).flatten(0, 1) + self.shut,
            F.pad(states, (0, units, 0, units)).flatten(0, 1),
            *(F.pad(bias, (0, units)).reshape(rows) for bias in biases),
        ]

    def _shut(self, width: int, device: torch.device) -> Tensor:
        """(4 · units, inputs): what the input that marks padding does to the gates, of which the first lets new in."""
        units = -(-self.hidden // MULTIPLE) * MULTIPLE
        shut = torch.zeros((4, units, -(-(width + 1) // MULTIPLE) * MULTIPLE), device=device)
        shut[0, :, width] = SHUT
        return shut.flatten(0, 1)

    def graphed(self) -> Way:
        layer = self

        class Graphed(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.networks = nn.ModuleList([layer.forwards, layer.backwards])

            def forward(self, vectors: Tensor) -> Tensor:
                return layer.two_calls(vectors)

        recorded: Way = CUDA.make_graphed_callables(Graphed(), (torch.randn_like(self.vectors).requires_grad_(),))
        return recorded

    def _turned(self, states: Tensor) -> Tensor:
        return states.gather(1, self.mirrored[..., None].expand_as(states))

    def _largest(self, states: Tensor) -> Tensor:
        return states.masked_fill(~self.inside[..., None], float("-inf")).amax(dim=1)


def line_of(layer: Layer, precision: str) -> dict[str, Any]:
    """Every way's time, and how far its answer and its gradient are from the first one's."""
    line: dict[str, Any] = {"precision": precision, "hidden_size": layer.hidden, "batch_size": layer.batch, "ways": {}}
    expected: tuple[Tensor, Tensor] | None = None
    for name, way in layer.ways().items():
        run = one_pass(layer, way, precision)
        try:
            found = run()
        except RuntimeError as error:
            line["ways"][name] = {"failed": str(error).splitlines()[0][:200]}
            continue
        expected = expected or found
        apart = [round(float((one - other).abs().max()), 6) for one, other in zip(found, expected, strict=True)]
        line["ways"][name] = {"ms": timed(run), "kernels": kernels(run), "apart": apart}
    print(json.dumps(line), flush=True)
    return line


def one_pass(layer: Layer, way: Way, precision: str) -> Callable[[], tuple[Tensor, Tensor]]:
    """Forwards and backwards once; gives the answer and the gradient of the vectors."""
    device = layer.vectors.device.type

    def run() -> tuple[Tensor, Tensor]:
        layer.vectors.grad = None
        for weights in (layer.forwards, layer.backwards, layer.both):
            weights.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=precision == "bf16"):
            answer = way(layer.vectors)
        torch.autograd.backward(answer.float().square().sum())  # of the weights, too
        gradient = layer.vectors.grad
        assert gradient is not None
        return answer.detach().float(), gradient

    return run


def timed(run: Callable[[], Any]) -> float:
    """Milliseconds of a pass when many come one after the other."""
    wait = CUDA.synchronize if CUDA.is_available() else (lambda: None)
    for _ in range(WARM_UP):
        run()
    wait()
    started = time.perf_counter()
    for _ in range(ROUNDS):
        run()
    wait()
    return round(1000 * (time.perf_counter() - started) / ROUNDS, 3)


def kernels(run: Callable[[], Any]) -> int | None:
    """How many kernels a pass launches."""
    if not torch.cuda.is_available():
        return None
    with suppress(RuntimeError), profile(activities=[ProfilerActivity.CUDA]) as watch:
        run()
        torch.cuda.synchronize()
    return sum(int(event.count) for event in watch.key_averages() if str(event.device_type).endswith("CUDA"))


if __name__ == "__main__":
    main()

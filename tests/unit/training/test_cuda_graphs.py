"""Captured steps do what steps do: the same to every row, in every shape, and none is lost."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from limbeck.training.cuda_graphs import CopiedConstants, Slots, StepCapturer, Widths, capture_context_for, rounded_up
from limbeck.training.device import training_device

CPU = torch.device("cpu")


LENGTHS = np.array([3, 5, 17, 18, 40])


WIDTHS = Widths(lambda places: [int(LENGTHS[places].max())], most=40)
PLAN = [np.array(places) for places in ([0, 1], [2, 3])]


def capturer(context: Any, *, device: torch.device = CPU, epochs: int = 99) -> StepCapturer:
    found = StepCapturer(WIDTHS, context=context, device=device)
    found.expect(PLAN, epochs=epochs)
    return found


def test_the_first_step_of_a_shape_is_taken_and_later_ones_are_replayed(
    make_capture_context: Callable[..., Any],
) -> None:
    seen: list[tuple[list[int], tuple[int, ...]]] = []
    context = make_capture_context()
    ours = capturer(context)

    def step(slots: Slots) -> dict[str, Tensor]:
        seen.append((slots.chosen.tolist(), slots.widths))
        return {"loss": slots.chosen.sum().float()}

    terms = [ours.take(np.array(places), step) for places in ([0, 1], [1, 0], [2, 3], [0, 3], [1, 1])]

    assert [places for places, _ in seen] == [[0, 1], [1, 0], [2, 3], [0, 3], [1, 1]], "every batch once, in order"
    assert [width for _, width in seen] == [(5,), (5,), (18,), (18,), (5,)]
    assert [graph.replayed for graph in context.captured] == [2, 1]
    assert [float(found["loss"]) for found in terms] == [1.0, 1.0, 5.0, 3.0, 2.0], "also of a graph replayed again"


def test_batches_of_other_sizes_are_other_shapes(make_capture_context: Callable[..., Any]) -> None:
    context = make_capture_context()
    ours = capturer(context)

    for places in ([0, 1], [0, 1, 1], [1, 0], [1]):
        ours.take(np.array(places), lambda slots: {"loss": slots.chosen.sum().float()})

    assert len(context.captured) == 1


def test_a_step_that_cannot_be_captured_is_taken_all_the_same(make_capture_context: Callable[..., Any]) -> None:
    taken: list[list[int]] = []

    def step(slots: Slots) -> dict[str, Tensor]:
        taken.append(slots.chosen.tolist())
        return {"loss": torch.ones(())}

    ours = capturer(make_capture_context("operation not permitted\nwhen stream is capturing"))
    for _ in range(3):
        ours.take(np.array([0, 1]), step)

    assert taken == [[0, 1]] * 3
    assert ours.problem == "operation not permitted"


def test_shapes_that_come_seldom_are_not_captured(make_capture_context: Callable[..., Any]) -> None:
    context = make_capture_context()
    ours = capturer(context, epochs=3)

    for _ in range(3):
        ours.take(np.array([0, 1]), lambda slots: {"loss": slots.chosen.sum().float()})

    assert not context.captured


def test_memory_that_is_wanted_is_taken_from_the_graphs(make_capture_context: Callable[..., Any]) -> None:
    context = make_capture_context()
    ours = capturer(context)
    tried: list[int] = []

    def step(slots: Slots) -> dict[str, Tensor]:
        tried.append(len(slots.chosen))
        if tried.count(3) == 1:
            tried.append(0)
            raise torch.OutOfMemoryError("none left")
        return {"loss": torch.ones(())}

    for places in ([0, 1], [1, 0], [0, 1, 1], [0, 1]):
        ours.take(np.array(places), step)

    assert tried == [2, 2, 3, 0, 3, 2], "the step that failed is taken again"
    assert "memory" in ours.problem
    assert context.captured[0].replayed == 1


def test_no_batch_is_wider_than_the_longest_row() -> None:
    assert WIDTHS.shape(np.array([4])) == (1, 40)
    assert Widths(lambda _places: [33, 5], most=35).shape(np.array([0, 1])) == (2, 35, 35)
    assert Widths(lambda _places: [33, 5], most=99).shape(np.array([0, 1])) == (2, 36, 36)


def test_widths_are_few_and_little_wider() -> None:
    found = [rounded_up(width) for width in range(1, 513)]

    assert found[:18] == [*range(1, 17), 18, 18]
    assert found == sorted(found)
    assert len(set(found)) < 60
    assert all(width <= wider <= 1.125 * width for width, wider in enumerate(found, start=1))


def test_without_a_gpu_there_is_nothing_to_capture_with() -> None:
    assert capture_context_for(CPU) is None


@pytest.mark.gpu
@pytest.mark.skipif(training_device().type != "cuda", reason="needs a GPU")
def test_a_gpu_replays_what_it_captured() -> None:
    device = training_device()
    context = capture_context_for(device)
    assert context is not None
    table, total = torch.arange(5.0, device=device), torch.zeros((), device=device)
    ours = capturer(context, device=device)

    def step(slots: Slots) -> dict[str, Tensor]:
        found = table[slots.chosen].sum()
        total.add_(found)
        return {"loss": found}

    with ours.active():
        terms = [
            float(ours.take(np.array(places), step)["loss"]) for places in ([0, 1], [1, 0], [2, 3], [1, 1], [0, 0])
        ]

    assert not ours.problem
    assert terms == [1.0, 1.0, 5.0, 2.0, 0.0]
    assert float(total) == 9.0


META = torch.device("meta")


def step_like_mpnet(slots: Slots, *, offset: int = 0) -> dict[str, Tensor]:
    """What MPNet does in transformers 5.17: positions are made on the CPU, and so is a number."""
    width = slots.widths[0]
    places = (torch.arange(width)[None, :] - torch.arange(width)[:, None] + offset).to(slots.chosen.device)
    zero = torch.tensor(0.0, device=slots.chosen.device, dtype=torch.bfloat16)
    return {"loss": (slots.chosen.sum() + places.sum() + zero).float()}


def test_a_captured_step_copies_nothing_from_the_cpu(
    make_capture_context: Callable[..., Any], copies_to_meta: Any
) -> None:
    context = make_capture_context()
    ours = capturer(context, device=META)

    ours.take(np.array([0, 1]), step_like_mpnet)  # without a graph, and it copies
    ours.take(np.array([1, 0]), step_like_mpnet)  # captures it
    with copies_to_meta:
        step_like_mpnet(Slots(torch.zeros(2, dtype=torch.int64, device=META), (5,)))
        assert copies_to_meta.copies == ["to", "tensor"], "so it does without a capture"
        copies_to_meta.copies.clear()
        (graph,) = context.captured
        terms = graph.step()

    assert copies_to_meta.copies == []
    assert terms["loss"].device == META
    assert not ours.problem


def test_a_tensor_of_the_cpu_that_changes_from_step_to_step_is_not_captured(
    make_capture_context: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    context = make_capture_context()
    monkeypatch.setattr(context, "capture", lambda step: step() and None)
    ours, offsets = capturer(context, device=META), iter(range(9))

    for _ in range(3):
        ours.take(np.array([0, 1]), lambda slots: step_like_mpnet(slots, offset=next(offsets)))

    assert "shape (5, 5)" in ours.problem
    assert next(offsets) == 4, "three steps, and one capture that failed"


@pytest.mark.parametrize(
    "copy",
    [
        lambda there: torch.tensor([1.5, 2.0], device=there),
        lambda there: torch.tensor(7, device=there),
        lambda there: torch.as_tensor(np.arange(3), device=there, dtype=torch.float32),
        lambda there: torch.arange(4).to(there, torch.float16),
        lambda there: torch.arange(4).to(device=there, dtype=torch.int32, non_blocking=True),
        lambda there: torch.ones(2, device=there).to(there),
        lambda there: torch.ones(2, device=there).to(torch.float16),
    ],
)
def test_copies_that_are_reused_are_what_copies_are(copy: Callable[[torch.device], Tensor]) -> None:
    constants, plain = CopiedConstants(META), copy(META)

    with constants.collected():
        collected = copy(META)
    with constants.reused():
        reused = copy(META)

    for found in (collected, reused):
        assert (found.device, found.dtype, found.shape) == (plain.device, plain.dtype, plain.shape)


def test_where_steps_run_on_the_cpu_nothing_is_a_copy() -> None:
    constants = CopiedConstants(CPU)

    with constants.collected(), constants.reused():
        assert torch.arange(3).to("cpu").tolist() == [0, 1, 2]
        assert torch.tensor([1.0], device=CPU).tolist() == [1.0]

    assert constants.pairs == []

"""Recorded steps do what steps do: the same to every row, in every shape, and none is lost."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from limbeck.training.cuda_graphs import Recorder, Slots, Widths, rounded_up, stage_for
from limbeck.training.device import training_device

CPU = torch.device("cpu")


LENGTHS = np.array([3, 5, 17, 18, 40])


WIDTHS = Widths(lambda places: [int(LENGTHS[places].max())], most=40)
PLAN = [np.array(places) for places in ([0, 1], [2, 3])]


def recorder(stage: Any, *, device: torch.device = CPU, epochs: int = 99) -> Recorder:
    found = Recorder(WIDTHS, stage=stage, device=device)
    found.expect(PLAN, epochs=epochs)
    return found


def test_the_first_step_of_a_shape_is_taken_and_later_ones_are_played(make_stage: Callable[..., Any]) -> None:
    seen: list[tuple[list[int], tuple[int, ...]]] = []
    stage = make_stage()
    ours = recorder(stage)

    def step(slots: Slots) -> dict[str, Tensor]:
        seen.append((slots.chosen.tolist(), slots.widths))
        return {"loss": slots.chosen.sum().float()}

    terms = [ours.take(np.array(places), step) for places in ([0, 1], [1, 0], [2, 3], [0, 3], [1, 1])]

    assert [places for places, _ in seen] == [[0, 1], [1, 0], [2, 3], [0, 3], [1, 1]], "every batch once, in order"
    assert [width for _, width in seen] == [(5,), (5,), (18,), (18,), (5,)]
    assert [recording.played for recording in stage.recorded] == [2, 1]
    assert [float(found["loss"]) for found in terms] == [1.0, 1.0, 5.0, 3.0, 2.0], "also of a recording played again"


def test_batches_of_other_sizes_are_other_shapes(make_stage: Callable[..., Any]) -> None:
    stage = make_stage()
    ours = recorder(stage)

    for places in ([0, 1], [0, 1, 1], [1, 0], [1]):
        ours.take(np.array(places), lambda slots: {"loss": slots.chosen.sum().float()})

    assert len(stage.recorded) == 1


def test_a_step_that_cannot_be_recorded_is_taken_all_the_same(make_stage: Callable[..., Any]) -> None:
    taken: list[list[int]] = []

    def step(slots: Slots) -> dict[str, Tensor]:
        taken.append(slots.chosen.tolist())
        return {"loss": torch.ones(())}

    ours = recorder(make_stage("operation not permitted\nwhen stream is capturing"))
    for _ in range(3):
        ours.take(np.array([0, 1]), step)

    assert taken == [[0, 1]] * 3
    assert ours.problem == "operation not permitted"


def test_shapes_that_come_seldom_are_not_recorded(make_stage: Callable[..., Any]) -> None:
    stage = make_stage()
    ours = recorder(stage, epochs=3)

    for _ in range(3):
        ours.take(np.array([0, 1]), lambda slots: {"loss": slots.chosen.sum().float()})

    assert not stage.recorded


def test_memory_that_is_wanted_is_taken_from_the_recordings(make_stage: Callable[..., Any]) -> None:
    stage = make_stage()
    ours = recorder(stage)
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
    assert stage.recorded[0].played == 1


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


def test_without_a_gpu_there_is_nowhere_to_record() -> None:
    assert stage_for(CPU) is None


@pytest.mark.skipif(training_device().type != "cuda", reason="needs a GPU")
def test_a_gpu_plays_what_it_recorded() -> None:
    device = training_device()
    stage = stage_for(device)
    assert stage is not None
    table, total = torch.arange(5.0, device=device), torch.zeros((), device=device)
    ours = recorder(stage, device=device)

    def step(slots: Slots) -> dict[str, Tensor]:
        found = table[slots.chosen].sum()
        total.add_(found)
        return {"loss": found}

    with ours.at_work():
        terms = [
            float(ours.take(np.array(places), step)["loss"]) for places in ([0, 1], [1, 0], [2, 3], [1, 1], [0, 0])
        ]

    assert not ours.problem
    assert terms == [1.0, 1.0, 5.0, 2.0, 0.0]
    assert float(total) == 9.0

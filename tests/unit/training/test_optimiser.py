"""The learning rate and the weight decay."""

import pytest
from torch import nn

from limbeck.training.optimiser import adamw, learning_rate_at


def test_the_rate_rises_to_its_peak_and_falls_to_zero_after_the_last_step() -> None:
    rates = [learning_rate_at(step, total=10, peak=1.0, warmup_fraction=0.2) for step in range(11)]

    assert rates == pytest.approx([0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125, 0.0])


def test_without_warm_up_it_starts_at_the_peak() -> None:
    assert learning_rate_at(0, total=4, peak=2.0, warmup_fraction=0.0) == 2.0


def test_biases_and_norms_are_not_decayed_and_frozen_weights_not_touched() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3), nn.Linear(3, 2))
    model[2].weight.requires_grad_(False)

    groups = adamw(model, learning_rate=0.1, weight_decay=0.5).param_groups

    assert [(group["weight_decay"], len(group["params"])) for group in groups] == [(0.5, 1), (0.0, 4)]

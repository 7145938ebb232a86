"""The learning rate and the weight decay."""

import pytest
import torch
from torch import nn

from limbeck.training.optimiser import learning_rate_at, optimiser_for


def test_the_rate_rises_to_its_peak_and_falls_to_zero_after_the_last_step() -> None:
    rates = [learning_rate_at(step, total=10, peak=1.0, warmup_fraction=0.2) for step in range(11)]

    assert rates == pytest.approx([0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125, 0.0])


def test_without_warm_up_it_starts_at_the_peak() -> None:
    assert learning_rate_at(0, total=4, peak=2.0, warmup_fraction=0.0) == 2.0


def test_biases_and_norms_are_not_decayed_and_frozen_weights_not_touched() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3), nn.Linear(3, 2))
    model[2].weight.requires_grad_(False)

    groups = optimiser_for(model, learning_rate=0.1, weight_decay=0.5).param_groups

    assert [(group["weight_decay"], len(group["params"])) for group in groups] == [(0.5, 1), (0.0, 4)]


def test_adadelta_makes_the_steps_of_its_formula() -> None:
    """Δ = g · √(E[Δ²] + ε) / √(E[g²] + ε), both means with ρ = 0.9 (Zeiler 2012, algorithm 1)."""
    weight = nn.Parameter(torch.tensor([[1.0]]))
    optimiser = optimiser_for(nn.ParameterList([weight]), learning_rate=1.0, weight_decay=0.0, name="adadelta")
    expected, squares, steps, epsilon = 1.0, 0.0, 0.0, 1e-6

    for _ in range(3):
        weight.grad = torch.tensor([[3.0]])
        optimiser.step()
        squares = 0.9 * squares + 0.1 * 9
        step = 3 * (steps + epsilon) ** 0.5 / (squares + epsilon) ** 0.5
        steps = 0.9 * steps + 0.1 * step**2
        expected -= step

    assert weight.item() == pytest.approx(expected, rel=1e-6)

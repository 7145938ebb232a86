"""Several processes that train one student take the step that a single one would take, with every loss."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from limbeck.kinds import LOSS_KINDS
from limbeck.recipe.calls import ALLOWED
from limbeck.training.processes import run_together
from tests.unit.distillation import gradients

TOLERANCE = 2e-5  # of the largest number of a gradient


def test_gradients_and_losses_of_three_processes_are_those_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ALLOWED, "all")
    gradients.find({"file": str(tmp_path / "alone")})

    job = {"file": str(tmp_path / "together")}
    run_together("tests.unit.distillation.gradients:find", job, processes=3)

    alone, together = load_file(tmp_path / "alone"), load_file(tmp_path / "together")
    assert alone.keys() == together.keys()
    assert {name.partition(",")[0] for name in alone} == set(LOSS_KINDS)
    wrong = [
        f"{name}: off by {float((one - together[name]).abs().max()):.1e}"
        for name, one in alone.items()
        if not torch.allclose(one, together[name], rtol=0, atol=TOLERANCE * max(1.0, float(one.abs().max())))
    ]
    assert wrong == []

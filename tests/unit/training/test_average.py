"""The running mean of the weights: its values, its place in the model, and that a group of processes keeps the same."""

import os
from importlib import import_module
from pathlib import Path

import pytest
import torch
from torch import nn

from limbeck.training.checkpoints import best_of
from limbeck.training.optimiser import MeanWithStart, RunningMean
from limbeck.training.processes import run_together

LEARNING = """
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from limbeck.progress import SilentReporter
from limbeck.training.loop import train

INPUTS = torch.randn(64, 5, generator=torch.Generator().manual_seed(1))
LABELS = (INPUTS[:, 0] > 0).long()
SETTINGS = {"patience": None, "accumulation_steps": 1, "warmup_fraction": 0.0, "weight_decay": 0.0, "clip_norm": 9.0}


def learn(job):
    torch.manual_seed(0)
    train(
        nn.Linear(5, 2),
        SimpleNamespace(**SETTINGS, epochs=2, learning_rate=0.1),
        arithmetic="fp32",
        batches=lambda epoch: list(np.arange(64).reshape(8, 8)),
        losses=lambda model, rows, _done: {"hard_labels": F.cross_entropy(model(INPUTS[rows]), LABELS[rows])},
        validate=lambda _: {"dev_accuracy": 0.5, "dev_loss": 1.0},
        work_folder=Path(job["work"]),
        reporter=SilentReporter(),
        what="training",
        keep="last",
        average=job["average"],
    )
"""


def one_weight(value: float) -> nn.Linear:
    model = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        model.weight.fill_(value)
    return model


def after(model: nn.Linear, mean: RunningMean, *values: float) -> list[float]:
    """The mean after each step of a training that gives the weight these values."""
    found = []
    for step, value in enumerate(values):
        with torch.no_grad():
            model.weight.fill_(value)
        mean.add(step)
        found.append(float(mean.values["weight"]))
    return found


def test_the_mean_is_the_one_worked_by_hand() -> None:
    model = one_weight(1.0)
    mean = RunningMean(model, decay=0.15)

    found = after(model, mean, 2.0, 4.0, 8.0)

    # Step 0 keeps 1/10 of 1: 0.1 + 1.8; step 1 would keep 2/11 and is held at 0.15: 0.285 + 3.4; step 2 likewise.
    assert found == pytest.approx([1.9, 3.685, 0.15 * 3.685 + 0.85 * 8.0])


def test_the_first_steps_keep_less_than_the_decay_says() -> None:
    model = one_weight(1.0)
    mean = RunningMean(model, decay=0.999)

    found = after(model, mean, 2.0, 4.0)

    assert found == pytest.approx([1.9, (2 * 1.9 + 9 * 4.0) / 11])


def test_the_model_has_the_mean_inside_and_its_own_weights_afterwards() -> None:
    model = one_weight(1.0)
    mean = RunningMean(model, decay=0.5)
    after(model, mean, 0.1 + 0.2)  # a number that adding and taking away would not bring back
    place, own, of_mean = model.weight.data_ptr(), model.weight.item(), float(mean.values["weight"])

    with mean.in_model():
        inside = (model.weight.item(), model.weight.data_ptr())

    assert inside == (of_mean, place)
    assert (model.weight.item(), float(mean.values["weight"])) == (own, of_mean)


def test_a_judgement_that_fails_leaves_the_weights_as_they_were() -> None:
    model = one_weight(1.0)
    mean = RunningMean(model, decay=0.5)
    after(model, mean, 3.0)

    with pytest.raises(KeyError):
        _fail_inside(mean)

    assert model.weight.item() == 3.0


def _fail_inside(mean: RunningMean) -> None:
    with mean.in_model():
        raise KeyError


def test_only_weights_that_are_trained_have_a_mean() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    model[0].requires_grad_(False)

    assert set(RunningMean(model, decay=0.9).values) == {"1.weight", "1.bias"}
    assert RunningMean(model, decay=None).values == {}


def test_two_processes_keep_the_mean_that_one_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "group_learning.py").write_text(LEARNING, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    works = {name: tmp_path / name for name in ("alone", "together", "without")}
    for work in works.values():
        work.mkdir()
    learn = import_module("group_learning").learn

    learn({"work": str(works["alone"]), "average": 0.8})
    learn({"work": str(works["without"]), "average": None})
    run_together("group_learning:learn", {"work": str(works["together"]), "average": 0.8}, processes=2)

    alone, together, without = (best_of(work)["weight"] for work in works.values())
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0.0)
    assert float((without - alone).abs().max()) > 1e-2  # the bound above means something


def test_a_mean_with_the_start_is_in_the_model_only_inside() -> None:
    model = nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(2.0)
    mean = MeanWithStart(model, share=0.25)
    model.weight.data.fill_(6.0)

    with mean.in_model():
        inside = model.weight.item()

    assert inside == pytest.approx(0.25 * 2.0 + 0.75 * 6.0)
    assert model.weight.item() == 6.0
    assert mean.values["weight"].item() == 2.0

"""Groups of processes of any size end with the weights of one, also if another group began the training."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from limbeck.training.checkpoints import best_of
from limbeck.training.loop import NotShared
from limbeck.training.processes import run_together

LEARNING = """
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from limbeck.progress import SilentReporter
from limbeck.training import loop
from limbeck.training.loop import train

INPUTS = torch.randn(67, 5, generator=torch.Generator().manual_seed(1))
LABELS = (INPUTS[:, 0] > 0).long()
SIZES = (7, 1, 16, 5, 2, 13, 23)  # of batches: no number of processes shares them evenly, and some get no row at all
SETTINGS = {"patience": None, "accumulation_steps": 2, "warmup_fraction": 0.2, "weight_decay": 0.01, "clip_norm": 1.0}


def learn(job):
    torch.manual_seed(0)
    loop.SECONDS_BETWEEN_CHECKPOINTS = 0.0
    epochs = []

    def validate(_):
        if len(epochs) == job.get("stops_after"):
            raise RuntimeError("stopped")
        epochs.append(1)
        return {"dev_accuracy": 0.5, "dev_loss": 1.0}

    train(
        nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2)),
        SimpleNamespace(**SETTINGS, epochs=4, learning_rate=0.05),
        arithmetic="fp32",
        batches=lambda epoch: np.split(np.random.default_rng(epoch).permutation(67), np.cumsum(SIZES)[:-1]),
        losses=lambda model, rows, _done: {"hard_labels": F.cross_entropy(model(INPUTS[rows]), LABELS[rows])},
        validate=validate,
        work_folder=Path(job.get("elsewhere", job["work"]) if os.environ.get("RANK") == "1" else job["work"]),
        reporter=SilentReporter(),
        what="training",
        keep="last",
    )
"""


@pytest.fixture
def learning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "uneven_learning.py").write_text(LEARNING, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    return import_module("uneven_learning")


def test_two_processes_that_three_continue_end_as_one(learning: Any, tmp_path: Path) -> None:
    works = {name: tmp_path / name for name in ("alone", "resumed")}
    for work in works.values():
        work.mkdir()
    together = "uneven_learning:learn"

    learning.learn({"work": str(works["alone"])})
    with pytest.raises(RuntimeError, match="status"):
        run_together(together, {"work": str(works["resumed"]), "stops_after": 2}, processes=2)
    run_together(together, {"work": str(works["resumed"])}, processes=3)

    with pytest.raises(NotShared, match="process 2 does not see the checkpoint"):
        run_together(together, {"work": str(works["alone"]), "elsewhere": str(tmp_path)}, processes=2)
    ends = {name: best_of(work) for name, work in works.items()}
    for weight, tensor in ends["alone"].items():
        torch.testing.assert_close(ends["resumed"][weight], tensor, atol=2e-5, rtol=0.0)

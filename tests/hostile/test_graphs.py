"""Whatever a graph says, the native engine computes that, or leaves the graph to onnxruntime."""

import os
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import limbeck
from limbeck.artifacts.model_folder import GRAPH
from tests.hostile.campaigns import graph_trials
from tests.hostile.campaigns.graph_changes import changed
from tests.hostile.campaigns.graph_models import make_models
from tests.hostile.campaigns.graph_trials import BY_ONNXRUNTIME, EQUAL, is_near
from tests.hostile.campaigns.graphs import graphs

COUNT = int(os.environ.get("LIMBECK_HOSTILE_GRAPHS", "400"))  # `make hostile` tries more


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    pytest.importorskip("limbeck.runtime._native")
    return make_models(tmp_path_factory.mktemp("models"))


@pytest.mark.usefixtures("models")
def test_changed_graphs_are_refused_or_run_as_they_say() -> None:
    campaign = graphs(COUNT)

    assert campaign.findings == ()
    assert campaign.tried == campaign.clean == sum(campaign.detail.values()) == COUNT
    assert min(campaign.detail.values()) > COUNT // 10, "each outcome is worth trying"


def test_what_the_campaign_changes_is_run_natively_before(models: list[Path]) -> None:
    engines = {folder.name: limbeck.load(folder).engine for folder in models}

    assert {name for name, engine in engines.items() if not engine.startswith("native")} == set()
    assert {graph_trials.outcome(folder) for folder in models} == {EQUAL}


def test_the_same_seed_changes_the_same(models: list[Path]) -> None:
    data = (models[0] / GRAPH).read_bytes()

    changes = [[changed(data, random.Random(f"0 {number}")) for number in range(20)] for _ in range(2)]

    assert changes[0] == changes[1]
    assert len({what for _, what in changes[0]}) > 15


@pytest.mark.parametrize(("engine", "found"), [("native avx2", "[2. 2.] natively, not [1. 1.]"), ("onnxruntime", None)])
def test_another_answer_of_the_native_engine_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, engine: str, found: str | None
) -> None:
    def loaded(folder: Path, *, threads: int, engine_: str = engine, **asked: Any) -> Any:
        del folder, threads
        name = "onnxruntime" if asked else engine_
        answer = np.full((len(graph_trials.TEXTS), 2), 1.0 if asked else 2.0)
        facts = SimpleNamespace(pair=False, precision="fp32")
        return SimpleNamespace(engine=name, facts=facts, logits=lambda rows: answer[: len(rows)])

    monkeypatch.setattr(limbeck, "load", loaded)

    assert graph_trials.outcome(Path("model")) == (found or BY_ONNXRUNTIME)


@pytest.mark.parametrize(
    ("found", "right", "precision", "near"),
    [
        ([1.0, 2.0], [1.0, 2.00001], "fp32", True),
        ([1.0, 2.0], [1.0, 2.001], "fp32", False),
        ([1.0, 2.0], [1.05, 2.0], "int8", True),
        ([1.0, 2.0], [1.2, 2.0], "int8", False),
        ([1.0, np.nan], [1.0, np.nan], "fp32", True),
        ([np.nan, 2.0], [1.0, 2.0], "fp32", False),
        ([1.0, 2.0], [np.inf, 2.0], "fp32", False),
    ],
)
def test_what_counts_as_the_same(found: list[float], right: list[float], precision: str, near: bool) -> None:
    assert is_near(np.array([found]), np.array([right]), precision=precision) == near

"""`limbeck doctor` on a real run, sound and damaged; and in clumsy hands: no such recipe, no such run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Command = Callable[..., Any]


def test_a_healthy_run_is_called_fine(toy: Any, limbeck: Command) -> None:
    """Of a gain on 20 rows it says that it may be noise; of this run, that is the truth."""
    answer = limbeck("doctor", toy.run, "--json")

    shown = json.loads(answer.out)
    serious = [finding for finding in shown["findings"] if finding["level"] != "note" and finding["check"] != "noise"]
    assert answer.code == 0
    assert serious == []
    assert shown["not_checked"] == {
        "abstaining": "the recipe has no [export.abstain]",
        "copies": "the recipe has no [augmentation]",
    }


def test_a_sound_recipe_passes_before_its_run(toy: Any, limbeck: Command) -> None:
    answer = limbeck("doctor", toy.recipe)

    assert answer.code == 0, answer
    assert "✗" not in answer.out
    assert "it needs a run" in answer.out


def test_a_changed_model_ends_with_status_1(toy: Any, limbeck: Command) -> None:
    graph = toy.run / "models" / "bilstm-int8" / "model.onnx"
    graph.write_bytes(graph.read_bytes()[:-1])

    answer = limbeck("doctor", toy.run, "--no-ask")

    assert answer.code == 1
    assert "models/bilstm-int8 does not match its manifest" in answer.out


def test_a_run_that_is_not_one_is_called_so(tmp_path: Path, limbeck: Command) -> None:
    assert limbeck("doctor", "runs/nowhere").refused_with("'runs/nowhere' is not a run", "runs/NAME")
    assert limbeck("doctor", tmp_path).refused_with(f"'{tmp_path}' is not a run: it has no run.json")


def test_a_recipe_that_is_not_one_is_called_so(tmp_path: Path, limbeck: Command) -> None:
    assert limbeck("doctor", "sst2-smal").refused_with("no recipe 'sst2-smal' (did you mean 'sst2-small'?)")
    assert limbeck("doctor", tmp_path / "nowhere.toml").refused_with("no recipe", "limbeck recipes")


def test_a_recipe_whose_rows_cannot_be_read_is_refused_as_its_run_would_be(toy: Any, limbeck: Command) -> None:
    (toy.folder / "data" / "toy.csv").write_text("text,label\n", encoding="utf-8")

    answer = limbeck("doctor", toy.recipe)

    assert answer.refused_with("toy.csv")

"""The arena's results become one file, and its page names where a rival was better."""

import json
import shutil
from base64 import b64encode
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = 40
OURS = ("cpu", "gpu")


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts of benchmarks/, which are no part of the package."""
    monkeypatch.syspath_prepend(str(ROOT))


def script(name: str) -> Any:
    return import_module(f"benchmarks.{name}")


def entry(model: str, right: int, *, seed: int = 0, microseconds: float | None = 50.0, **more: Any) -> dict[str, Any]:
    """Right on the first so many test rows."""
    bits = np.packbits(np.arange(ROWS) < right)
    return {
        "model": model,
        "name": "toy",
        "cut": "300",
        "seed": seed,
        "train_rows": 300,
        "test_rows": ROWS,
        "accuracy": right / ROWS,
        "macro_f1": right / ROWS,
        "microseconds": microseconds,
        "megabytes": 1.0,
        "minutes": 1.0,
        "right": b64encode(bits.tobytes()).decode(),
        "machine": {"cpu": "a", "cores": 2},
        **({"best": "bilstm-int8", "teacher": 0.9} if model in OURS else {}),
        **more,
    }


@pytest.fixture
def collected(tmp_path: Path) -> Any:
    """collected(*entries): the file that the results become."""

    def write(*entries: dict[str, Any]) -> Any:
        for one in entries:
            file = script("arena").Task(one["model"], one["name"], one["cut"], one["seed"]).file(tmp_path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(one), encoding="utf-8")
        script("arena").collect(tmp_path / "results", out=tmp_path / "arena.json")
        return json.loads((tmp_path / "arena.json").read_text(encoding="utf-8"))

    return write


def test_answers_row_by_row_become_a_test_against_ours(collected: Any) -> None:
    ours, rival = entry("cpu", 20), entry("tfidf", 36)

    found = collected(ours, rival)

    assert script("arena").right_of(rival).sum() == 36
    of_rival = next(one for one in found["results"] if one["model"] == "tfidf")
    assert of_rival["mcnemar_p"]["cpu"] == pytest.approx(2 * 0.5**16)  # 16 rows, all for the rival
    assert all(one["machine"] == 0 for one in found["results"])


def test_results_of_an_earlier_collection_stay_until_they_are_measured_again(collected: Any, tmp_path: Path) -> None:
    collected(entry("cpu", 20), entry("tfidf", 36, machine={"cpu": "b", "cores": 2}))
    shutil.rmtree(tmp_path / "results")

    found = collected(entry("cpu", 30), entry("cpu", 10, seed=1))

    rights = {(one["model"], one["seed"]): round(one["accuracy"] * ROWS) for one in found["results"]}
    assert rights == {("cpu", 0): 30, ("cpu", 1): 10, ("tfidf", 0): 36}
    of_rival = next(one for one in found["results"] if one["model"] == "tfidf")
    assert found["machines"][of_rival["machine"]]["cpu"] == "b"
    assert of_rival["mcnemar_p"]["cpu"] == pytest.approx(2 * 0.5**6)  # against the newer answers


def test_only_runs_that_had_their_machine_alone_have_minutes(collected: Any) -> None:
    found = collected(
        entry("cpu", 30, minutes=9.0, workers=15),
        entry("cpu", 30, minutes=7.0, seed=1, trained_on="GPU"),
        entry("cpu", 30, minutes=5.0, seed=2, continued=True),
        entry("cpu", 30, minutes=3.0, seed=3, trained_on="CPU", workers=1),
    )

    assert script("arena_page")._means(found["results"], ["300"]).strip().endswith("| 3.0 |")


def test_runs_with_changed_keys_are_not_collected_as_plain_ones(collected: Any) -> None:
    with pytest.raises(SystemExit, match="Runs with --set"):
        collected(entry("cpu", 20, changed=["teacher.epochs=9"]))


def test_a_rival_that_is_better_beyond_chance_is_named_and_a_slow_one_is_not(collected: Any) -> None:
    found = collected(entry("cpu", 20), entry("tfidf", 36), entry("frozen encoder", 38, microseconds=9_000.0))

    lost = script("arena_page").lost(found["results"])

    assert "tfidf 90.0, Limbeck, draft without a GPU 50.0" in lost
    assert "frozen encoder" not in lost
    assert script("arena_page").lost(collected(entry("cpu", 35))["results"]).endswith("none.")


def test_the_page_compares_the_cases_that_all_models_have(
    collected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page_of = script("arena_page")
    monkeypatch.setattr(page_of, "PAGE", tmp_path / "arena.md")
    monkeypatch.setattr(page_of, "PICTURE", tmp_path / "arena.svg")

    unpaired = entry("tfidf", 40, seed=2)
    page_of.write_page(collected(entry("cpu", 30), entry("cpu", 10, seed=1), entry("tfidf", 20), unpaired))

    page = (tmp_path / "arena.md").read_text(encoding="utf-8")
    assert "| 300 rows | 1 | Limbeck, draft without a GPU | 75.0 |" in page  # not seed 1, which tfidf lacks
    assert "| toy | 300 | 2 | bilstm-int8 | 50.0 | 50.0 | 90.0 |" in page  # without seed 2, which only tfidf has
    assert (tmp_path / "arena.svg").is_file()


def test_the_page_in_the_docs_is_the_one_that_the_committed_numbers_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page_of = script("arena_page")
    committed = page_of.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(page_of, "PAGE", tmp_path / "arena.md")
    monkeypatch.setattr(page_of, "PICTURE", tmp_path / "arena.svg")

    page_of.write_page(json.loads(script("arena").RESULTS.read_text(encoding="utf-8")))

    assert (tmp_path / "arena.md").read_text(encoding="utf-8") == committed, "run benchmarks/arena.py --write-page"

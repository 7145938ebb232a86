"""The table of docs/cascade.md is made of the committed results."""

import json
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_has_the_committed_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    found = json.loads((ROOT / "benchmarks" / "results" / "cascade.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "cascade.md").read_text(encoding="utf-8")

    table = import_module("benchmarks.cascade").table(found)

    assert f"<!-- cascade -->\n{table}\n<!-- /cascade -->" in page
    assert found["largest_difference"] < 0.01

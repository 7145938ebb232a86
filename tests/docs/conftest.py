"""The scripts of benchmarks/ are no part of the package: tests of the docs find them by this."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _benchmarks_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))

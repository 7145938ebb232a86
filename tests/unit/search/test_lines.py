"""What a search prints where there is no terminal: a plain line when a trial begins, and one when it ends."""

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from limbeck.progress import TerminalReporter
from limbeck.search import run as search_run
from limbeck.search.choice import CostLimits, Trial
from limbeck.search.run import Search
from limbeck.search.study import Proposal

UNASKED: Any = None


def test_a_piped_search_has_a_line_at_the_start_and_at_the_end_of_each_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposals = [
        Proposal(UNASKED, "recipe", "trial-0000", "bag", []),
        Proposal(UNASKED, "x", "trial-0001", "bag", ["a=1"]),
    ]
    log, before = io.StringIO(), list[str]()
    study: Any = SimpleNamespace(propose=lambda: proposals.pop(0), keep=lambda *_: None)

    def tried(proposal: Proposal, **_: Any) -> Trial:
        before.append(log.getvalue().splitlines()[-1])
        numbers: Any = {"dev_score": 0.9, "us": 8.0, "mb": 1.5}
        names: Any = {"folder": proposal.folder, "origin": proposal.origin, "kind": proposal.kind, "overrides": []}
        return Trial(**names, **numbers, state="finished", seconds=29.4)

    monkeypatch.setattr(search_run, "tried", tried)
    monkeypatch.setattr(search_run, "timed_rows", lambda _: [])
    monkeypatch.setattr(search_run, "Corpus", lambda _: None)
    monkeypatch.setattr(search_run, "_write", lambda _: None)
    reporter = TerminalReporter(Console(file=log, width=80))

    search_run._try_students(
        Search("toy.toml", tmp_path, CostLimits(), []), study, most=2, ends=None, reporter=reporter
    )

    lines = log.getvalue().splitlines()
    assert before == ["▸ search/trial-0000  1/2: the recipe's own bag", "▸ search/trial-0001  2/2: a=1"]
    assert [line for line in lines if line.startswith("▸")] == before
    assert lines[1].startswith("  1/2: bag dev accuracy 90.00 %, 8.00 µs, 1.50 MB, in 29 s; best so far: bag")
    assert len(lines) == 4
    assert "\x1b" not in log.getvalue()

"""Model folders that somebody has changed and signed again."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.hostile.campaigns.campaign import Campaign
from tests.hostile.campaigns.toy_models import framed_model, word_model

MUTATIONS = Path(__file__).resolve().parents[1] / "mutated_models.py"
GOOD = ("refused", "answers")
Outcome = tuple[int, str, str]  # its number, what was changed, the outcome


def folders(count: int, *, seed: int = 0) -> Campaign:
    """A model of words and a transformer: a value, a key or bytes of one file are changed, and the manifest is written
    again to fit. Each such folder must be refused with a `LimbeckError`, or load and answer; `count` of each kind."""
    findings: list[str] = []
    detail: Counter[str] = Counter()
    for kind, model in {"words": word_model(), "framed": framed_model()}.items():
        for number, what, outcome in outcomes_of(model, count, seed=seed):
            detail[f"{kind}, {outcome if outcome in GOOD else 'neither'}"] += 1
            if outcome not in GOOD:
                findings.append(f"{kind} {seed} {number}, {what}: {outcome}")
    return Campaign("folders", 2 * count, 2 * count - len(findings), tuple(findings), dict(detail))


def outcomes_of(model: Path, count: int, *, seed: int) -> list[Outcome]:
    """In processes of their own: one that dies is a finding, and the next one goes on behind it."""
    found: list[Outcome] = []
    while len(found) < count:
        command = [sys.executable, str(MUTATIONS), str(model), str(count), str(seed), str(len(found))]
        done = subprocess.run(command, capture_output=True, errors="replace", env={**os.environ}, check=False)
        lines = done.stdout.splitlines()
        found += [(number, what, outcome) for number, what, outcome in map(json.loads, lines[: _whole(lines)])]
        if len(found) < count:
            what = lines[-1] if lines and _whole(lines) < len(lines) else "before the first"
            found.append((len(found), what, f"the process died with {done.returncode}: {done.stderr[-2000:]}"))
    return found


def _whole(lines: list[str]) -> int:
    """How many lines are complete: the last one may have ended with its process."""
    return len(lines) if not lines or lines[-1].endswith("]") else len(lines) - 1

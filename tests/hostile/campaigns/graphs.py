"""Graphs that somebody has changed and signed again: the native engine computes what they say, or leaves them."""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.hostile.campaigns.campaign import Campaign
from tests.hostile.campaigns.graph_models import make_models
from tests.hostile.campaigns.graph_trials import CLEAN

ROOT = Path(__file__).resolve().parents[3]
TRIALS = "from tests.hostile.campaigns.graph_trials import main; main()"
MOST_DEATHS = 20  # of processes: a new one goes on after the graph that ended the last


def graphs(count: int, *, seed: int = 0) -> Campaign:
    """Try so many graphs. The same seed changes the same things."""
    outcomes: Counter[str] = Counter()
    findings: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        make_models(Path(folder))
        for number, what, outcome in _outcomes(Path(folder), count, seed=seed):
            outcomes[outcome if outcome in CLEAN else "finding"] += 1
            if outcome not in CLEAN:
                findings.append(f"graph {number}, {what}: {outcome}")
    tried, wrong = sum(outcomes.values()), outcomes.pop("finding", 0)
    return Campaign("graphs", tried, tried - wrong, tuple(findings), {name: outcomes[name] for name in CLEAN})


def _outcomes(folder: Path, count: int, *, seed: int) -> Iterator[tuple[int, str, str]]:
    """Number, change and outcome of each graph. They are tried in another process, which a graph may end."""
    first, deaths = 0, 0
    while first < count and deaths < MOST_DEATHS:
        found = subprocess.run(
            [sys.executable, "-c", TRIALS, str(folder), str(first), str(count), str(seed)],
            capture_output=True,
            errors="replace",
            check=False,
            cwd=ROOT,
        )
        for line in found.stdout.splitlines():
            try:
                number, what, outcome = json.loads(line)
            except ValueError:  # the last line has no end
                number, what = json.loads(f"{line.removesuffix(', ')}]")
                outcome = f"the process ended with {found.returncode}: {found.stderr[-300:]}"
            first = number + 1
            yield number, what, outcome
        if first < count:
            deaths += 1
            if not found.stdout:
                raise RuntimeError(f"no graph could be tried: {found.stderr[-2000:]}")

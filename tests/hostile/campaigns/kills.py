"""Runs that are killed again and again."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from tests.flow.run_contents import fingerprints, numbers
from tests.hostile.campaigns.campaign import Campaign
from tests.hostile.campaigns.toy_models import scratch_folder, toy_recipe

ROOT = Path(__file__).resolve().parents[3]
KILLS_A_RUN = (3, 4, 5)
PATIENCE = 120  # seconds for one process beyond ten times what a whole run takes


def kills(count: int, *, seed: int = 0) -> Campaign:
    """`limbeck run` of a toy recipe is killed with SIGKILL at random moments, three to five times a run, and continued
    until it ends. Every file of corpus, labels, students, exports and models, and every number of the report, must be
    those of a run that was never killed."""
    chance = random.Random(seed)
    reference, seconds = undisturbed()
    findings: list[str] = []
    detail: Counter[str] = Counter()
    done = clean = 0
    while done < count:
        wanted = min(chance.choice(KILLS_A_RUN), count - done)
        out = scratch_folder() / f"killed-{seed}-{detail['runs']}" / "toy"
        dice = f"{seed} {detail['runs']}"
        found = run_of(out, kills=wanted, seed=dice, seconds=seconds)
        here = len(found["killed_in"])
        wrong = faults_of(out, found, reference)
        findings += [f"seed {dice!r}, killed {', '.join(found['killed_in'])}: {fault}" for fault in wrong]
        detail.update(["runs", *found["killed_in"]])
        done += here
        clean += 0 if wrong else here
        shutil.rmtree(out.parent)
    return Campaign("kills", done, clean, tuple(findings), dict(detail))


def run_of(out: Path, *, kills: int, seed: str, seconds: float) -> dict[str, Any]:
    """What happened to one run; see killed_runs.py."""
    limit = 10 * seconds + PATIENCE
    order = {"recipe": str(toy_recipe()), "out": str(out), "kills": kills, "seed": seed, "seconds": seconds}
    command = [sys.executable, "-m", "tests.hostile.campaigns.killed_runs", json.dumps({**order, "limit": limit})]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"killed_runs.py itself failed: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return {**found, "stderr": done.stderr}


@cache
def undisturbed() -> tuple[dict[str, Any], float]:
    """The contents of a run that was never killed, and the seconds that it took."""
    out = scratch_folder() / "undisturbed" / "toy"
    found = run_of(out, kills=0, seed="", seconds=60.0)
    if found["status"] != 0:
        raise RuntimeError(f"the run failed without being killed: {found['stderr'][-2000:]}")
    return contents_of(out), found["seconds"]


def contents_of(run: Path) -> dict[str, Any]:
    """Hashes and numbers that must not depend on kills."""
    return {"files": fingerprints(run), "numbers": numbers(run)}


def faults_of(run: Path, found: dict[str, Any], reference: dict[str, Any]) -> list[str]:
    """What differs from a run that was never killed, in words."""
    if found["status"] != 0:
        return [f"it ended with {found['status']}: {found['stderr'][-2000:]}"]
    contents = contents_of(run)
    names = {*contents["files"], *reference["files"]}
    faults = [
        f"{name} differs" for name in sorted(names) if contents["files"].get(name) != reference["files"].get(name)
    ]
    faults += ["numbers of the report differ"] if contents["numbers"] != reference["numbers"] else []
    return faults + [f"{path.name} was left" for path in run.rglob("*.partial")]

"""Runs a package's own check in Node."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SECONDS, OLDEST = 600, 20  # of a run; major version
CHECK = "check.mjs"
FAST_START = "--liftoff-only"  # of V8: most of its time would be spent on making the WebAssembly faster


@dataclass(frozen=True)
class NodeCheck:
    """What `node check.mjs` found."""

    rows: int
    other_tokens: int
    other_labels: int
    largest_difference: float
    conforms: bool
    failure: str = ""  # what Node wrote if the check did not end

    @property
    def sentence(self) -> str:
        """In words."""
        if self.failure:
            return self.failure
        return (
            f"{self.rows:,} rows: {self.other_tokens:,} with other tokens, {self.other_labels:,} with another label; "
            f"logits differ by at most {self.largest_difference:.2g}"
        )


def node() -> str | None:
    """The command of Node, if it is here and new enough for the module."""
    found = shutil.which("node")
    if found is None:
        return None
    done = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=SECONDS, check=False)
    version = re.match(r"v(\d+)\.", done.stdout)
    return found if version and int(version[1]) >= OLDEST else None


def check_in_node(package: Path) -> NodeCheck:
    """A package against its vectors."""
    command = [str(node()), FAST_START, CHECK]
    try:
        done = subprocess.run(command, cwd=package, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return NodeCheck(0, 0, 0, 0.0, conforms=False, failure=f"Node was not done after {SECONDS} s")
    try:
        found = json.loads(done.stdout)
    except ValueError:
        lines = [line for line in done.stderr.splitlines() if "Error" in line] or done.stderr.splitlines()
        return NodeCheck(0, 0, 0, 0.0, conforms=False, failure="\n".join(lines[:3]) or "Node wrote nothing")
    return NodeCheck(
        rows=found["rows"],
        other_tokens=found["otherTokens"],
        other_labels=found["otherLabels"],
        largest_difference=found["largestDifference"],
        conforms=found["conforms"],
    )

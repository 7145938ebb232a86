"""The driver of test_nodes.py: predicts and labels on the cluster at an address, slowly enough to lose nodes meanwhile.

python -m tests.unit.cluster.on_nodes ADDRESS FOLDER
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.cluster import predict
from limbeck.cluster.asking import RayRunner
from limbeck.cluster.pieces import InputForm
from limbeck.cluster.workers import Resources, connected
from limbeck.labeling.run import label
from limbeck.labeling.source import TeacherSource
from limbeck.progress import SilentReporter
from limbeck.recipe.labeling import Labeling
from limbeck.runtime.classifier import load

SECONDS = 0.3  # of a piece of work
TEXTS = [f"{'word ' * (number % 7)}{number % 150}" for number in range(200)]
RESOURCES = Resources(workers=3)


class SlowWorker(predict.PredictingWorker):
    """One that takes its time."""

    def work(self, piece: Any) -> Any:
        """As the others do."""
        time.sleep(SECONDS)
        return super().work(piece)


class Lengths:
    """A teacher that answers with the length of a text."""

    def logits(self, texts: Sequence[str], pairs: Sequence[str] | None, **options: Any) -> Any:
        """(texts, 2)"""
        del pairs, options
        return np.array([[len(text), -len(text)] for text in texts], dtype=np.float32)


class SlowLengths(Lengths):
    """The same on a worker: takes its time, and notes what it is asked."""

    def __init__(self, notes: Path) -> None:
        self._notes = notes / f"{os.uname().nodename}-{os.getpid()}"

    def logits(self, texts: Sequence[str], pairs: Sequence[str] | None, **options: Any) -> Any:
        """(texts, 2)"""
        time.sleep(SECONDS)
        with self._notes.open("a", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in texts)
        return super().logits(texts, pairs, **options)


@dataclass(frozen=True)
class InFolder:
    """The teacher as it travels."""

    place: Path
    notes: Path

    def opened_in(self, folder: Path) -> Lengths:
        """It has no files that matter."""
        del folder
        return SlowLengths(self.notes)


def labelled(folder: Path, runner: Any, teacher: Any, *, store: Any = None) -> Any:
    """The labels of the texts, by a runner or here."""
    (folder / "teacher").mkdir(parents=True, exist_ok=True)
    name = "there" if runner else "here"
    return label(
        Labeling(rows_per_shard=8),
        rows={"transfer": Rows.of(ids=[f"row-{number}" for number in range(len(TEXTS))], texts=TEXTS)},
        classes=2,
        multi_label=False,
        sources=[TeacherSource("t", "t", lambda: teacher, portable=InFolder(folder / "teacher", folder / "asked"))],
        combine="mean_logits",
        uncovered="stop",
        fingerprint="t",
        store=store or folder / f"store-{name}",
        out=folder / f"labels-{name}",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
        runner=runner,
    )


def main(address: str, folder: Path) -> None:
    """Predict all files, then label; the numbers are the last line."""
    predict.PredictingWorker = SlowWorker  # type: ignore[misc]
    with connected(address) as ray:
        nodes = len(ray.nodes())
        files = [str(folder / "rows")]
        model = load(folder / "model", threads=1)
        found = predict.predict_files(
            model, files, folder / "there", reading=InputForm(), runner="ray", resources=RESOURCES
        )
        labelled(folder, RayRunner(ray, RESOURCES), None)
    print(json.dumps({"rows": found.rows, "pieces": found.pieces, "lost": found.workers_lost, "nodes": nodes}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

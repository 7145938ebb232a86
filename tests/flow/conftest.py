"""A toy recipe that goes the whole road in seconds."""

import csv
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

RECIPE = """
[corpus]
train = "{data}/toy.csv"
test_fraction = 0.1

[transfer]
files = ["{data}/unlabelled.txt"]

[teacher]
checkpoint = "{teacher}"
epochs = 12
batch_size = 16
learning_rate = 1e-3
precision = "fp32"

[labeling]
rows_per_shard = 100

[student]
hidden_size = 8
dense_size = 8
embedding_size = 12
dropout = 0.1

[distillation]
epochs = 6
batch_size = 16
learning_rate = 1e-2

[evaluation]
latency_rows = 10
latency_rounds = 1
throughput_rows = 16
throughput_batches = []
teacher_int8 = false
"""

WriteRecipe = Callable[[Path], Path]


@pytest.fixture(scope="session")
def write_recipe(tiny_teacher_folder: Path, toy_rows: tuple[tuple[str, str], ...]) -> WriteRecipe:
    """Write toy rows, unlabelled text and a recipe for them into a folder; returns the recipe's path."""

    def write(folder: Path) -> Path:
        return written_toy_recipe(folder, teacher=tiny_teacher_folder, rows=toy_rows)

    return write


def written_toy_recipe(folder: Path, *, teacher: Path, rows: tuple[tuple[str, str], ...]) -> Path:
    """As write_recipe does, also for whoever has no fixtures."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "toy.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    shuffled = [" ".join(random.Random(text).sample(text.split(), k=len(text.split()))) for text, _ in rows]
    originals = [text for text, _ in rows]  # those of dev and test must be kept out
    (folder / "unlabelled.txt").write_text("\n".join([*shuffled, *originals]), encoding="utf-8")
    recipe = folder / "toy.toml"
    recipe.write_text(RECIPE.format(data=folder, teacher=teacher), encoding="utf-8")
    return recipe


@pytest.fixture(scope="session", autouse=True)
def quick_clock() -> Iterator[None]:
    """Nothing is timed: the processes that do it take seconds to start.

    A recipe that asks for batches, as in a test about times, gets the real clock.
    """
    from limbeck.timing import costs
    from limbeck.timing.protocol import Case, TimedModel, Timing

    time_for_report = costs.time_for_report

    def made_up(section: Any, *, subjects: list[Any], **options: Any) -> list[TimedModel]:
        if section.throughput_batches:
            return time_for_report(section, subjects=subjects, **options)
        timing = Timing(samples_ms=[1.0], rates=[1000.0])
        cases = {Case(1, 1): timing, Case(1, section.throughput_rows, shrinks=True): timing}
        return [TimedModel("onnxruntime", dict(cases)) for _ in subjects]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "time_for_report", made_up)
        yield

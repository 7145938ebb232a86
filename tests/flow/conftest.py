"""A toy recipe that goes the whole road in seconds."""

import csv
import random
from collections.abc import Callable
from pathlib import Path

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
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "toy.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *toy_rows])
        shuffled = [" ".join(random.Random(text).sample(text.split(), k=len(text.split()))) for text, _ in toy_rows]
        originals = [text for text, _ in toy_rows]  # those of dev and test must be kept out
        (folder / "unlabelled.txt").write_text("\n".join([*shuffled, *originals]), encoding="utf-8")
        recipe = folder / "toy.toml"
        recipe.write_text(RECIPE.format(data=folder, teacher=tiny_teacher_folder), encoding="utf-8")
        return recipe

    return write

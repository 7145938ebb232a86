"""What the checks are given: recipes, corpora read from made-up rows, and parts of runs."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder, save_student_facts
from limbeck.corpus.run import read_corpus
from limbeck.doctor.known import Known
from limbeck.progress import SilentReporter
from limbeck.recipe.corpus import CorpusSection
from limbeck.recipe.recipe import Recipe

Row = tuple[str, str]


@pytest.fixture
def make_known() -> Callable[..., Known]:
    """make_known({"student": {…}}, corpus=…, report=…): what is known, with a recipe of these tables."""

    def make(tables: dict[str, Any] | None = None, **parts: Any) -> Known:
        return Known(Recipe.model_validate({"corpus": {"train": "train.csv"}, **(tables or {})}), parts)

    return make


@pytest.fixture
def make_corpus_of(tmp_path: Path) -> Callable[..., Corpus]:
    """make_corpus_of(train=[(text, label), …], dev=…, test=None, overlap="report"): read as a run reads it."""

    def make(*, train: Sequence[Row], dev: Sequence[Row], test: Sequence[Row] | None = None, **settings: Any) -> Corpus:
        files = {}
        for split, rows in (("train", train), ("dev", dev), ("test", test)):
            if rows is not None:
                files[split] = str(tmp_path / f"{split}.csv")
                with Path(files[split]).open("w", encoding="utf-8", newline="") as file:
                    csv.writer(file).writerows([("text", "label"), *rows])
        section = CorpusSection.model_validate({**files, **settings})
        key, out = Key(section={}, inputs={}), tmp_path / "corpus"
        return read_corpus(section, out=out, key=key, reporter=SilentReporter(), name="made-up")

    return make


@pytest.fixture
def make_student_of(tmp_path: Path) -> Callable[..., StudentFolder]:
    """make_student_of([{"epoch": 1, …}, …], parameters=100): a trained student with this history."""

    def make(history: list[dict[str, Any]], *, parameters: int = 100, seed: int = 0, **more: Any) -> StudentFolder:
        folder = tmp_path / f"student-{seed}"
        folder.mkdir()
        facts = StudentFacts(
            name="bilstm", kind="bilstm", role="student", seed=seed, labels=["bad", "good"], language="en", pair=False,
            max_length=32, parameters=parameters, parameters_without_embeddings=50, best_epoch=len(history),
            dev_accuracy=0.5, **more,
        )  # fmt: skip
        save_student_facts(folder, facts, history=history)
        return StudentFolder(folder)

    return make


@pytest.fixture
def hundred() -> list[Row]:
    """A hundred different rows, half of them of each class."""
    return [(f"text number {number}", "good" if number % 2 else "bad") for number in range(100)]

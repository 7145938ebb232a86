"""What the tests of this room share: a reporter that remembers, a key, and stages called with little ado."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.corpus import read_corpus
from limbeck.progress import Bar
from limbeck.recipe.corpus import Corpus as CorpusSection


class RememberingReporter:
    """Keeps every note and the bars' totals."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.done = 0
        self.total = 0

    def note(self, text: str) -> None:
        self.notes.append(text)

    @contextmanager
    def bar(self, what: str, *, total: int, unit: str) -> Iterator[Bar]:
        del what, unit
        self.total += total
        yield self

    def advance(self, amount: int = 1, *, note: str = "") -> None:
        del note
        self.done += amount


ReadCorpus = Callable[..., Corpus]


@pytest.fixture
def reporter() -> RememberingReporter:
    return RememberingReporter()


@pytest.fixture
def key() -> Key:
    return Key(section={}, inputs={})


@pytest.fixture
def make_corpus(tmp_path: Path, key: Key, reporter: RememberingReporter) -> ReadCorpus:
    """make_corpus(train=[("text", "label")…], dev=[…], **section): the corpus of these rows, through csv-less files."""

    def make(*, train: list[tuple[str, ...]], dev: list[tuple[str, ...]] | None = None, **section: Any) -> Corpus:
        files = {"train": train} | ({} if dev is None else {"dev": dev})
        for split, rows in files.items():
            header = "text\tlabel" if len(rows[0]) == 2 else "text\tpair\tlabel"
            lines = [header, *("\t".join(row) for row in rows)]
            (tmp_path / f"{split}.tsv").write_text("\n".join(lines), encoding="utf-8")
        paths = {split: str(tmp_path / f"{split}.tsv") for split in files}
        pair = "pair" if len(train[0]) == 3 else None
        options = CorpusSection.model_validate({**paths, "pair": pair, **section})
        return read_corpus(options, out=tmp_path / "corpus", key=key, reporter=reporter, name="toy")

    return make

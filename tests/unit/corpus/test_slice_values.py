"""A column that parts the judged rows: its values follow the rows by their ids, through cuts and dropped rows."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.corpus.run import read_corpus
from limbeck.errors import LimbeckError
from limbeck.recipe.corpus import CorpusSection

if TYPE_CHECKING:
    from tests.unit.conftest import RememberingReporter


def corpus_of(folder: Path, reporter: "RememberingReporter", *, header: str, **section: object) -> Corpus:
    """Rows whose third column says who wrote them; every seventh has no label, every fifth no writer."""
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label", header])
        for at in range(70):
            label = "" if at % 7 == 3 else ("good", "bad")[at % 2]
            rows.writerow([f"text number {at}", label, "" if at % 5 == 2 else f" writer  {at % 4} "])
    (folder / "corpus").mkdir(exist_ok=True)
    asked = CorpusSection.model_validate({"train": str(folder / "rows.csv"), "slice": "source", **section})
    return read_corpus(asked, out=folder / "corpus" / "made", key=Key({}, {}), reporter=reporter, name="toy")


def test_values_follow_the_rows_that_are_cut_off(tmp_path: Path, reporter: "RememberingReporter") -> None:
    corpus = corpus_of(tmp_path, reporter, header="source", test_fraction=0.3)

    judged = corpus.splits["test"]
    numbers = [int(text.rpartition(" ")[2]) for text in judged.texts]
    assert corpus.values_of(judged.ids) == ["" if at % 5 == 2 else f"writer {at % 4}" for at in numbers]
    assert not set(corpus.slice_values) - set(judged.ids)


def test_without_a_column_nothing_is_kept(tmp_path: Path, reporter: "RememberingReporter") -> None:
    corpus = corpus_of(tmp_path, reporter, header="source", slice=None)

    assert not (corpus.folder / "slices.json").exists()
    assert set(corpus.values_of(corpus.splits["dev"].ids)) == {""}


def test_a_column_that_is_not_there_is_an_error(tmp_path: Path, reporter: "RememberingReporter") -> None:
    with pytest.raises(LimbeckError, match="source"):
        corpus_of(tmp_path, reporter, header="writer")
    with pytest.raises(ValueError, match="slice"):
        CorpusSection.model_validate({"hub": "imdb", "slice": "source"})

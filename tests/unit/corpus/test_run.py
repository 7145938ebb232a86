"""The stage that reads the corpus."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from limbeck.artifacts.manifest import Key
from limbeck.corpus import read_corpus
from limbeck.errors import FileEmpty, LabelUnknown, OneClassOnly, TooFewRows
from limbeck.recipe.corpus import Corpus as CorpusSection

if TYPE_CHECKING:
    from tests.unit.corpus.conftest import ReadCorpus, RememberingReporter

TRAIN = [(f"text number {number}", "good" if number % 2 else "bad") for number in range(40)]


def test_rows_keep_their_place_in_the_file_as_their_id(make_corpus: "ReadCorpus") -> None:
    corpus = make_corpus(train=TRAIN, dev=[("held out", "good"), ("another", "bad")])

    assert corpus.splits["train"].ids[:2] == ["train-0", "train-1"]
    assert corpus.splits["dev"].ids == ["dev-0", "dev-1"]
    assert corpus.labels == ["bad", "good"]
    assert corpus.splits["dev"].labels.tolist() == [1, 0]
    assert corpus.facts["dev_from"] == "file"


def test_dev_is_cut_off_train_when_there_is_none_and_its_rows_keep_their_ids(
    make_corpus: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    corpus = make_corpus(train=TRAIN, test_fraction=0.2)

    ids = {split: set(rows.ids) for split, rows in corpus.splits.items()}
    assert {split: len(inner) for split, inner in ids.items()} == {"train": 28, "dev": 4, "test": 8}
    assert set.union(*ids.values()) == {f"train-{number}" for number in range(40)}
    assert corpus.facts["dev_from"] == "cut from train, 10 %, seed 0"
    assert corpus.facts["test_from"] == "cut from train, 20 %, seed 0"
    assert "cut from train" in reporter.notes[0]


def test_dev_stays_the_same_when_fewer_training_rows_are_used(make_corpus: "ReadCorpus") -> None:
    whole = make_corpus(train=TRAIN).splits["dev"].ids
    part = make_corpus(train=TRAIN, max_rows=10)

    assert part.splits["dev"].ids == whole
    assert part.facts["rows_per_label"]["train"] == {"bad": 5, "good": 5}


def test_facts_say_what_was_found(make_corpus: "ReadCorpus", tmp_path: Path) -> None:
    train = [("one", "a"), ("ONE", "b"), ("two", "a"), ("two", "a"), ("", "b")]

    corpus = make_corpus(train=train, dev=[("one", "a"), ("O ne", "a"), ("new", "b")])

    facts = json.loads((tmp_path / "corpus" / "corpus.json").read_text(encoding="utf-8"))
    assert facts == corpus.facts
    assert facts["name"] == "toy"
    assert facts["sources"] == {"train": "train.tsv", "dev": "dev.tsv"}
    assert facts["rows"] == {"train": 5, "dev": 3}
    assert facts["rows_per_label"]["train"] == {"a": 3, "b": 2}
    assert (facts["duplicates_in_train"], facts["conflicting_texts_in_train"]) == (2, 1)
    assert facts["empty_texts"] == {"train": 1, "dev": 0}
    assert facts["overlap"] == {
        "mode": "report",
        "splits": {"dev": {"rows": 3, "found": 2, "verbatim": 1}},
        "train_rows_found": 2,
        "train_rows_removed": 0,
    }


def test_overlap_that_is_only_reported_is_a_warning(make_corpus: "ReadCorpus", reporter: "RememberingReporter") -> None:
    corpus = make_corpus(train=TRAIN, dev=[TRAIN[0], TRAIN[1]])

    assert len(corpus.splits["train"]) == 40
    assert any("[yellow]warning[/yellow]" in note and "2 of 2 dev rows" in note for note in reporter.notes)


def test_overlap_is_removed_from_train_and_never_from_dev(
    make_corpus: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    corpus = make_corpus(train=TRAIN, dev=[TRAIN[0], TRAIN[1]], overlap="remove")

    assert "train-0" not in corpus.splits["train"].ids
    assert (len(corpus.splits["train"]), len(corpus.splits["dev"])) == (38, 2)
    assert corpus.facts["overlap"]["train_rows_removed"] == 2
    assert not any("warning" in note for note in reporter.notes)


def test_removal_that_empties_a_class_is_refused(make_corpus: "ReadCorpus") -> None:
    with pytest.raises(TooFewRows):
        make_corpus(train=[("a", "x"), ("b", "y"), ("c", "x")], dev=[("b", "y")], overlap="remove")


def test_pairs_have_a_second_text(make_corpus: "ReadCorpus") -> None:
    rows: list[tuple[str, ...]] = [(f"why {n}", f"how {n}", str(n % 2)) for n in range(10)]

    corpus = make_corpus(train=rows, dev=rows[:2])

    assert corpus.is_pair
    assert corpus.splits["dev"].pairs == ["how 0", "how 1"]


def test_labels_get_the_names_of_the_recipe_and_misfits_are_told(
    make_corpus: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    train: list[tuple[str, ...]] = [(f"text {number}", str(number % 2)) for number in range(20)]

    corpus = make_corpus(train=train, label_names={"1": "good", "0": "bad", "2": "[odd]"})

    assert corpus.labels == ["bad", "good"]
    assert corpus.facts["label_names_unused"] == ["2"]
    assert any("warning" in note and "no training row" in note for note in reporter.notes)


@pytest.mark.parametrize(("language", "found"), [("auto", "zh"), ("en", "en")])
def test_the_language_is_looked_at_unless_it_is_given(make_corpus: "ReadCorpus", language: str, found: str) -> None:
    train: list[tuple[str, ...]] = [(f"这家店很好{number}", str(number % 2)) for number in range(20)]

    assert make_corpus(train=train, language=language).language == found


def test_train_with_one_class_is_refused(make_corpus: "ReadCorpus") -> None:
    with pytest.raises(OneClassOnly, match=r"train\.tsv"):
        make_corpus(train=[("a", "x"), ("b", "x")])


def test_a_dev_label_that_train_lacks_is_refused_with_its_row(make_corpus: "ReadCorpus", tmp_path: Path) -> None:
    with pytest.raises(LabelUnknown, match=r"number 2 of dev\.tsv") as caught:
        make_corpus(train=TRAIN, dev=[("a", "good"), ("b", "goood")])

    assert caught.value.unknown == ("goood",)
    assert not (tmp_path / "corpus").exists()


def test_an_empty_dev_file_is_refused(tmp_path: Path, key: Key, reporter: "RememberingReporter", toy_csv: Path) -> None:
    (tmp_path / "dev.csv").write_text("text,label\n")
    section = CorpusSection(train=str(toy_csv), dev=str(tmp_path / "dev.csv"))

    with pytest.raises(FileEmpty):
        read_corpus(section, out=tmp_path / "corpus", key=key, reporter=reporter, name="toy")


def test_the_bar_reaches_the_size_of_the_files(make_corpus: "ReadCorpus", reporter: Any) -> None:
    make_corpus(train=TRAIN)

    assert reporter.done == reporter.total > 0

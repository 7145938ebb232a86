"""The stage that reads the corpus."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import FIRST_UNKNOWN
from limbeck.corpus import read_corpus
from limbeck.corpus.balance import WeightedClassUnknown
from limbeck.corpus.run import LabelsAllEmpty, LabelTooLong, LabelUnknown
from limbeck.errors import FileEmpty, OneClassOnly, TooFewRows
from limbeck.recipe.corpus import CorpusSection

if TYPE_CHECKING:
    from tests.unit.conftest import ReadCorpus, RememberingReporter

TRAIN = [(f"text number {number}", "good" if number % 2 else "bad") for number in range(40)]


def test_row_ids_are_positions_in_the_file(read_rows: "ReadCorpus") -> None:
    corpus = read_rows(train=TRAIN, dev=[("held out", "good"), ("another", "bad")])

    assert corpus.splits["train"].ids[:2] == ["train-0", "train-1"]
    assert corpus.splits["dev"].ids == ["dev-0", "dev-1"]
    assert corpus.labels == ["bad", "good"]
    assert corpus.splits["dev"].labels.tolist() == [1, 0]
    assert corpus.facts["dev_from"] == "file"


def test_dev_is_cut_off_train_when_there_is_none_and_its_rows_keep_their_ids(
    read_rows: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    corpus = read_rows(train=TRAIN, test_fraction=0.2)

    ids = {split: set(rows.ids) for split, rows in corpus.splits.items()}
    assert {split: len(inner) for split, inner in ids.items()} == {"train": 28, "dev": 4, "test": 8}
    assert set.union(*ids.values()) == {f"train-{number}" for number in range(40)}
    assert corpus.facts["dev_from"] == "cut from train, 10 %, seed 0"
    assert corpus.facts["test_from"] == "cut from train, 20 %, seed 0"
    assert "cut from train" in reporter.notes[0]


def test_dev_stays_the_same_when_fewer_training_rows_are_used(read_rows: "ReadCorpus") -> None:
    whole = read_rows(train=TRAIN)
    ids, rows = whole.splits["dev"].ids, len(whole.splits["train"])
    assert "beyond_max_rows_left_out" not in whole.facts

    part = read_rows(train=TRAIN, max_rows=10)

    assert part.splits["dev"].ids == ids
    assert part.facts["beyond_max_rows_left_out"] == rows - 10
    assert part.facts["rows_per_label"]["train"] == {"bad": 5, "good": 5}


def test_facts_say_what_was_found(read_rows: "ReadCorpus", tmp_path: Path) -> None:
    train = [("one", "a"), ("ONE", "b"), ("two", "a"), ("two", "a"), ("", "b")]

    corpus = read_rows(train=train, dev=[("one", "a"), ("O ne", "a"), ("new", "b")])

    facts = json.loads((tmp_path / "corpus" / "corpus.json").read_text(encoding="utf-8"))
    assert facts == corpus.facts
    assert facts["name"] == "toy"
    assert facts["sources"] == {"train": "train.tsv", "dev": "dev.tsv"}
    assert facts["rows"] == {"train": 4, "dev": 3}
    assert facts["rows_per_label"]["train"] == {"a": 3, "b": 1}
    assert (facts["duplicates_in_train"], facts["conflicting_texts_in_train"]) == (2, 1)
    assert facts["without_text_dropped"] == {"train": 1}
    assert facts["overlap"] == {
        "mode": "report",
        "splits": {"dev": {"rows": 3, "found": 2, "verbatim": 1}},
        "train_rows_found": 2,
        "train_rows_removed": 0,
    }


def test_overlap_that_is_only_reported_is_a_warning(read_rows: "ReadCorpus", reporter: "RememberingReporter") -> None:
    corpus = read_rows(train=TRAIN, dev=[TRAIN[0], TRAIN[1]])

    assert len(corpus.splits["train"]) == 40
    assert any("warning" in note and "2 of 2 dev rows" in note for note in reporter.notes)


def test_overlap_is_removed_from_train_and_never_from_dev(
    read_rows: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    corpus = read_rows(train=TRAIN, dev=[TRAIN[0], TRAIN[1]], overlap="remove")

    assert "train-0" not in corpus.splits["train"].ids
    assert (len(corpus.splits["train"]), len(corpus.splits["dev"])) == (38, 2)
    assert corpus.facts["overlap"]["train_rows_removed"] == 2
    assert not any("warning" in note for note in reporter.notes)


def test_removal_that_empties_a_class_is_refused(read_rows: "ReadCorpus") -> None:
    with pytest.raises(TooFewRows):
        read_rows(train=[("a", "x"), ("b", "y"), ("c", "x")], dev=[("b", "y")], overlap="remove")


def test_pairs_have_a_second_text(read_rows: "ReadCorpus") -> None:
    rows: list[tuple[str, ...]] = [(f"why {n}", f"how {n}", str(n % 2)) for n in range(10)]

    corpus = read_rows(train=rows, dev=rows[:2])

    assert corpus.is_pair
    assert corpus.splits["dev"].pairs == ["how 0", "how 1"]


def test_labels_get_the_names_of_the_recipe_and_mismatches_are_reported(
    read_rows: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    train: list[tuple[str, ...]] = [(f"text {number}", str(number % 2)) for number in range(20)]

    corpus = read_rows(train=train, label_names={"1": "good", "0": "bad", "2": "[odd]"})

    assert corpus.labels == ["bad", "good"]
    assert corpus.facts["label_names_unused"] == ["2"]
    assert any("warning" in note and "no training row" in note for note in reporter.notes)


@pytest.mark.parametrize(("language", "found"), [("auto", "zh"), ("en", "en")])
def test_the_language_is_detected_unless_it_is_given(read_rows: "ReadCorpus", language: str, found: str) -> None:
    train: list[tuple[str, ...]] = [(f"这家店很好{number}", str(number % 2)) for number in range(20)]

    assert read_rows(train=train, language=language).language == found


def test_train_with_one_class_is_refused(read_rows: "ReadCorpus") -> None:
    with pytest.raises(OneClassOnly, match=r"train\.tsv"):
        read_rows(train=[("a", "x"), ("b", "x")])


def test_dev_rows_with_a_label_that_train_does_not_have_are_dropped_and_named(
    read_rows: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    corpus = read_rows(train=TRAIN, dev=[("a", "good"), ("b", "goood"), ("c", "bad")])

    assert corpus.splits["dev"].ids == ["dev-0", "dev-2"]
    assert corpus.facts["unknown_in_dev"] == {"goood": 1}
    assert any("labels of dev that train does not have: goood × 1" in note for note in reporter.notes)


def test_test_rows_with_a_label_that_train_does_not_have_stay_and_are_of_no_class(
    read_rows: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    test = [("a", "good"), ("b", "so so"), ("c", "bad"), ("d", "mixed"), ("e", "so so")]

    corpus = read_rows(train=TRAIN, test=test)

    assert corpus.splits["test"].labels.tolist() == [1, FIRST_UNKNOWN, 0, FIRST_UNKNOWN - 1, FIRST_UNKNOWN]
    assert corpus.splits["test"].is_labelled.all()
    assert corpus.unknown_labels == ["so so", "mixed"]
    assert corpus.facts["rows_per_label"]["test"] == {"bad": 1, "good": 1}
    assert any("so so × 2, mixed × 1; these rows are judged as wrong" in note for note in reporter.notes)


def test_a_dev_with_no_label_of_train_is_refused(read_rows: "ReadCorpus", tmp_path: Path) -> None:
    with pytest.raises(LabelUnknown, match=r"those of dev\.tsv") as caught:
        read_rows(train=TRAIN, dev=[("a", "1"), ("b", "0")])

    assert caught.value.unknown == ("1", "0")
    assert not (tmp_path / "corpus").exists()


def test_an_empty_dev_file_is_refused(tmp_path: Path, key: Key, reporter: "RememberingReporter", toy_csv: Path) -> None:
    (tmp_path / "dev.csv").write_text("text,label\n")
    section = CorpusSection(train=str(toy_csv), dev=str(tmp_path / "dev.csv"))

    with pytest.raises(FileEmpty):
        read_corpus(section, out=tmp_path / "corpus", key=key, reporter=reporter, name="toy")


def test_the_bar_reaches_the_size_of_the_files(read_rows: "ReadCorpus", reporter: Any) -> None:
    read_rows(train=TRAIN)

    assert reporter.done == reporter.total > 0


SETS = [(f"text number {number}", ["food|price", "food", "", "teachers | food"][number % 4]) for number in range(40)]


def test_several_labels_a_row_are_a_zero_or_one_for_each_class(
    read_rows: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    dev: list[tuple[str, ...]] = [("held out", "price|teachers"), ("another", "")]

    corpus = read_rows(train=SETS, dev=dev, multi_label=True)

    assert corpus.is_multi_label
    assert corpus.labels == ["food", "price", "teachers"]
    assert corpus.splits["train"].labels[:4].tolist() == [[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 0, 1]]
    assert corpus.splits["dev"].labels.tolist() == [[0, 1, 1], [0, 0, 0]]
    assert corpus.facts["rows_per_label"]["train"] == {"food": 30, "price": 10, "teachers": 10}
    assert corpus.facts["rows_without_label"] == {"train": 10, "dev": 1}
    assert corpus.facts["labels_from"] is None
    assert "several labels a row" in reporter.notes[0]


def test_dev_is_cut_and_rows_are_chosen_by_sets_of_labels(read_rows: "ReadCorpus") -> None:
    corpus = read_rows(train=SETS, multi_label=True, max_rows=12)

    assert corpus.facts["rows"] == {"train": 12, "dev": 4}
    assert corpus.facts["rows_per_label"]["dev"] == {"food": 3, "price": 1, "teachers": 1}
    assert corpus.facts["rows_per_label"]["train"] == {"food": 9, "price": 3, "teachers": 3}


def test_names_that_two_labels_of_a_row_share_count_once(read_rows: "ReadCorpus") -> None:
    corpus = read_rows(train=SETS, dev=SETS[:1], multi_label=True, label_names={"price": "money", "teachers": "food"})

    assert corpus.labels == ["food", "money"]
    assert corpus.facts["rows_per_label"]["train"] == {"food": 30, "money": 10}
    assert corpus.splits["train"].labels[3].tolist() == [1, 0]


def test_one_class_is_enough_if_a_row_may_have_none(read_rows: "ReadCorpus") -> None:
    corpus = read_rows(train=[(f"text {n}", "spam" if n % 2 else "") for n in range(20)], multi_label=True)

    assert corpus.labels == ["spam"]
    assert corpus.splits["train"].labels.shape == (18, 1)


def test_training_rows_without_any_label_are_refused(read_rows: "ReadCorpus") -> None:
    with pytest.raises(LabelsAllEmpty, match="2 training rows"):
        read_rows(train=[("a", ""), ("b", " | ")], multi_label=True)


def test_labels_longer_than_those_of_any_model_are_refused(read_rows: "ReadCorpus") -> None:
    with pytest.raises(LabelTooLong, match="has 1,001 characters; at most 1,000"):
        read_rows(train=[("a", "x" * 1001), ("b", "y" * 1000)])


def test_one_of_several_labels_that_train_does_not_have_is_ignored_and_named(
    read_rows: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    corpus = read_rows(train=SETS, dev=[("a", "food"), ("b", "food|stuff")], multi_label=True)

    assert corpus.splits["dev"].labels.tolist() == [[1, 0, 0], [1, 0, 0]]
    assert any("stuff × 1; they are ignored" in note for note in reporter.notes)


@pytest.fixture
def with_columns(tmp_path: Path, key: Key, reporter: "RememberingReporter") -> "ReadCorpus":
    """with_columns("0.7,0.2,0.1", …, **section): the corpus of texts with these values under good, bad and odd."""

    def make(*values: str, **section: Any) -> Corpus:
        lines = ["text,good,bad,odd", *(f"text {number},{row}" for number, row in enumerate(values))]
        (tmp_path / "train.csv").write_text("\n".join(lines))
        options = {"train": str(tmp_path / "train.csv"), "label": ["good", "bad", "odd"], **section}
        section_read = CorpusSection.model_validate(options)
        return read_corpus(section_read, out=tmp_path / "corpus", key=key, reporter=reporter, name="toy")

    return make


def test_the_largest_of_several_columns_is_the_label_and_their_order_that_of_the_classes(
    with_columns: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    corpus = with_columns(*["0.7,0.2,0.1", "0.1,0.5,0.4"] * 10, label_names={"good": "fine"})

    assert corpus.labels == ["fine", "bad", "odd"]
    assert corpus.facts["labels_from"] == "columns"
    assert corpus.facts["multi_label"] is False
    assert corpus.facts["rows_per_label"]["train"] == {"fine": 9, "bad": 9, "odd": 0}
    train = corpus.splits["train"]
    assert train.labels.tolist() == [int(text[-1]) % 2 for text in train.texts]
    assert any("no training row has 'odd'" in note for note in reporter.notes)


def test_columns_of_which_one_is_always_the_largest_are_one_class(with_columns: "ReadCorpus") -> None:
    with pytest.raises(OneClassOnly, match="'good'"):
        with_columns("0.7,0.2,0.1", "0.6,0.3,0.1")


def test_all_columns_of_half_or_more_are_labels_of_the_row(
    with_columns: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    corpus = with_columns(*["1,0,0.5", "true,0,0"] * 10, multi_label=True)

    assert corpus.labels == ["good", "bad", "odd"]
    assert corpus.facts["rows_per_label"]["train"] == {"good": 18, "bad": 0, "odd": 9}
    assert any("every training row has 'good'" in note for note in reporter.notes)


def test_rows_without_a_single_largest_value_are_counted_and_reported(
    with_columns: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    corpus = with_columns(*["0,0,1", "0,1,0", "0,0,0"] * 10)

    assert corpus.facts["rows_with_equal_values"] == 10
    assert any("in 10 rows" in note for note in reporter.notes)


def test_weights_are_computed_from_the_training_rows_that_are_used(
    read_rows: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    train: list[tuple[str, ...]] = [(f"text {number}", "rare" if number < 4 else "often") for number in range(44)]

    corpus = read_rows(train=train, dev=train[:1], class_weights="balanced", max_rows=22)

    assert corpus.facts["rows_per_label"]["train"] == {"often": 20, "rare": 2}
    assert corpus.class_weights == [22 / (2 * 20), 22 / (2 * 2)]
    assert not any("class_weights" in note for note in reporter.notes)


def test_uneven_classes_without_weights_are_reported(read_rows: "ReadCorpus", reporter: "RememberingReporter") -> None:
    train: list[tuple[str, ...]] = [(f"text {number}", "rare" if number < 2 else "often") for number in range(40)]

    corpus = read_rows(train=train, dev=train[:1])

    assert corpus.class_weights is None
    assert any("class_weights" in note for note in reporter.notes)


def test_weights_of_several_labels_are_capped_and_that_is_reported(
    read_rows: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    train: list[tuple[str, ...]] = [(f"text {number}", ["", "odd"][number % 2]) for number in range(300)]

    corpus = read_rows(train=[("first", "once"), *train], dev=train[:1], class_weights="balanced", multi_label=True)

    assert corpus.labels == ["odd", "once"]
    assert corpus.class_weights == [151 / 150, 100.0]
    assert any("'once' is capped at 100" in note for note in reporter.notes)


def test_a_weight_for_an_unknown_class_leaves_no_files(read_rows: "ReadCorpus", tmp_path: Path) -> None:
    with pytest.raises(WeightedClassUnknown):
        read_rows(train=TRAIN, class_weights={"goood": 2.0})

    assert not (tmp_path / "corpus").exists()


@pytest.mark.parametrize("separator", [",", "; ", "/"])
def test_labels_that_another_separator_would_cut_are_a_warning(
    read_rows: "ReadCorpus", reporter: "RememberingReporter", separator: str
) -> None:
    cells = [f"food{separator}price", "food", "price", ""]
    train: list[tuple[str, ...]] = [(f"text {number}", cells[number % 4]) for number in range(40)]

    read_rows(train=train, multi_label=True)
    warnings = [note for note in reporter.notes if "warning" in note]
    reporter.notes.clear()
    read_rows(train=train, multi_label=True, label_separator=separator.strip())

    assert len(warnings) == 1
    assert f'label_separator = "{separator.strip()}"' in warnings[0]
    assert not any("warning" in note for note in reporter.notes)


def test_no_separator_is_looked_for_if_a_row_has_one_label(
    read_rows: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    cells = ["food,price", "food", "price"]

    corpus = read_rows(train=[(f"text {number}", cells[number % 3]) for number in range(40)])

    assert corpus.facts["likelier_separator"] is None
    assert not any("label_separator" in note for note in reporter.notes)

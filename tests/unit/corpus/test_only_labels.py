"""`only_labels`: using only the rows of some classes."""

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from limbeck.corpus.source import OnlyLabelsUnknown
from limbeck.errors import TooFewRows
from limbeck.recipe.corpus import CorpusSection

if TYPE_CHECKING:
    from tests.unit.conftest import ReadCorpus, RememberingReporter

TRAIN = [("a goal", "sport"), ("a fast car", "car"), ("a war", "world"), ("a match", "sport"), ("a wheel", "car")]
DEV = [("a treaty", "world"), ("a cup", "sport")]


def test_rows_with_other_labels_are_dropped_from_every_split_and_the_rest_keep_their_ids(
    read_rows: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    corpus = read_rows(train=TRAIN, dev=DEV, only_labels=["sport", "car"])

    assert corpus.labels == ["car", "sport"]
    assert corpus.splits["train"].ids == ["train-0", "train-1", "train-3", "train-4"]
    assert corpus.splits["dev"].texts == ["a cup"]
    assert corpus.facts["of_other_labels_left_out"] == 2
    assert "2 rows with labels not in only_labels" in reporter.notes[-1]


def test_classes_are_identified_by_the_names_that_the_recipe_gives_them(
    read_rows: "ReadCorpus", reporter: "RememberingReporter"
) -> None:
    names = {"sport": "sports", "car": "cars", "world": "the world"}

    corpus = read_rows(train=TRAIN, dev=DEV, only_labels=["sports", "the world"], label_names=names)

    assert corpus.labels == ["sports", "the world"]
    assert corpus.splits["train"].ids == ["train-0", "train-2", "train-3"]
    assert not [note for note in reporter.notes if "label_names" in note]


def test_a_class_that_train_does_not_have_is_reported_with_those_it_has(read_rows: "ReadCorpus") -> None:
    with pytest.raises(OnlyLabelsUnknown, match="did you mean 'sport'") as caught:
        read_rows(train=TRAIN, dev=DEV, only_labels=["sports", "car"])

    assert caught.value.unknown == ("sports",)


def test_a_dev_file_without_any_such_row_is_refused(read_rows: "ReadCorpus") -> None:
    with pytest.raises(TooFewRows, match="dev with the labels of only_labels"):
        read_rows(train=TRAIN, dev=DEV[:1], only_labels=["sport", "car"])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"only_labels": ["sport"]}, "two classes or more"),
        ({"only_labels": ["a", "b"], "multi_label": True}, "one label each"),
        ({"only_labels": ["a", "b"], "label": ["a", "b"]}, "one label each"),
    ],
)
def test_settings_that_only_labels_cannot_be_combined_with_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        CorpusSection.model_validate({"train": "train.tsv", **keys})

"""The corpus on disk: its splits, its classes, and the split that is judged."""

from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows

FACTS = {"name": "toy", "labels": ["schlecht", "好"], "language": "zh", "pair": False, "findings": []}


def corpus_with(folder: Path, *names: str, labels: tuple[int, int] = (0, 1)) -> Corpus:
    splits = {
        name: Rows.of(ids=[f"{name}:0", f"{name}:1"], texts=["a", f"the {name}"], labels=labels) for name in names
    }
    with written_atomically(folder, kind="corpus", key=Key(section={}, inputs={})) as scratch:
        save_corpus(scratch, splits=splits, facts=FACTS)
    return Corpus(folder)


def test_splits_and_facts_are_read_back(tmp_path: Path) -> None:
    corpus = corpus_with(tmp_path / "corpus", "train", "dev", "test")

    assert list(corpus.splits) == ["train", "dev", "test"]
    assert corpus.splits["dev"].ids == ["dev:0", "dev:1"]
    assert corpus.labels == ["schlecht", "好"]
    assert corpus.language == "zh"
    assert corpus.is_pair is False


def test_test_is_judged_when_it_is_there_and_else_dev(tmp_path: Path) -> None:
    assert corpus_with(tmp_path / "one", "train", "dev", "test").judged_split == "test"
    assert corpus_with(tmp_path / "two", "train", "dev").judged_split == "dev"


def test_the_fingerprint_changes_with_one_label(tmp_path: Path) -> None:
    first = corpus_with(tmp_path / "one", "train", "dev")
    same = corpus_with(tmp_path / "two", "train", "dev")
    other = corpus_with(tmp_path / "three", "train", "dev", labels=(1, 1))

    assert first.fingerprint == same.fingerprint
    assert first.fingerprint != other.fingerprint


def test_what_training_goes_by_does_not_change_with_test_or_with_what_was_counted(tmp_path: Path) -> None:
    """Otherwise a test file that comes later would train teacher and students again."""
    without = corpus_with(tmp_path / "one", "train", "dev")
    with_test = corpus_with(tmp_path / "two", "train", "dev", "test")
    other_labels = corpus_with(tmp_path / "three", "train", "dev", labels=(1, 1))

    assert with_test.fingerprint != without.fingerprint
    assert with_test.training_fingerprint == without.training_fingerprint
    assert other_labels.training_fingerprint != without.training_fingerprint


def test_class_names_and_language_are_part_of_what_training_goes_by(tmp_path: Path) -> None:
    fingerprints = set()
    changes: list[dict[str, Any]] = [{}, {"labels": ["好", "schlecht"]}, {"language": "en"}, {"pair": True}]
    for number, change in enumerate(changes):
        folder = tmp_path / str(number)
        rows = Rows.of(ids=["a"], texts=["a"], labels=[0])
        with written_atomically(folder, kind="corpus", key=Key(section={}, inputs={})) as scratch:
            save_corpus(scratch, splits={"train": rows, "dev": rows}, facts={**FACTS, **change})
        fingerprints.add(Corpus(folder).training_fingerprint)

    assert len(fingerprints) == 4


@pytest.mark.parametrize(
    ("train", "dev", "is_uneven"),
    [
        ([0] * 99 + [1] * 9, [0, 1], True),  # less than a tenth
        ([0] * 90 + [1] * 9, [0, 1], False),
        ([0] * 99 + [1] * 4, [0, 1], False),  # four rows may be stray labels
        ([0] * 99 + [1] * 9, [0, 0], False),  # dev cannot judge it
        ([0] * 99 + [1] * 9, [0, 1, -1], True),  # rows without a label are ignored
    ],
)
def test_uneven_classes_of_some_size_are_noticed(
    tmp_path: Path, train: list[int], dev: list[int], is_uneven: bool
) -> None:
    splits = {
        name: Rows.of(ids=[f"{name}:{n}" for n in range(len(labels))], texts=["a"] * len(labels), labels=labels)
        for name, labels in {"train": train, "dev": dev}.items()
    }
    with written_atomically(tmp_path / "corpus", kind="corpus", key=Key(section={}, inputs={})) as scratch:
        save_corpus(scratch, splits=splits, facts=FACTS)

    assert Corpus(tmp_path / "corpus").is_uneven is is_uneven

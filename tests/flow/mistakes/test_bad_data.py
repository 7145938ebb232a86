"""Data that cannot be used: said with the file, the place and the remedy; nothing made before is lost."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ("mine.csv' has no rows", "at least one row")),
        (b"text,label\n", ("mine.csv' has no rows", "below its header")),
        (b"txt,label\nfine,good\npoor,bad\n", ("no column 'text' (did you mean 'txt'?)", "its columns: txt, label")),
        (b"text,label\nfine,good\ngreat,good\n", ("all 2 training rows of 'mine.csv'", "'good'", "two classes")),
        (b"text,label\nfine,good\ncaf\xe9,bad\n", ("mine.csv', row 3", "not valid utf-8", "bytes e9", "encoding = ")),
        (b"text,label\nfine,good\npoor\n", ("mine.csv', row 3", "1 cells instead of 2", "Correct the row")),
        (b"text,label\nfine,good\npoor,\nbad,\n", ("2 without label, of 3 rows", "`label` names the right column")),
        (b'text,label\n"fine,good\npoor,bad\n', ("mine.csv', row 2", "quoting = false")),
    ],
    ids=["empty", "header only", "other column", "one class", "bytes", "cells", "no label", "quote"],
)
def test_a_bad_training_file_is_refused(
    tmp_path: Path, limbeck: Command, content: bytes, words: tuple[str, ...]
) -> None:
    (tmp_path / "mine.csv").write_bytes(content)
    (tmp_path / "mine.toml").write_text('[corpus]\ntrain = "mine.csv"\n', encoding="utf-8")

    answer = limbeck("run", tmp_path / "mine.toml", "--out", tmp_path / "run", "--until", "corpus")

    assert answer.refused_with(*words)
    assert not (tmp_path / "run" / "corpus").exists()


def test_labels_that_only_dev_has_are_named_with_those_of_train(toy: Any, limbeck: Command) -> None:
    (toy.folder / "data" / "dev.csv").write_text("text,label\nfine,yes\nso so,mixed\n", encoding="utf-8")

    answer = limbeck("run", toy.recipe, "--out", toy.run, "--set", "corpus.dev=dev.csv")

    assert answer.refused_with(
        "dev has only labels that train does not have: 'yes', 'mixed'", "those of dev.csv", "'negative', 'positive'"
    )


def test_a_folder_where_a_file_should_be_is_called_a_folder(toy: Any, limbeck: Command) -> None:
    answer = limbeck("run", toy.recipe, "--out", toy.run, "--set", f"corpus.train={toy.run}")

    assert answer.refused_with(str(toy.run), "Is a directory", "Give a file")


def test_a_missing_file_is_reported_with_the_places_searched_and_a_close_name(toy: Any, limbeck: Command) -> None:
    answer = limbeck("run", toy.recipe, "--out", toy.run, "--set", "corpus.train=tyo.csv")

    assert answer.refused_with(
        "1 problem", "no file 'tyo.csv' (did you mean 'toy.csv'?)", str(toy.folder), "LIMBECK_DATA"
    )


def test_transfer_text_that_leaves_nothing_is_refused_with_its_numbers(toy: Any, limbeck: Command) -> None:
    answer = limbeck("run", toy.recipe, "--out", toy.run, "--set", "transfer.min_words=300")

    assert answer.refused_with("no transfer text is left of unlabelled.txt", "too short", "Relax min_words")


def test_after_a_mistake_in_the_data_is_mended_everything_is_reused(toy: Any, limbeck: Command) -> None:
    data = toy.folder / "data" / "toy.csv"
    before, content = toy.manifests, data.read_bytes()

    data.write_bytes(content + b"\xff\xfe,positive\n")
    assert limbeck("run", toy.recipe, "--out", toy.run).refused_with("toy.csv', row 202", "ff")
    data.write_bytes(content)
    answer = limbeck("run", toy.recipe, "--out", toy.run)

    assert answer.code == 0
    assert answer.steps("▸") == {}
    assert toy.manifests == before

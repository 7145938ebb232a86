"""Fingerprints of what a section reads."""

from pathlib import Path

import pytest

from limbeck.errors import FileMissing
from limbeck.pipeline.keys import input_fingerprints
from limbeck.recipe.corpus import CorpusSection
from limbeck.recipe.transfer import Transfer


def test_a_file_has_another_fingerprint_when_its_bytes_change_and_not_when_it_moves(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        (folder / "train.csv").write_text("text,label\na,1\n")

    before = input_fingerprints(CorpusSection(train=str(here / "train.csv")))
    moved = input_fingerprints(CorpusSection(train=str(there / "train.csv")))
    (there / "train.csv").write_text("text,label\nb,1\n")
    changed = input_fingerprints(CorpusSection(train=str(there / "train.csv")))

    assert list(before) == ["train (train.csv)"]
    assert before == moved != changed


def test_files_of_the_same_name_are_distinguished(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "text.txt").write_text(folder)

    prints = input_fingerprints(Transfer(files=[str(tmp_path / "*" / "text.txt"), str(tmp_path / "a" / "text.txt")]))

    assert list(prints) == ["a/text.txt", "b/text.txt"]


def test_a_folder_given_as_hub_reads_its_files_and_a_name_by_itself(tmp_path: Path) -> None:
    (tmp_path / "train.parquet").write_bytes(b"PAR1")

    assert list(input_fingerprints(CorpusSection(hub=str(tmp_path)))) == ["train.parquet"]
    assert list(input_fingerprints(CorpusSection(hub="glue/sst2"))) == ["hub (glue/sst2)"]


def test_data_sets_of_transfer_text_go_the_same_way(tmp_path: Path) -> None:
    for place in ("a", "b"):
        (tmp_path / place / "saved").mkdir(parents=True)
        (tmp_path / place / "saved" / "data.arrow").write_text(place)
    (tmp_path / "more.txt").write_text("text")
    folders = [str(tmp_path / "a" / "saved"), f"{tmp_path / 'b' / 'saved'}:train"]

    prints = input_fingerprints(Transfer(files=[str(tmp_path / "more.txt")], hub=[*folders, "imdb:train"]))
    (tmp_path / "a" / "saved" / "data.arrow").write_text("changed")
    changed = input_fingerprints(Transfer(hub=folders))

    assert list(prints) == [
        "more.txt",
        "hub 0 (saved)/data.arrow",
        "hub 1 (saved:train)/data.arrow",
        "hub (imdb:train)",
    ]
    assert [prints[name] == digest for name, digest in changed.items()] == [False, True]


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileMissing):
        input_fingerprints(Transfer(files=[str(tmp_path / "none.txt")]))

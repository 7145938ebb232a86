"""Inspecting unlabelled text for a corpus: its text column, its form, whether it is split into sentences."""

import gzip
import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from limbeck.drafting.draft import draft_recipe
from limbeck.drafting.inspection import Inspection, inspect_file
from limbeck.drafting.unlabelled import (
    TransferFilesDiffer,
    TransferIsCorpus,
    TransferTextUnclear,
    Unlabelled,
    is_data_file,
    look_at_text,
    own_unlabelled,
    text_beside,
)
from limbeck.errors import FileEmpty, FileMissing
from limbeck.recipe.transfer import Transfer
from limbeck.transfer.text_sources import text_sources

NOUNS = ["soup", "room", "lamp", "garden", "letter", "train", "window", "market", "river", "coat"]
TEXTS = [f"the {noun} was quite something today" for noun in NOUNS]
DOCUMENTS = [f"The {noun}, we said. It was quite something. Nobody saw the {noun} again, ever." * 3 for noun in NOUNS]


def write(path: Path, *lines: str) -> Path:
    content = "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Inspection:
    """Short texts under `review`."""
    rows = [f"{text},{number % 2}" for number, text in enumerate(TEXTS)]
    return inspect_file(write(tmp_path / "reviews.csv", "review,label", *rows))


@pytest.fixture
def pairs(tmp_path: Path) -> Inspection:
    """Pairs of questions without a header."""
    rows = [f"{text}\twhere was the {noun}\t{len(noun) % 2}" for text, noun in zip(TEXTS, NOUNS, strict=True)]
    return inspect_file(write(tmp_path / "pairs.tsv", *rows))


def first_text(found: Unlabelled) -> str:
    """What a run would read of the files under the keys that were found."""
    section = Transfer.model_validate({"files": [str(path) for path in found.files], **found.keys()})
    text, pair = next(iter(text_sources(section)[0].texts()))
    return text if pair is None else f"{text} | {pair}"


@pytest.mark.parametrize(
    ("name", "lines", "keys", "text"),
    [
        ("more.txt", TEXTS, {}, TEXTS[0]),
        ("more.txt.gz", ["a fine film, yes", "well"], {}, "a fine film, yes"),
        ("more.csv", ["text", *TEXTS], {"text": "text"}, TEXTS[0]),
        ("more.csv", ["text", "well, fine", "bad"], {"text": "text", "format": "tsv"}, "well, fine"),
        ("more.csv", ["text", '"well, fine"', '"bad, all of it"'], {"text": "text"}, "well, fine"),
        ("more.csv", ["id\ttext", "1\twell, fine", "2\tbad"], {"text": "text", "format": "tsv"}, "well, fine"),
        ("more.txt", ["text\tlabel", "well, fine\t1", "bad\t0"], {"text": "text", "format": "tsv"}, "well, fine"),
        ("more.tsv", [f"{text}\t{n % 2}" for n, text in enumerate(TEXTS)], {"text": 0, "header": False}, TEXTS[0]),
        ("more.jsonl", [json.dumps({"id": 1, "body": text}) for text in TEXTS], {"text": "body"}, TEXTS[0]),
    ],
)
def test_every_kind_of_file_is_read_by_the_keys_that_are_found(
    tmp_path: Path, corpus: Inspection, name: str, lines: list[str], keys: dict[str, object], text: str
) -> None:
    found = look_at_text([write(tmp_path / name, *lines)], corpus)

    assert found.keys() == keys
    assert first_text(found) == text


@pytest.mark.parametrize("first", ["the soup was quite something", "fine."])
def test_a_first_text_is_not_taken_for_a_header_if_the_corpus_has_none(
    tmp_path: Path, corpus: Inspection, first: str
) -> None:
    rows = [f"{text}\t{number % 2}" for number, text in enumerate(TEXTS)]
    bare = inspect_file(write(tmp_path / "bare.tsv", *rows))

    path = write(tmp_path / "more.tsv", first, *TEXTS)

    assert look_at_text([path], bare).keys() == {"text": 0, "header": False}
    assert look_at_text([path], corpus).form.header == (first == "fine.")  # it might be a name


def test_labels_are_noticed_and_not_read(tmp_path: Path, corpus: Inspection) -> None:
    rows = [f"{text},{number % 2},{number}" for number, text in enumerate(TEXTS)]

    found = look_at_text([write(tmp_path / "more.csv", "review,label,Stars", *rows)], corpus)
    bare = look_at_text([write(tmp_path / "bare.csv", *rows)], replace(corpus, label=1))

    assert (found.labels, bare.labels) == (["label", "Stars"], ["1"])
    assert first_text(found) == first_text(bare) == TEXTS[0]


def test_much_longer_texts_are_split_and_their_sentences_counted(tmp_path: Path, corpus: Inspection) -> None:
    long = look_at_text([write(tmp_path / "long.txt", *DOCUMENTS)], corpus)
    short = look_at_text([write(tmp_path / "short.txt", *TEXTS)], corpus)

    assert (long.is_cut, short.is_cut) == (True, False)
    assert (long.rows, short.rows) == (70, 10)  # "ever.The" is not the end of a sentence


def test_documents_are_not_split_if_the_labelled_texts_are_documents(tmp_path: Path) -> None:
    rows = [f"{' '.join([text] * 30)},{number % 2}" for number, text in enumerate(TEXTS)]
    corpus = inspect_file(write(tmp_path / "long.csv", "text,label", *rows))

    found = look_at_text([write(tmp_path / "more.txt", *(" ".join([text] * 60) for text in TEXTS))], corpus)

    assert found.median_words > corpus.long_words
    assert not found.is_cut


def test_pairs_are_found_by_their_positions_or_by_their_names(tmp_path: Path, pairs: Inspection) -> None:
    rows = [f"{text}\twhere was the {noun}" for text, noun in zip(TEXTS, NOUNS, strict=True)]

    same = look_at_text([write(tmp_path / "more.tsv", *rows)], pairs)
    named = look_at_text([write(tmp_path / "named.tsv", "question1\tquestion2", *rows)], pairs)

    assert same.keys() == {"text": 0, "pair": 1, "header": False}
    assert named.keys() == {"text": "question1", "pair": "question2"}
    assert first_text(named) == f"{TEXTS[0]} | where was the soup"


def test_a_label_in_the_position_of_the_second_text_is_not_taken_for_it(tmp_path: Path, pairs: Inspection) -> None:
    path = write(tmp_path / "more.tsv", *(f"{text}\t{'news' if n % 2 else 'sport'}" for n, text in enumerate(TEXTS)))

    with pytest.raises(TransferTextUnclear):
        look_at_text([path], pairs)


@pytest.mark.parametrize("name", ["more.txt", "more.csv"])
def test_single_texts_cannot_be_used_for_pairs(tmp_path: Path, pairs: Inspection, name: str) -> None:
    path = write(tmp_path / name, "text", *TEXTS)

    with pytest.raises(TransferTextUnclear, match="two texts"):
        look_at_text([path], pairs)


def test_missing_empty_and_own_files_are_refused(tmp_path: Path, corpus: Inspection) -> None:
    empty = write(tmp_path / "empty.csv", "text")

    with pytest.raises(FileEmpty):
        look_at_text([empty], corpus)
    with pytest.raises(FileMissing, match=r"did you mean 'empty\.csv'"):
        look_at_text([tmp_path / "emty.csv"], corpus)
    with pytest.raises(TransferIsCorpus, match="own train file"):
        look_at_text([tmp_path / "." / "reviews.csv"], corpus)


def test_the_dev_file_is_a_file_of_the_corpus(tmp_path: Path) -> None:
    rows = [f"{text},{number % 2}" for number, text in enumerate(TEXTS)]
    dev = write(tmp_path / "dev.csv", "review,label", *rows)
    corpus = inspect_file(write(tmp_path / "train.csv", "review,label", *rows))

    with pytest.raises(TransferIsCorpus) as caught:
        look_at_text([dev], corpus)

    assert caught.value.split == "dev"


def test_files_that_one_section_reads_are_combined(tmp_path: Path, corpus: Inspection) -> None:
    lines = write(tmp_path / "more.txt", *DOCUMENTS)
    table = write(tmp_path / "more.csv", "review", *TEXTS)

    found = look_at_text([lines, table, tmp_path / "." / "more.csv"], corpus)

    assert found.files == [lines, table]
    assert found.keys() == {"text": "review"}
    assert (found.is_cut, found.rows) == (True, 80)


def test_files_that_no_single_section_reads_are_refused(tmp_path: Path, corpus: Inspection) -> None:
    one = write(tmp_path / "one.csv", "review", *TEXTS)
    other = write(tmp_path / "other.csv", "body", *TEXTS)

    with pytest.raises(TransferFilesDiffer, match="text = 'body'") as caught:
        look_at_text([one, other], corpus)

    assert list(caught.value.settings) == [str(one), str(other)]


@pytest.mark.parametrize("name", ["unlabelled.csv", "unlabeled.txt", "unsup-1.tsv.gz", "transfer.jsonl"])
def test_text_in_the_folder_of_the_data_is_found_by_its_name(tmp_path: Path, corpus: Inspection, name: str) -> None:
    lines = [json.dumps({"text": text}) for text in TEXTS] if name.endswith("jsonl") else ["text", *TEXTS]
    path = write(tmp_path / name, *lines)

    found = text_beside(corpus)

    assert found is not None
    assert found.files == [path]


@pytest.mark.parametrize("name", ["unlabelled.md", "more.csv", "transferred.csv"])
def test_other_files_in_the_folder_of_the_data_are_ignored(tmp_path: Path, corpus: Inspection, name: str) -> None:
    write(tmp_path / name, "text", *TEXTS)

    assert text_beside(corpus) is None


def test_unreadable_text_in_the_folder_of_the_data_is_skipped(tmp_path: Path, corpus: Inspection) -> None:
    write(tmp_path / "unlabelled.csv", "id", "1", "2")
    readable = write(tmp_path / "transfer.txt", *TEXTS)

    found = text_beside(corpus)

    assert found is not None
    assert found.files == [readable]


@pytest.mark.parametrize(
    ("name", "is_data"),
    [
        *(("a.csv", True), ("A.TSV", True), ("b.txt.gz", True), ("c.parquet", True), ("d/e.json", True)),
        *(("reviews.toml", False), ("sst2-small", False), ("runs/reviews", False), ("x.gz", False)),
    ],
)
def test_data_files_are_recognised_by_their_endings(name: str, is_data: bool) -> None:
    assert is_data_file(name) == is_data


def test_a_folder_is_not_a_data_file_whatever_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "run.csv"
    folder.mkdir()

    assert not is_data_file(str(folder))


def test_rows_without_a_label_are_text_to_learn_from(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    labelled = [f"soup number {number} was cold,{'good' if number % 2 else 'bad'}" for number in range(100)]
    bare = [f"nobody has judged meal {number}," for number in range(300)]
    path.write_text("\n".join(["meal,label", *labelled, *bare]))

    found = inspect_file(path)
    draft = draft_recipe(path, found, data_path="rows.csv", folder=tmp_path, transfer=own_unlabelled(found))

    assert (found.rows, found.unlabelled) == (100, 300)
    assert "dropped" not in found.summary()
    assert tomllib.loads(draft)["transfer"] == {"files": ["rows.csv"], "where": {"label": ""}, "text": "meal"}


def test_few_rows_without_a_label_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    labelled = [f"soup number {number} was cold,{'good' if number % 2 else 'bad'}" for number in range(100)]
    path.write_text("\n".join(["meal,label", *labelled, *["nobody has judged this,"] * 40]))

    found = inspect_file(path)

    assert own_unlabelled(found) is None
    assert "rows that are dropped: 40 without label" in found.summary()


def test_a_condition_for_empty_cells_finds_blanks_and_nulls(tmp_path: Path) -> None:
    csv = write(tmp_path / "rows.csv", "meal,verdict", "soup,good", "rice,", "bread, ")
    lines = [{"meal": "soup", "verdict": "good"}, {"meal": "rice", "verdict": None}, {"meal": "bread", "verdict": ""}]
    jsonl = write(tmp_path / "rows.jsonl", *map(json.dumps, lines))
    section = Transfer(files=[str(csv), str(jsonl)], text="meal", where={"verdict": ""})

    found = [text for source in text_sources(section) for _, (text, *_) in source.records(lambda *_: None)]

    assert found == ["rice", "bread"] * 2

"""The part of a drafted recipe about unlabelled text."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from limbeck.drafting.draft_transfer import transfer_lines
from limbeck.drafting.inspection import Inspection, inspect_file
from limbeck.drafting.unlabelled import Unlabelled, look_at_text
from limbeck.recipe.transfer import Transfer

SHORT = [f"the {noun} was fine" for noun in ("soup", "room", "lamp", "garden")]
LONG = [f"The {noun} was fine. It was quite something. We came back, and went." for noun in ("soup", "room", "lamp")]


@pytest.fixture
def corpus(tmp_path: Path) -> Inspection:
    path = tmp_path / "reviews.csv"
    rows = [f"{text},{number % 2}" for number, text in enumerate(SHORT)]
    path.write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    return inspect_file(path)


def look(path: Path, corpus: Inspection, *lines: str) -> Unlabelled:
    path.write_text("\n".join(lines), encoding="utf-8")
    return look_at_text([path], corpus)


def section(lines: list[str]) -> Transfer:
    """The section as a recipe would have it."""
    return Transfer.model_validate(tomllib.loads("\n".join(lines))["transfer"])


def test_text_that_was_given_is_a_real_section(tmp_path: Path, corpus: Inspection) -> None:
    given = look(tmp_path / "more.csv", corpus, "text,stars", *(f"{text},5" for text in SHORT))

    lines = transfer_lines(corpus, given=given, beside=None)

    found = section(lines)
    assert found == Transfer(files=[str(tmp_path / "more.csv")], text="text")
    assert 'text = "text"  # labels are not read: column stars' in lines


def test_long_texts_are_cut_and_the_reason_stands_beside_it(tmp_path: Path, corpus: Inspection) -> None:
    given = look(tmp_path / "more.txt", corpus, *LONG)

    lines = transfer_lines(corpus, given=given, beside=None)

    found = section(lines)
    assert (found.split_sentences, found.min_words, found.max_words) == (True, 3, 40)
    assert any("half have 13 words or more, 95 % of the labelled texts 4 or fewer" in line for line in lines)


def test_sentences_may_be_longer_where_the_labelled_texts_are(tmp_path: Path, corpus: Inspection) -> None:
    given = look(tmp_path / "more.txt", corpus, *LONG)

    lines = transfer_lines(replace(corpus, long_words=60), given=given, beside=None)

    assert section(lines).max_words == 90


def test_documents_are_kept_up_to_the_length_of_the_labelled_ones(tmp_path: Path, corpus: Inspection) -> None:
    documents = replace(corpus, long_words=600)
    given = look(tmp_path / "more.txt", documents, *LONG)

    found = section(transfer_lines(documents, given=given, beside=None))

    assert (found.split_sentences, found.max_words) == (False, 600)


def test_text_beside_the_data_stands_there_ready_behind_comment_signs(tmp_path: Path, corpus: Inspection) -> None:
    beside = look(
        tmp_path / "unlabelled.tsv", corpus, *(f"{number}\t{text} indeed" for number, text in enumerate(LONG))
    )

    lines = transfer_lines(corpus, given=None, beside=beside)

    assert all(line.startswith("# ") for line in lines)
    assert any("unlabelled.tsv lies beside the data" in line for line in lines)
    start = lines.index("# [transfer]")
    found = section([re.sub(r"^# ", "", line) for line in lines[start:]])
    assert found.files == [str(tmp_path / "unlabelled.tsv")]
    assert (found.text, found.header, found.split_sentences) == (1, False, True)

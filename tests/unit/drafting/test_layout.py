"""Detecting the layout of a file."""

import gzip
import json
from pathlib import Path

import pytest

from limbeck.drafting.layout import find_layout, has_header
from limbeck.errors import BytesUndecodable, FileEmpty, RowMalformed

ROWS = [("the soup was cold and so was the waiter", "0"), ("a warm room and a kind host", "1")] * 10


def test_known_names_make_a_header() -> None:
    assert has_header(("sentence", "label"), ROWS)


def test_a_label_like_the_others_means_that_there_is_no_header() -> None:
    assert not has_header(("short", "1"), ROWS)
    assert not has_header(("short", "news"), [("another", "news"), ("one", "sport"), ("more", "news")] * 5)


def test_a_long_first_cell_means_that_there_is_no_header() -> None:
    assert not has_header(("we went there on a rainy day in may", "sport"), ROWS)
    assert not has_header(("我们在下雨天去了那家很远的小餐馆", "sport"), ROWS)


def test_words_above_a_column_of_numbers_make_a_header() -> None:
    assert has_header(("what they said", "verdict"), ROWS)


def test_empty_columns_without_a_name_do_not_hide_the_header() -> None:
    rows = [("ham", "see you at eight", "", ""), ("spam", "you have won", "", ""), ("ham", "late again", "", "x")] * 5

    assert has_header(("v1", "v2", "", ""), rows)
    assert not has_header(("ham", "on my way", "", ""), rows)
    assert not has_header(("on my way", "", "", ""), rows)


def test_a_name_the_user_gave_makes_a_header() -> None:
    rows = [("one", "x"), ("two", "y"), ("three", "x")]

    assert has_header(("8", "kind"), rows, wanted=["kind"])
    assert not has_header(("8", "kind"), rows)


def test_a_tsv_file_whose_cells_are_enclosed_in_quotes_is_read_with_quoting(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("text\tlabel\n" + "".join(f'"{text}"\t{label}\n' for text, label in ROWS))

    layout = find_layout(path)

    assert layout.form.quoting is True
    assert layout.rows[0] == ROWS[0]


def test_stray_quotes_in_a_tsv_file_stay_plain_characters(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text('text\tlabel\n"so he began\t0\nand "so" on\t1\nhe ended"\t0\n')

    layout = find_layout(path)

    assert layout.form.quoting == "auto"
    assert len(layout.rows) == 3


def test_a_csv_file_with_plain_quotes_is_read_without_quoting(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('text,label\n"so" he said,0\nfine,1\n')

    layout = find_layout(path)

    assert layout.form.quoting is False
    assert layout.rows[0] == ('"so" he said', "0")


def test_a_file_named_csv_with_tabs_is_read_as_tsv(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text\tlabel\nwell, fine\t1\nbad\t0\n")

    layout = find_layout(path)

    assert (layout.kind, layout.form.format) == ("tsv", "tsv")


@pytest.mark.parametrize(
    ("content", "kind"),
    [("text\tlabel\na b\t1\n", "tsv"), ('text,label\n"a, b",1\n', "csv"), ('{"text": "a b", "label": 1}\n', "jsonl")],
)
def test_a_name_without_a_known_ending_is_judged_by_its_content(tmp_path: Path, content: str, kind: str) -> None:
    path = tmp_path / "rows"
    path.write_bytes(gzip.compress(content.encode()))

    layout = find_layout(path)

    assert layout.kind == layout.form.format == kind
    assert layout.columns == ["text", "label"]


@pytest.mark.parametrize("encoding", ["gb18030", "utf-16"])
def test_chinese_in_other_encodings_is_recognised(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes("text,label\n房间很干净,1\n早餐很差劲,0\n".encode(encoding))

    layout = find_layout(path)

    assert layout.form.encoding == encoding
    assert layout.rows[0] == ("房间很干净", "1")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "un café “noir”"),
        ("latin-1", "un café \x81 noir"),  # a byte that cp1252 does not have
        ("utf-16-le", "un café noir"),
        ("utf-16-be", "un café noir"),
    ],
)
def test_western_encodings_and_utf16_without_its_mark_are_recognised(tmp_path: Path, encoding: str, text: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(f"text,label\nfine,1\n{text},0\n".encode(encoding))

    layout = find_layout(path)

    assert (layout.form.encoding, layout.rows[1]) == (encoding, (text, "0"))


@pytest.mark.parametrize("content", ["text,label\nfine,1\nздравствуйте,0\n".encode("cp1251"), b"a,b\n\x00\x01\xe9,1\n"])
def test_bytes_that_are_no_western_text_are_reported_with_their_row(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content)

    with pytest.raises(BytesUndecodable) as caught:
        find_layout(path)

    assert caught.value.row > 1


def test_an_encoding_that_is_given_is_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes("text,label\nfine,1\nздравствуйте,0\n".encode("cp1251"))

    assert find_layout(path, encoding="cp1251").rows[1] == ("здравствуйте", "0")


def test_the_error_of_the_most_likely_layout_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\nfine,1\nwell, bad,0\n")

    with pytest.raises(RowMalformed) as caught:
        find_layout(path)

    assert caught.value.row == 3


def test_nulls_and_nested_values_of_json_are_empty_cells(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in [{"a": "x", "b": None, "c": [1]}, {"a": "y"}]))

    assert find_layout(path).rows == [("x", "", ""), ("y", "", "")]


def test_a_header_alone_is_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n")

    with pytest.raises(FileEmpty):
        find_layout(path)


def test_columns_of_lists_are_kept_in_addition_to_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [
        {"a": "x", "tags": ["p", 1], "mixed": ["p"], "deep": [["p"]]},
        {"a": "y", "tags": None, "mixed": "p", "deep": []},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))

    assert find_layout(path).lists == {1: [("p", "1"), ()]}

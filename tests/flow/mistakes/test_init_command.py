"""`limbeck init` in clumsy hands: data it cannot understand, and places it may not write to."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
GOOD = "text,label\na gorgeous film,good\na dreadful film,bad\ngorgeous,good\ndreadful,bad\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one good file in it."""
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text(GOOD, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.csv", b"", ("'x.csv' has no rows",)),
        ("x.csv", b"text,label\n", ("'x.csv' has no rows", "below its header")),
        ("x.csv", b"text,label\nfine,good\nnice,good\ngreat,good\n", ("all 3", "'good'", "two classes")),
        ("x.csv", b"text,label\nfine,good\n\x01\xe9\xe9\xe9,bad\n", ("'x.csv', row 3", "not valid utf-8", "e9")),
        ("x.csv", b"title,body\nx,fine\n", ("which column of 'x.csv' is the label", "title: x", "--label COLUMN")),
        ("x.jsonl", b"not json\n", ("'x.jsonl', row 1", "not valid JSON", "one JSON object")),
        ("x.parquet", b"PAR1 no more", ("cannot read 'x.parquet' as parquet",)),
        ("x.csv.gz", b"\x1f\x8b\x08 no more", ("cannot read 'x.csv.gz' as gzip", "Pack the file again")),
    ],
)
def test_data_that_cannot_be_understood_is_refused(
    limbeck: Command, name: str, content: bytes, words: tuple[str, ...]
) -> None:
    Path(name).write_bytes(content)

    assert limbeck("init", name).refused_with(*words)

    assert not Path("x.toml").exists()


def test_a_missing_file_is_reported_with_a_close_name_even_where_the_recipe_is_there(
    here: Path, limbeck: Command
) -> None:
    Path("mine.toml").touch()

    assert limbeck("init", "mine.cvs").refused_with("no file 'mine.cvs' (did you mean 'mine.csv'?)", str(here))


def test_a_folder_is_no_data(here: Path, limbeck: Command) -> None:
    assert limbeck("init", here).refused_with(f"cannot read '{here}'", "Is a directory", "Give a file")


def test_an_unknown_column_is_reported_with_those_there_are(limbeck: Command) -> None:
    assert limbeck("init", "mine.csv", "--text", "txt").refused_with("'txt' (did you mean 'text'?)", "text, label")


def test_a_recipe_that_is_there_is_not_overwritten_unasked(limbeck: Command) -> None:
    Path("mine.toml").write_text("precious", encoding="utf-8")

    assert limbeck("init", "mine.csv").refused_with("cannot use 'mine.toml': it already exists", "--out", "--force")
    kept = Path("mine.toml").read_text(encoding="utf-8")
    forced = limbeck("init", "mine.csv", "--force")

    assert kept == "precious"
    assert forced.code == 0
    assert "[corpus]" in Path("mine.toml").read_text(encoding="utf-8")


def test_a_place_that_cannot_be_written_is_refused(limbeck: Command) -> None:
    assert limbeck("init", "mine.csv", "--out", ".").refused_with("it is a folder", "the name of a file")
    assert limbeck("init", "mine.csv", "--out", "no/mine.toml").refused_with(
        "there is no folder 'no'", "make the folder"
    )


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.csv", None, ("no file 'none.csv'", "Correct the path")),
        ("more.csv", "", ("'more.csv' has no rows",)),
        (
            "more.csv",
            "id,stars\n1,2\n2,2\n3,4\n",
            ("cannot tell which column of 'more.csv' is the text", "stars: 2", "'text'"),
        ),
        ("mine.csv", GOOD, ("'mine.csv' cannot be the unlabelled text", "own train file", "omit --transfer")),
    ],
)
def test_unlabelled_text_that_is_no_use_is_refused_and_nothing_is_written(
    limbeck: Command, name: str, content: str | None, words: tuple[str, ...]
) -> None:
    if content is not None:
        Path(name).write_text(content, encoding="utf-8")

    assert limbeck("init", "mine.csv", "--transfer", name).refused_with(*words)

    assert not Path("mine.toml").exists()


def test_unlabelled_texts_that_are_laid_out_differently_are_reported_with_how(limbeck: Command) -> None:
    Path("one.csv").write_text("text\na fine film\n", encoding="utf-8")
    Path("two.csv").write_text("body\na poor film\n", encoding="utf-8")

    answer = limbeck("init", "mine.csv", "--transfer", "one.csv", "--transfer", "two.csv")

    assert answer.refused_with("2 files of unlabelled text", "two.csv: text = 'body'")


def test_given_text_is_reported_and_text_beside_the_data_is_offered(limbeck: Command) -> None:
    Path("unlabelled.csv").write_text("review\na fine film\nthe end\n", encoding="utf-8")

    offered = limbeck("init", "mine.csv", "--out", "offered.toml")
    given = limbeck("init", "mine.csv", "--transfer", "unlabelled.csv", "--out", "given.toml")

    assert "unlabelled.csv is in the same folder: with --transfer unlabelled.csv the student also learns" in offered.out
    found = tomllib.loads(Path("offered.toml").read_text(encoding="utf-8")).get("transfer", {})
    assert "unlabelled.csv" not in found.get("files", [])  # general text may take its place
    assert "unlabelled: unlabelled.csv, text: review" in given.out
    assert "is in the same folder" not in given.out
    assert tomllib.loads(Path("given.toml").read_text(encoding="utf-8"))["transfer"]["text"] == "review"

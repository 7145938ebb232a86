"""Recipes and data files that nobody would write, and that somebody will hand over."""

import gzip
import json
import os
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from limbeck.cli import app
from limbeck.corpus.file_rows import read_file
from limbeck.errors import FileUnreadable
from limbeck.recipe.corpus import CorpusSection


@pytest.mark.parametrize(
    "text",
    [
        "[corpus]\ntrain = " + "[" * 5000 + "]" * 5000,
        "a" + ".a" * 5000 + " = 1",
        "[corpus" + ".a" * 40 + "]\nb = 1",
        "x = " + "{a = " * 3000 + "1" + "}" * 3000,
    ],
    ids=["lists", "dotted", "table", "inline"],
)
def test_a_recipe_nested_too_deeply_is_refused(tmp_path: Path, text: str) -> None:
    recipe = tmp_path / "deep.toml"
    recipe.write_text(text, encoding="utf-8")

    found = CliRunner().invoke(app, ["run", str(recipe)])

    assert found.exit_code == 2
    assert "nested too deeply" in found.stderr or "not valid TOML" in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_its_mark_is_named_and_read_when_it_is_given(
    model_folder: Path, tmp_path: Path, encoding: str
) -> None:
    file = tmp_path / "texts.csv"
    file.write_bytes("text,id\na gorgeous film,1\na dreadful film,2\n".encode(encoding))

    guessed = CliRunner().invoke(app, ["predict", str(model_folder), str(file)])
    given = CliRunner().invoke(app, ["predict", str(model_folder), str(file), "--encoding", encoding])

    assert guessed.exit_code == 2
    assert f"--encoding {encoding}" in guessed.stderr
    assert given.exit_code == 0, given.stderr
    assert given.stdout.count("\n") == 3


def test_a_few_zero_bytes_are_not_utf_16(model_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_bytes(b"a gorgeous\0 film\na dreadful film\n")

    found = CliRunner().invoke(app, ["predict", str(model_folder), str(file)])

    assert found.exit_code == 0, found.stderr


def test_labels_of_400_digits_are_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"text number {number},{'12'[number % 2] * 400}\n" for number in range(100))
    Path("digits.csv").write_text("text,label\n" + rows, encoding="utf-8")

    found = CliRunner().invoke(app, ["init", "digits.csv", "--text", "text", "--label", "label"])

    assert found.exit_code == 0, found.stderr


def test_control_characters_of_names_do_not_reach_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("red\x1b[31m", "bell\x07\x9b")
    rows = "".join(f"text number {number},{names[number % 2]}\n" for number in range(200))
    Path("names.csv").write_text("text,label\n" + rows, encoding="utf-8")

    drafted = CliRunner().invoke(app, ["init", "names.csv"], color=True)
    examined = CliRunner().invoke(app, ["doctor", "names.csv"], color=True)
    refused = CliRunner().invoke(app, ["run", "nothing\x1b[31m.csv"], color=True)

    for found in (drafted, examined, refused):
        shown = found.stdout + found.stderr
        assert "\x1b[31m." not in shown
        assert "red\x1b[31m" not in shown
        assert "\x07" not in shown
        assert "\x9b" not in shown
    assert "red␛[31m" in drafted.stdout + drafted.stderr
    assert "\x1b" not in Path("names.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [["init"], ["run"], ["doctor"]])
@pytest.mark.parametrize("name", ["rows.csv", "rows", "rows.parquet", "recipe.toml"])
def test_a_pipe_is_refused_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(name)

    found = CliRunner().invoke(app, [*words, name])

    assert found.exit_code == 2
    assert "Traceback" not in found.stderr
    assert f"did you mean '{name}'" not in found.stderr


@pytest.mark.parametrize("key", ["corpus.train", "corpus.dev", "transfer.files"])
def test_a_pipe_in_a_recipe_is_refused_and_not_waited_for(tmp_path: Path, key: str) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    rows = "".join(f"text {number},{'xy'[number % 2]}\n" for number in range(200))
    (tmp_path / "rows.csv").write_text("text,label\n" + rows, encoding="utf-8")
    recipe = '[corpus]\ntrain = "rows.csv"\n[teacher]\nkind = "linear"\n'
    (tmp_path / "recipe.toml").write_text(recipe, encoding="utf-8")
    value = '["pipe.csv"]' if key == "transfer.files" else "pipe.csv"
    words = ["run", str(tmp_path / "recipe.toml"), "--set", f"{key}={value}", "--out", str(tmp_path / "out")]

    found = CliRunner().invoke(app, words)

    assert found.exit_code == 2, found.stdout + found.stderr
    assert "pipe.csv" in found.stderr


@pytest.mark.parametrize("row", [b"a,b\n", b"\n"])
def test_rows_that_repeat_millions_of_times_in_a_small_file_are_refused(tmp_path: Path, row: bytes) -> None:
    packed = tmp_path / "rows.csv.gz"
    packed.write_bytes(gzip.compress(b"text,label\n" + row * (12_000_000 // len(row))))
    section = CorpusSection.model_validate({"train": str(packed)})

    with pytest.raises(FileUnreadable, match=r"unpack to more than 8,388,608"):
        read_file(section, packed, split="train")


def test_a_large_log_that_packs_to_a_fiftieth_is_read(tmp_path: Path) -> None:
    chance = random.Random(0)
    lines = [
        f"2026-01-{chance.randrange(28):02} GET /a/long/path/of/a/page.html 200 {'-' * 120},ok" for _ in range(60_000)
    ]
    data = "\n".join(["text,label", *lines]).encode()
    (tmp_path / "log.csv.gz").write_bytes(packed := gzip.compress(data))
    section = CorpusSection.model_validate({"train": str(tmp_path / "log.csv.gz")})

    rows, _, _ = read_file(section, tmp_path / "log.csv.gz", split="train")

    assert len(data) > 1 << 23
    assert len(data) > 20 * len(packed)
    assert len(rows) == 60_000


def test_numbers_that_are_infinite_are_written_as_null(model_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"text": "a film", "x": 1e400, "y": [1, {"z": NaN}]}\n', encoding="utf-8")

    out = tmp_path / "out.jsonl"
    found = CliRunner().invoke(app, ["predict", str(model_folder), str(tmp_path / "rows.jsonl"), "--out", str(out)])

    assert found.exit_code == 0, found.stderr
    row = json.loads(out.read_text(encoding="utf-8"), parse_constant=lambda name: pytest.fail(name))
    assert (row["x"], row["y"]) == (None, [1, {"z": None}])

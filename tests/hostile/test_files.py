"""Recipes and data files that nobody would write, and that somebody will hand over."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from limbeck.cli import app


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

"""The command: exit statuses, JSON, and standard input."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from limbeck.cli.app import app


@pytest.fixture
def same(tmp_path: Path, toy_rows: tuple[tuple[str, str], ...]) -> Path:
    """A file of the rows that the profile is about."""
    path = tmp_path / "same.txt"
    path.write_text("".join(f"{text}\n" for text, _ in toy_rows[:20]), encoding="utf-8")
    return path


def test_no_drift_is_zero(model_folder: Path, same: Path) -> None:
    done = CliRunner().invoke(app, ["drift", str(model_folder), str(same), "--exit-code"])

    assert done.exit_code == 0, done.output
    assert "No drift" in done.output


def test_drift_is_one_if_it_is_asked_for(model_folder: Path) -> None:
    texts = "xyzzy\n" * 200

    asked = CliRunner().invoke(app, ["drift", str(model_folder), "-", "--exit-code", "--json"], input=texts)
    not_asked = CliRunner().invoke(app, ["drift", str(model_folder), "-"], input=texts)

    assert (asked.exit_code, not_asked.exit_code) == (1, 0)
    found = json.loads(asked.stdout)
    assert found["is_drift"]
    assert found["rows"] == 200
    assert {signal["name"]: signal["is_drift"] for signal in found["signals"]}["unknown words"]


def test_an_error_is_two(model_folder: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["drift", str(model_folder), str(tmp_path / "none.csv"), "--exit-code"])

    assert done.exit_code == 2

"""Names that look like rich's markup or its emoji codes: every command prints them letter for letter."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
NAMES = {"positive": "[b]", "negative": "[/] :x:"}
FOLDER = "[red]x[,] :x:"
QUICK = ("teacher.epochs=1", "teacher.near_chance=warn", "distillation.epochs=1", "export.precisions=['fp32']")


@pytest.fixture(scope="module")
def odd(write_recipe: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory, limbeck: Command) -> Any:
    """A finished run in a folder of an odd name, with classes of odd names; and what was said meanwhile."""
    folder = tmp_path_factory.mktemp("odd") / FOLDER
    recipe = write_recipe(folder)
    names = ", ".join(f"{json.dumps(raw)} = {json.dumps(name)}" for raw, name in NAMES.items())

    changes = [part for change in (*QUICK, f"corpus.label_names={{{names}}}") for part in ("--set", change)]
    answer = limbeck("run", recipe, "--out", folder / "run", *changes)

    assert answer.code == 0, answer.err
    return folder / "run", answer


def test_run(odd: Any) -> None:
    run, answer = odd

    assert all(name in answer.err for name in NAMES.values()), answer.err
    assert str(run / "report" / "report.html") in answer.out
    assert str(run / "models" / "bilstm") in answer.out


def test_report(odd: Any, limbeck: Command) -> None:
    classes = limbeck("report", odd[0], "--table", "classes").out

    assert all(f"\n{name} " in classes for name in NAMES.values()), classes


def test_labels(odd: Any, limbeck: Command, tmp_path: Path) -> None:
    export = tmp_path / "[b]:x:.csv"

    shown = limbeck("labels", odd[0], "--export", export).out

    assert all(f"\n{name} " in shown for name in NAMES.values()), shown
    assert f"rows to {export}" in shown


def test_transfer(odd: Any, limbeck: Command) -> None:
    shown = limbeck("transfer", odd[0]).out

    assert all(f"{name} " in shown.partition("teacher's classes")[2] for name in NAMES.values()), shown


def test_compare(odd: Any, limbeck: Command, tmp_path: Path) -> None:
    page = tmp_path / "[b]:x:.html"
    other = shutil.copytree(odd[0], tmp_path / "[/]")

    answer = limbeck("compare", odd[0], other, "--html", page)

    assert "[/]" in answer.out, answer
    assert f"Wrote {page}" in answer.err, answer


def test_doctor(odd: Any, limbeck: Command) -> None:
    answer = limbeck("doctor", "--no-ask", odd[0].parent / "[b] :x:.toml")

    assert "'" + str(odd[0].parent / "[b] :x:.toml") in answer.err, answer


def test_init_and_augment(limbeck: Command, tmp_path: Path) -> None:
    data = tmp_path / "[b]:x:.csv"
    words = [word for _ in range(30) for word in ("good", "bad")]
    rows = "".join(f"a {word} [/] film :x: number {number},{word}\n" for number, word in enumerate(words))
    data.write_text(f"text,label\n{rows}", encoding="utf-8")

    drafted = limbeck("init", data, "--out", data.with_suffix(".toml"))
    copies = limbeck("augment", data, "--method", "delete", "--show", 3)

    assert f"Wrote {data.with_suffix('.toml')}. Read it" in drafted.out, drafted
    assert "[/]" in copies.out, copies
    assert ":x:" in copies.out

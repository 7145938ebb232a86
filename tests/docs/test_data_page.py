"""The page about the data names the files that the recipes read, and tells one's own files from others."""

import hashlib
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from limbeck.recipe.load import load_recipe

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def data_files() -> ModuleType:
    return import_module("benchmarks.data_files")


def test_the_page_has_the_table_of_the_script(data_files: ModuleType) -> None:
    written = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")

    assert data_files.page(written) == written, "run `python benchmarks/data_files.py --write-page`"


def test_every_file_that_a_line_of_a_table_reads_is_described(data_files: ModuleType) -> None:
    described, read = {file.path for file in data_files.FILES}, set()
    for table in import_module("benchmarks.table_lines").TABLES.values():
        for line in table.lines:
            recipe = load_recipe(line.recipe, overrides=line.overrides, locate=False).recipe
            read |= {recipe.corpus.train, recipe.corpus.dev, *(recipe.transfer.files if recipe.transfer else ())}
            read |= {one for one in getattr(recipe.student, "vector_sources", []) if one not in ("teacher", "random")}

    missing = {str(path) for path in read if path} - described
    assert missing <= {"online_shopping/*.csv"}, "which means the one file there"


@pytest.mark.parametrize(("content", "expected"), [(b"rows", "same"), (b"others", "another"), (None, "missing")])
def test_a_file_is_distinguished_from_another_of_its_name(
    data_files: ModuleType, tmp_path: Path, content: bytes | None, expected: str
) -> None:
    path = tmp_path / "train.tsv"
    if content is not None:
        path.write_bytes(content)

    assert data_files.state(path, hashlib.sha256(b"rows").hexdigest()) == expected


def test_files_that_are_missing_do_no_harm_and_others_do(
    data_files: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["data_files.py"])
    monkeypatch.setenv("LIMBECK_DATA", str(tmp_path))
    data_files.main()
    assert "missing  sst2/dev.tsv" in capsys.readouterr().out
    (tmp_path / "sst2").mkdir()
    (tmp_path / "sst2" / "dev.tsv").write_text("mine", encoding="utf-8")

    with pytest.raises(SystemExit, match="a file with other bytes"):
        data_files.main()

    assert "another  sst2/dev.tsv" in capsys.readouterr().out

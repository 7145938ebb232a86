"""Exported models for the runtime's tests, made once per session."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.export import export_student
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export
from limbeck.runtime.engine import EngineChoice

ToyRows = tuple[tuple[str, str], ...]


@pytest.fixture(params=["onnx", "native"])
def engine(request: pytest.FixtureRequest) -> EngineChoice:
    """Each engine in turn that can run students of words here."""
    if request.param == "native":
        pytest.importorskip("limbeck.runtime._native")
    choice: EngineChoice = request.param
    return choice


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: ToyRows) -> Path:
    """A model of single texts. Shared: read it, don't write to it."""
    return exported_toy_model(tmp_path_factory.mktemp("single"), make_student, toy_rows)


@pytest.fixture(scope="session")
def pair_model_folder(tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: ToyRows) -> Path:
    """A model of pairs of texts. Shared: read it, don't write to it."""
    return exported_toy_model(tmp_path_factory.mktemp("pair"), make_student, toy_rows, pair=True)


@pytest.fixture(scope="session")
def multi_label_folder(tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: ToyRows) -> Path:
    """A model of single texts that may have several labels. Shared: read it, don't write to it."""
    return exported_toy_model(tmp_path_factory.mktemp("multi-label"), make_student, toy_rows, multi_label=True)


@pytest.fixture(scope="session")
def framed_folder(tmp_path_factory: pytest.TempPathFactory, make_framed_student: Any, toy_rows: ToyRows) -> Path:
    """A transformer of single texts. Shared: read it, don't write to it."""
    return exported_toy_model(tmp_path_factory.mktemp("framed"), make_framed_student, toy_rows)


@pytest.fixture(scope="session")
def framed_pair_folder(tmp_path_factory: pytest.TempPathFactory, make_framed_student: Any, toy_rows: ToyRows) -> Path:
    """A transformer of pairs of texts, which it knows by the types of their tokens. Shared: read it, don't write."""
    return exported_toy_model(tmp_path_factory.mktemp("framed-pair"), make_framed_student, toy_rows, pair=True)


@pytest.fixture(scope="session")
def framed_multi_label_folder(
    tmp_path_factory: pytest.TempPathFactory, make_framed_student: Any, toy_rows: ToyRows
) -> Path:
    """A transformer of single texts that may have several labels. Shared: read it, don't write to it."""
    return exported_toy_model(
        tmp_path_factory.mktemp("framed-multi-label"), make_framed_student, toy_rows, multi_label=True
    )


def exported_toy_model(
    folder: Path,
    make_student: Callable[..., StudentFolder],
    toy_rows: ToyRows,
    *,
    pair: bool = False,
    multi_label: bool = False,
    precision: Literal["fp32", "int8"] = "fp32",
) -> Path:
    """A student, exported."""
    texts = [text for text, _ in toy_rows[:20]]
    rows = Rows.of(ids=texts, texts=texts, pairs=texts[::-1] if pair else None)
    model = export_student(
        Export(),
        student=make_student(folder / "student", pair=pair, multi_label=multi_label),
        rows=rows,
        precision=precision,
        out=folder / "model",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    )
    return model.folder

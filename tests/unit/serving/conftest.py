"""Exported models, made once per session, and servers of them that run in process."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.export import export_student
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export
from limbeck.serving.app import create_app
from limbeck.serving.served_models import ModelSource, ServedModels

ToyRows = tuple[tuple[str, str], ...]


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: ToyRows) -> Path:
    """A model of single texts. Shared: read it, don't write to it."""
    return _exported(tmp_path_factory.mktemp("single"), make_student, toy_rows)


@pytest.fixture(scope="session")
def pair_model_folder(tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: ToyRows) -> Path:
    """A model of pairs of texts. Shared: read it, don't write to it."""
    return _exported(tmp_path_factory.mktemp("pair"), make_student, toy_rows, pair=True)


@pytest.fixture(scope="session")
def multi_label_folder(tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: ToyRows) -> Path:
    """A model of single texts that may have several labels. Shared: read it, don't write to it."""
    return _exported(tmp_path_factory.mktemp("multi-label"), make_student, toy_rows, multi_label=True)


@pytest.fixture
def client(model_folder: Path) -> Iterator[TestClient]:
    """Speaks to a fresh server of the model of single texts."""
    with TestClient(create_app(ServedModels.open([ModelSource(model_folder)]))) as client:
        yield client


@pytest.fixture
def pair_client(pair_model_folder: Path) -> Iterator[TestClient]:
    """Speaks to a fresh server of the model of pairs."""
    with TestClient(create_app(ServedModels.open([ModelSource(pair_model_folder)]))) as client:
        yield client


@pytest.fixture
def multi_label_client(multi_label_folder: Path) -> Iterator[TestClient]:
    """Speaks to a fresh server of the model whose texts may have several labels."""
    with TestClient(create_app(ServedModels.open([ModelSource(multi_label_folder)]))) as client:
        yield client


def _exported(
    folder: Path,
    make_student: Callable[..., StudentFolder],
    toy_rows: ToyRows,
    *,
    pair: bool = False,
    multi_label: bool = False,
) -> Path:
    texts = [text for text, _ in toy_rows[:20]]
    rows = Rows.of(ids=texts, texts=texts, pairs=texts[::-1] if pair else None)
    model = export_student(
        Export(),
        student=make_student(folder / "student", pair=pair, multi_label=multi_label),
        rows=rows,
        precision="fp32",
        out=folder / "model",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    )
    return model.folder

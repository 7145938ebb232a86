"""A transformer's file is judged by its network where there is a GPU, and by itself where the two do not agree."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows, runtime_rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.export.run import export_student
from limbeck.judging import answers
from limbeck.judging.answers import answers_of
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export
from limbeck.runtime.classifier import load


@pytest.fixture(params=[False, True], ids=["texts", "pairs"])
def student(
    request: pytest.FixtureRequest, make_student: Callable[..., StudentFolder], tmp_path: Path
) -> StudentFolder:
    return make_student(tmp_path / "student", pair=request.param)


@pytest.fixture
def rows(student: StudentFolder, toy_rows: tuple[tuple[str, str], ...]) -> Rows:
    texts = [text for text, _ in toy_rows[:90]]
    pairs = texts[::-1] if student.facts.pair else None
    return Rows.of(ids=[str(n) for n in range(90)], texts=texts, pairs=pairs, labels=[n % 3 for n in range(90)])


@pytest.fixture
def model(student: StudentFolder, rows: Rows, tmp_path: Path) -> ModelFolder:
    return export_student(
        Export(),
        student=student,
        rows=rows,
        precision="fp32",
        out=tmp_path / "model",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    )


@pytest.fixture
def asked_twice(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each call of a network was about, on a machine that has a fast one for any student."""
    sizes: list[int] = []
    plain = answers._network_logits

    def noted(model: Any, reader: Any, rows: Rows, **options: Any) -> Any:
        sizes.append(len(rows))
        return plain(model, reader, rows, **options)

    monkeypatch.setattr(answers, "_network_logits", noted)
    monkeypatch.setattr(answers, "has_fast_network", lambda _model: True)
    return sizes


def judged(model: ModelFolder, student: StudentFolder, rows: Rows) -> Any:
    with SilentReporter().bar("judging", total=len(rows), unit="rows") as bar:
        return answers_of({0: model}, rows=rows, bar=bar, students={0: student}).logits[0]


def test_the_network_says_what_its_file_says(
    model: ModelFolder, student: StudentFolder, rows: Rows, asked_twice: list[int]
) -> None:
    found = judged(model, student, rows)

    np.testing.assert_allclose(found, load(model.folder).logits(runtime_rows(rows)), atol=1e-4)
    assert asked_twice == [answers.COMPARED_ROWS, 90]


def test_where_the_two_do_not_agree_the_file_is_asked(
    model: ModelFolder, student: StudentFolder, rows: Rows, asked_twice: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = answers._network(student)
    with torch.no_grad():
        other.classifier.bias.add_(torch.tensor([0.1, 0.0, 0.0], device=other.classifier.bias.device))
    monkeypatch.setattr(answers, "_network", lambda _student: other)

    found = judged(model, student, rows)

    np.testing.assert_array_equal(found, load(model.folder).logits(runtime_rows(rows)))
    assert asked_twice == [answers.COMPARED_ROWS]


@pytest.mark.parametrize(
    ("kind", "precision", "device", "expected"),
    [
        ("transformer", "fp32", "cuda", True),
        ("transformer", "int8", "cuda", False),  # a file of its own, which no network says the same as
        ("bilstm", "fp32", "cuda", False),
        ("transformer", "fp32", "cpu", False),
    ],
)
def test_it_is_for_transformers_in_fp32_where_there_is_a_gpu(
    kind: str, precision: str, device: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "training_device", lambda: torch.device(device))
    model: Any = SimpleNamespace(facts=lambda: SimpleNamespace(kind=kind, precision=precision))

    assert answers.has_fast_network(model) is expected

"""Tokens and multiply-adds of a row of median length, as each model reads it."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.candidate import Candidate
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.export import export_student
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export
from limbeck.timing.row_cost import candidate_row_cost, spread, teacher_row_cost

KEY = Key(section={}, inputs={})
WORDS = ["the", "a", "this", "that", "film", "story", "scene", "actor", "camera", "music", "city", "road"] * 4
UNKNOWN = {"multiply_adds": None, "median_tokens": None}


def rows_of(*lengths: int, seconds: Sequence[int] | None = None) -> Rows:
    """Rows of so many words; with `seconds`, with second texts of so many."""
    texts = [" ".join(WORDS[:length]) for length in lengths]
    pairs = None if seconds is None else [" ".join(WORDS[:length]) for length in seconds]
    return Rows.of(ids=[str(number) for number in range(len(texts))], texts=texts, pairs=pairs)


def candidate_of(student: StudentFolder, rows: Rows, out: Path) -> Candidate:
    """The student as a line of the report, in fp32."""
    model = export_student(
        Export(), student=student, rows=rows, precision="fp32", out=out, key=KEY, reporter=SilentReporter()
    )
    return Candidate(name="student", role="student", exports={0: model}, shipped=model, students={0: student})


def as_teacher(folder: Path, source: Path, **facts_that_differ: Any) -> TeacherFolder:
    """The files of a folder with a teacher.json beside them."""
    facts: dict[str, Any] = {"name": "t", "labels": ["a", "b"], "dev_accuracy": 0.9, "max_length": 32}
    with written_atomically(folder, kind="teacher", key=KEY) as scratch:
        shutil.copytree(source, scratch, dirs_exist_ok=True, ignore=shutil.ignore_patterns("manifest.json"))
        save_teacher_facts(scratch, TeacherFacts(**{**facts, **facts_that_differ}))
    return TeacherFolder(folder)


def test_a_student_of_words_counts_its_words(make_student: Callable[..., StudentFolder], tmp_path: Path) -> None:
    """12 → 2 × 8, dense 16, three classes, on the median of 3, 5 and 9 words: 2·5·4·8·20 + 16·16 + 16·3."""
    rows = rows_of(9, 3, 5)

    cost = candidate_row_cost(candidate_of(make_student(tmp_path / "student"), rows, tmp_path / "model"), rows)

    assert cost == {"multiply_adds": 6_400 + 256 + 48, "median_tokens": 5}


def test_both_texts_of_a_pair_are_counted(make_student: Callable[..., StudentFolder], tmp_path: Path) -> None:
    """The head reads four times as much: 64·16 + 16·3."""
    rows = rows_of(5, 5, 5, seconds=[1, 2, 3])

    cost = candidate_row_cost(
        candidate_of(make_student(tmp_path / "student", pair=True), rows, tmp_path / "model"), rows
    )

    assert cost == {"multiply_adds": 7 * 1_280 + 1_024 + 48, "median_tokens": 7}


def test_a_transformer_counts_its_special_tokens_and_one_token_in_its_last_layer(
    make_framed_student: Callable[..., StudentFolder], tmp_path: Path
) -> None:
    """Two layers of 32 and 48, on 4 words and two special tokens: one layer for 6 tokens, one for the first."""
    rows = rows_of(4, 4, 4)

    cost = candidate_row_cost(candidate_of(make_framed_student(tmp_path / "student"), rows, tmp_path / "model"), rows)

    whole = 4 * 6 * 32**2 + 2 * 6**2 * 32 + 2 * 6 * 32 * 48
    last = 2 * 6 * 32**2 + 2 * 32**2 + 2 * 6 * 32 + 2 * 32 * 48
    assert cost == {"multiply_adds": whole + last + 32 * 32 + 32 * 3, "median_tokens": 6}


def test_an_encoder_works_out_every_token_in_every_layer(tiny_teacher_folder: Path, tmp_path: Path) -> None:
    """Two layers of 32 and 64, on 4 words and two special tokens."""
    teacher = as_teacher(tmp_path / "teacher", tiny_teacher_folder)

    cost = teacher_row_cost([teacher], rows_of(2, 4, 40))

    layer = 4 * 6 * 32**2 + 2 * 6**2 * 32 + 2 * 6 * 32 * 64
    assert cost == {"multiply_adds": 2 * layer + 32 * 32 + 32 * 2, "median_tokens": 6}


def test_texts_are_cut_where_the_model_cuts_them(tiny_teacher_folder: Path, tmp_path: Path) -> None:
    teacher = as_teacher(tmp_path / "teacher", tiny_teacher_folder, max_length=8)

    assert teacher_row_cost([teacher], rows_of(16, 16, 16))["median_tokens"] == 8


def test_a_student_of_another_run_is_counted_as_it_was_trained(
    make_student: Callable[..., StudentFolder], tmp_path: Path
) -> None:
    student = make_student(tmp_path / "student")
    teacher = as_teacher(tmp_path / "teacher", student.folder, kind="student", labels=["a", "b", "c"])

    assert teacher_row_cost([teacher], rows_of(5))["multiply_adds"] == 6_400 + 256 + 48


def test_members_are_counted_together_or_not_at_all(tiny_teacher_folder: Path, tmp_path: Path) -> None:
    encoder = as_teacher(tmp_path / "encoder", tiny_teacher_folder)
    unknown = as_teacher(tmp_path / "unknown", tiny_teacher_folder)
    (unknown.folder / "config.json").unlink()  # as beside an exported file
    rows = rows_of(4)
    alone = teacher_row_cost([encoder], rows)["multiply_adds"]

    assert teacher_row_cost([encoder, encoder], rows)["multiply_adds"] == 2 * (alone or 0)
    assert teacher_row_cost([encoder, unknown], rows) == {"multiply_adds": None, "median_tokens": 6}
    assert teacher_row_cost([], rows) == UNKNOWN


def test_a_file_whose_student_is_not_known_has_no_number(make_model: Callable[..., ModelFolder]) -> None:
    model = make_model("bilstm")
    candidate = Candidate(name="bilstm", role="student", exports={0: model}, shipped=model, students={})

    assert candidate_row_cost(candidate, rows_of(4)) == UNKNOWN


@pytest.mark.parametrize(("most", "kept"), [(3, ["0", "2", "4"]), (9, ["0", "1", "2", "3", "4"])])
def test_rows_are_taken_evenly_from_all_of_them(most: int, kept: list[str]) -> None:
    assert spread(rows_of(1, 1, 1, 1, 1), most=most).ids == kept

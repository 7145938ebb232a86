"""Reading tokens off a tokenizer, and sizes off the headers of weights."""

from pathlib import Path

import pytest

from limbeck.artifacts.rows import Rows
from limbeck.doctor.tokens import StudentReading, TeacherReading, sample, texts_of
from limbeck.errors import CheckpointDamaged
from limbeck.teacher.checkpoint import weights_in
from limbeck.text.word_tokenizer import build_word_tokenizer


def test_the_numbers_of_a_checkpoint_are_counted_without_loading_it(tiny_teacher_folder: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(tiny_teacher_folder)

    assert weights_in(tiny_teacher_folder) == sum(parameter.numel() for parameter in model.parameters())


def test_a_folder_without_weights_has_no_size(tmp_path: Path) -> None:
    assert weights_in(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"\xff" * 100])
def test_damaged_weights_are_named(tiny_teacher_copy: Path, content: bytes) -> None:
    (tiny_teacher_copy / "model.safetensors").write_bytes(content)

    with pytest.raises(CheckpointDamaged, match=r"model\.safetensors cannot be read"):
        weights_in(tiny_teacher_copy)


def test_a_damaged_tokenizer_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("{", encoding="utf-8")

    with pytest.raises(CheckpointDamaged, match=r"tokenizer\.json cannot be read"):
        TeacherReading.load(path, name="tiny", max_length=8, long_texts="head")


def test_a_sample_is_spread_over_the_rows_and_takes_all_of_few() -> None:
    rows = Rows.of(ids=[str(number) for number in range(9)], texts=["a"] * 9)

    assert sample(rows, most=3).ids == ["0", "4", "8"]
    assert sample(rows, most=100).ids == rows.ids
    assert len(sample(rows.select([]), most=3)) == 0


def test_second_texts_are_texts_too() -> None:
    rows = Rows.of(ids=["0", "1"], texts=["a", "b"], pairs=["c", "d"])

    assert sorted(texts_of([rows])) == ["a", "b", "c", "d"]


def test_of_two_texts_that_are_read_apart_the_longer_one_counts() -> None:
    tokenizer = build_word_tokenizer(["a b c"], language="en", max_size=10, min_count=1, lowercase=True)
    rows = Rows.of(ids=["0"], texts=["a"], pairs=["a b zzz"])

    reading = StudentReading(tokenizer, 2)

    assert reading.lengths(rows).tolist() == [3]
    assert reading.unknown_share(rows) == 0.0  # what is cut off is not read
    assert StudentReading(tokenizer, 3).unknown_share(rows) == 0.25

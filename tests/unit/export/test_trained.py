"""The trained student's logits: in eval mode, in order, and once for the same rows."""

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.export import run
from limbeck.export.run import cached_logits, student_logits
from limbeck.text.student_reader import StudentReader
from limbeck.text.word_tokenizer import build_word_tokenizer


class Counting(nn.Module):
    """A student whose logits are the number of tokens and its negative; in train mode they are wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[int, bool, int]] = []  # rows, whether gradients are kept, threads of a step
        self.threads: set[str] = set()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        self.calls.append((len(input_ids), torch.is_grad_enabled(), torch.get_num_threads()))
        self.threads.add(threading.current_thread().name)
        count = attention_mask.sum(dim=1) * (0 if self.training else 1)
        return SimpleNamespace(logits=torch.stack([count, -count], dim=1).float())


def rows_of(*texts: str) -> Rows:
    return Rows.of(ids=[str(number) for number in range(len(texts))], texts=texts)


def reader() -> StudentReader:
    tokenizer = build_word_tokenizer(["a b c d"], language="en", max_size=20, min_count=1, lowercase=True)
    return StudentReader(tokenizer, max_length=8)


def test_the_student_is_asked_in_eval_mode_and_left_in_the_mode_it_was_in() -> None:
    student = Counting().train()

    logits = student_logits(student, reader(), rows_of("a b", "a"))

    assert logits.tolist() == [[2.0, -2.0], [1.0, -1.0]]
    assert student.training


def test_batches_of_like_length_keep_the_order_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "TOKENS_PER_BATCH", 8)
    lengths = [1, 5, 2, 5, 1, 8, 3, 2, 1, 4]
    student = Counting()

    logits = student_logits(student, reader(), rows_of(*("a " * length for length in lengths)))

    assert logits[:, 0].tolist() == lengths
    assert len(student.calls) > 3


def test_every_batch_has_one_thread_and_keeps_no_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "TOKENS_PER_BATCH", 1)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    student = Counting()

    try:
        student_logits(student, reader(), rows_of("a", "b", "c"))

        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert student.calls == [(1, False, 1)] * 3
    assert threading.main_thread().name not in student.threads


@pytest.fixture
def folder(
    tmp_path: Path, make_student: Callable[..., StudentFolder], monkeypatch: pytest.MonkeyPatch
) -> StudentFolder:
    monkeypatch.setattr(run, "_cached", {})
    return make_student(tmp_path / "student")


def test_the_same_student_is_not_asked_twice_about_the_same_rows(folder: StudentFolder) -> None:
    student, rows = Counting(), rows_of("a", "a b")

    first = cached_logits(folder, student, reader(), rows)
    second = cached_logits(folder, student, reader(), rows)

    assert len(student.calls) == 1
    np.testing.assert_array_equal(first, second)


def test_other_rows_and_another_student_are_computed_again(
    tmp_path: Path, folder: StudentFolder, make_student: Callable[..., StudentFolder]
) -> None:
    student, rows = Counting(), rows_of("a", "a b")
    other = make_student(tmp_path / "other", pooling="last")
    cached_logits(folder, student, reader(), rows)

    turned = cached_logits(folder, student, reader(), rows_of("a b", "a"))
    cached_logits(other, student, reader(), rows)

    assert turned[:, 0].tolist() == [2.0, 1.0]
    assert len(student.calls) == 3


def test_only_a_limited_number_of_students_is_cached(folder: StudentFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "MOST_CACHED", 2)
    student = Counting()

    for text in ("a", "b", "c", "c", "a"):
        cached_logits(folder, student, reader(), rows_of(text))

    assert len(student.calls) == 4
    assert len(run._cached) == 2

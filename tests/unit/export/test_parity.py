from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn

from limbeck.artifacts.rows import Rows
from limbeck.export import parity as module
from limbeck.export.parity import Exported, ExportRefused, Parity, measure_parity, refuse_different
from limbeck.export.run import student_logits
from limbeck.recipe.export import Export
from limbeck.runtime.classifier import Classifier
from limbeck.text.student_reader import StudentReader
from limbeck.text.word_tokenizer import build_word_tokenizer


class Counting(nn.Module):
    """A student whose logits are the number of tokens and its negative; in train mode they are wrong."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        assert input_ids.shape == attention_mask.shape
        count = attention_mask.sum(dim=1) * (0 if self.training else 1)
        return SimpleNamespace(logits=torch.stack([count, -count], dim=1).float())


class File:
    """An exported file with the same logits, except for single rows, or rows in a batch, as the test chooses."""

    def __init__(self, *, error_alone: float = 0.0, error_batched: float = 0.0, multi_label: bool = False) -> None:
        self.facts = SimpleNamespace(max_length=8, multi_label=multi_label)
        self._alone, self._batched = error_alone, error_batched
        self.calls: list[list[str]] = []

    def logits(self, rows: list[str]) -> npt.NDArray[np.float32]:
        self.calls.append(list(rows))
        error = self._alone if len(rows) == 1 else self._batched
        return np.array([[len(row.split()) + error, -len(row.split())] for row in rows], dtype=np.float32)


def rows_of(*texts: str) -> Rows:
    return Rows.of(ids=[str(number) for number in range(len(texts))], texts=texts)


def reader() -> StudentReader:
    tokenizer = build_word_tokenizer(["a b c d"], language="en", max_size=20, min_count=1, lowercase=True)
    return StudentReader(tokenizer, max_length=8)


def parity_of(*exported: File) -> Parity:
    rows = rows_of("a", "a b", "a b c")
    files = [Exported(cast(Classifier, file), threads=2) for file in exported]
    return measure_parity(student_logits(Counting(), reader(), rows), files, rows)


def test_a_faithful_file_has_no_difference() -> None:
    assert parity_of(File()) == Parity(rows=3, largest_difference=0.0, agreement=1.0)


def test_a_fault_that_only_shows_in_batches_is_found() -> None:
    parity = parity_of(File(error_batched=-3.0))

    assert parity.largest_difference == 3.0
    assert parity.agreement == pytest.approx(2 / 3)  # 1 - 3 falls below -1; 2 - 3 does not fall below -2


def test_a_fault_that_only_shows_in_rows_on_their_own_is_found() -> None:
    parity = parity_of(File(error_alone=-3.0))

    assert parity.largest_difference == 3.0
    assert parity.agreement == pytest.approx(2 / 3)


@pytest.mark.parametrize("where", ["error_alone", "error_batched"])
@pytest.mark.parametrize("faulty_place", [0, 1])
def test_a_fault_of_one_engine_is_found(where: str, faulty_place: int) -> None:
    engines = [File(), File()]
    engines[faulty_place] = File(**{where: -3.0})  # type: ignore[arg-type]

    parity = parity_of(*engines)

    assert parity.largest_difference == 3.0
    assert parity.agreement == pytest.approx(2 / 3)


def test_where_a_row_may_have_several_labels_one_that_differs_is_enough() -> None:
    """Logits of 1, 2 and 3 become -1, 0 and 1: a label is lost on the first row, though the largest logit stays."""
    parity = parity_of(File(error_batched=-2.0, multi_label=True))

    assert parity.agreement == pytest.approx(2 / 3)


def test_every_row_is_computed_once_in_batches() -> None:
    file = File()
    exported, rows = Exported(cast(Classifier, file), threads=1), rows_of("a", "a b", "a b c")

    before = exported.logits(["a b", "a b", "c"])
    measure_parity(student_logits(Counting(), reader(), rows), [exported], rows)

    assert before[:, 0].tolist() == [2, 2, 1]
    assert [call for call in file.calls if len(call) > 1] == [["a b", "a b", "c"], ["a", "a b c"]]


def test_rows_of_all_lengths_are_asked_about_alone_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ALONE", 3)
    file, rows = File(), rows_of("a b", "a b c d e", "a", "a b c", "a b c d")

    measure_parity(student_logits(Counting(), reader(), rows), [Exported(cast(Classifier, file), threads=1)], rows)

    assert [call for call in file.calls if len(call) == 1] == [["a"], ["a b c"], ["a b c d e"]]


@pytest.mark.parametrize("difference", [2e-4, float("nan")])
def test_fp32_is_refused_beyond_the_tolerance(difference: float) -> None:
    parity = Parity(rows=3, largest_difference=difference, agreement=1.0)

    with pytest.raises(ExportRefused, match="largest difference of a logit on 3 rows"):
        refuse_different(Export(fp32_tolerance=1e-4), parity, precision="fp32", student=Path("student"))


@pytest.mark.parametrize("where", ["error_alone", "error_batched"])
def test_nan_is_found_in_batches_and_alone(where: str) -> None:
    parity = parity_of(File(**{where: float("nan")}))  # type: ignore[arg-type]

    assert np.isnan(parity.largest_difference)


def test_int8_is_refused_with_nan_however_much_it_agrees() -> None:
    with pytest.raises(ExportRefused, match="largest difference of a logit on 3 rows: not a number"):
        refuse_different(
            Export(int8_agreement=0.0),
            Parity(3, float("nan"), agreement=1.0),
            precision="int8",
            student=Path("student"),
        )


@pytest.mark.parametrize(("rows", "differing", "refused"), [(6, 1, False), (40, 2, False), (40, 3, True), (6, 2, True)])
def test_of_a_small_dev_two_rows_may_differ_and_hardly_more(rows: int, differing: int, refused: bool) -> None:
    parity = Parity(rows, 0.5, agreement=1 - differing / rows)

    with pytest.raises(ExportRefused, match=r"loosen export\.int8_agreement") if refused else nullcontext():
        refuse_different(Export(int8_agreement=0.98), parity, precision="int8", student=Path("student"))


@pytest.mark.parametrize(("rows", "limit"), [(40, 1.0), (100, 0.99)])
def test_a_limit_that_allows_no_row_or_a_dev_that_is_not_small_is_kept(rows: int, limit: float) -> None:
    with pytest.raises(ExportRefused):
        refuse_different(
            Export(int8_agreement=limit), Parity(rows, 0.5, agreement=1 - 2 / rows), precision="int8", student=Path("s")
        )


def test_int8_is_refused_below_the_agreement_only() -> None:
    section = Export(int8_agreement=0.98)

    refuse_different(section, Parity(100, 0.5, agreement=0.98), precision="int8", student=Path("student"))
    with pytest.raises(ExportRefused, match=r"same label on 100 rows: 97\.00%; allowed: at least 98\.00%"):
        refuse_different(section, Parity(100, 0.5, agreement=0.97), precision="int8", student=Path("student"))

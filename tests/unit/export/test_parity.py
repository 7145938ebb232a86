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
from limbeck.export.parity import (
    Difference,
    Exported,
    ExportRefused,
    Parity,
    measure_parity,
    refuse_different,
    worst_difference,
)
from limbeck.export.run import student_logits
from limbeck.recipe.export import Export, Precision
from limbeck.runtime.classifier import Classifier
from limbeck.text.student_reader import StudentReader
from limbeck.text.word_tokenizer import build_word_tokenizer


class Counting(nn.Module):
    """A student whose logits are the number of tokens and its negative, times `scale`; in train mode they are wrong."""

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self._scale = scale

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        assert input_ids.shape == attention_mask.shape
        count = attention_mask.sum(dim=1) * (0 if self.training else self._scale)
        return SimpleNamespace(logits=torch.stack([count, -count], dim=1).float())


class File:
    """An exported file with the same logits, except for single rows, or rows in a batch, as the test chooses."""

    def __init__(
        self, *, error_alone: float = 0.0, error_batched: float = 0.0, multi_label: bool = False, scale: float = 1.0
    ) -> None:
        self.facts = SimpleNamespace(max_length=8, multi_label=multi_label, scale=None)
        self._alone, self._batched, self._scale = error_alone, error_batched, scale
        self.calls: list[list[str]] = []

    def logits(self, rows: list[str]) -> npt.NDArray[np.float32]:
        self.calls.append(list(rows))
        error = self._alone if len(rows) == 1 else self._batched
        counts = [self._scale * len(row.split()) for row in rows]
        return np.array([[count + error, -count] for count in counts], dtype=np.float32)


def rows_of(*texts: str) -> Rows:
    return Rows.of(ids=[str(number) for number in range(len(texts))], texts=texts)


def reader() -> StudentReader:
    tokenizer = build_word_tokenizer(["a b c d"], language="en", max_size=20, min_count=1, lowercase=True)
    return StudentReader(tokenizer, max_length=8)


def parity_of(*exported: File, scale: float = 1.0) -> Parity:
    rows = rows_of("a", "a b", "a b c")
    files = [Exported(cast(Classifier, file), threads=2) for file in exported]
    return measure_parity(student_logits(Counting(scale), reader(), rows), files, rows)


def parity(rows: int = 3, *, difference: float = 0.5, scale: float = 1.0, agreement: float = 1.0) -> Parity:
    return Parity(rows, difference, agreement, worst=Difference(difference, scale=scale))


def test_a_faithful_file_has_no_difference() -> None:
    found = parity_of(File())

    assert (found.rows, found.largest_difference, found.agreement, found.worst.relative) == (3, 0.0, 1.0, 0.0)


def test_a_fault_that_only_shows_in_batches_is_found() -> None:
    found = parity_of(File(error_batched=-3.0))

    assert found.largest_difference == 3.0
    assert found.agreement == pytest.approx(2 / 3)  # 1 - 3 falls below -1; 2 - 3 does not fall below -2


def test_a_fault_that_only_shows_in_rows_on_their_own_is_found() -> None:
    found = parity_of(File(error_alone=-3.0))

    assert found.largest_difference == 3.0
    assert found.agreement == pytest.approx(2 / 3)


@pytest.mark.parametrize("where", ["error_alone", "error_batched"])
@pytest.mark.parametrize("faulty_place", [0, 1])
def test_a_fault_of_one_engine_is_found(where: str, faulty_place: int) -> None:
    engines = [File(), File()]
    engines[faulty_place] = File(**{where: -3.0})  # type: ignore[arg-type]

    found = parity_of(*engines)

    assert found.largest_difference == 3.0
    assert found.agreement == pytest.approx(2 / 3)


def test_where_a_row_may_have_several_labels_one_that_differs_is_enough() -> None:
    """Logits of 1, 2 and 3 become -1, 0 and 1: a label is lost on the first row, though the largest logit stays."""
    found = parity_of(File(error_batched=-2.0, multi_label=True))

    assert found.agreement == pytest.approx(2 / 3)


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


def judged(found: Parity, *, section: Export | None = None, precision: Precision = "fp32") -> None:
    refuse_different(section or Export(), found, precision=precision, student=Path("student"))


@pytest.mark.parametrize(("difference", "scale"), [(2e-4, 1.0), (0.03, 200.0), (float("nan"), 1.0)])
def test_fp32_is_refused_beyond_the_tolerance(difference: float, scale: float) -> None:
    with pytest.raises(ExportRefused, match="largest difference of a logit for its scale on 3 rows"):
        judged(parity(difference=difference, scale=scale), section=Export(fp32_tolerance=1e-4))


def test_a_refusal_names_difference_scale_and_what_is_allowed() -> None:
    with pytest.raises(ExportRefused, match=r"0\.03 at a scale of 250; allowed: 0\.025, which is 0\.0001 of the scale"):
        judged(parity(difference=0.03, scale=250.0), section=Export(fp32_tolerance=1e-4))


def test_large_logits_may_differ_by_what_float32_rounds_away() -> None:
    """Of two float32 numbers near 200 the difference is at least 1.5e-5: ten such steps are above 1e-4."""
    judged(parity(difference=1.5e-4, scale=200.0), section=Export(fp32_tolerance=1e-4))


def test_small_logits_are_held_to_the_tolerance_itself() -> None:
    """Logits of 0.01 to 0.03: differences of 5e-5 are large for them, and allowed as before."""
    found = parity_of(File(scale=0.01, error_batched=5e-5), scale=0.01)

    assert found.worst.scale == 1.0
    judged(found)


def test_the_scale_is_the_largest_logit_of_the_row_or_of_the_median_row() -> None:
    """Logits of 100, 200 and 300. The first row may be near 0 because large numbers cancelled, so it counts as 200."""
    alone = parity_of(File(scale=100, error_alone=1), scale=100)
    batched = parity_of(File(scale=100, error_batched=1), scale=100)

    assert alone.worst.scale == batched.worst.scale == 200.0
    assert alone.worst.of_logit == pytest.approx(1.0)


def test_one_row_of_huge_logits_allows_nothing_to_the_others() -> None:
    trained = np.array([[1e6, -1e6], [2.0, -2.0], [3.0, -3.0]], dtype=np.float32)

    found = worst_difference(trained, [trained + np.array([[0.0], [0.01], [0.0]], dtype=np.float32)])

    assert found.of_logit == pytest.approx(0.01)
    assert found.scale == 3.0
    with pytest.raises(ExportRefused):
        judged(Parity(3, 0.01, 1.0, worst=found))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("who", ["trained", "exported", "both"])
def test_what_is_not_a_finite_number_is_refused_whatever_the_scale(wrong: float, who: str) -> None:
    logits = np.array([[1.0, -1.0], [2.0, -2.0]], dtype=np.float32)
    faulty = logits.copy()
    faulty[0, 0] = wrong
    trained, exported = {"trained": (faulty, logits), "exported": (logits, faulty), "both": (faulty, faulty)}[who]

    with pytest.raises(ExportRefused):
        judged(Parity(2, 0.0, 1.0, worst=worst_difference(trained, [logits, exported])))


@pytest.mark.parametrize("scale", [1.0, 1000.0])
@pytest.mark.parametrize("share", [0.01, 1.0])
def test_an_error_in_proportion_to_the_logits_is_refused_however_large_they_are(scale: float, share: float) -> None:
    with pytest.raises(ExportRefused):
        judged(parity_of(File(scale=scale * (1 + share)), scale=scale))


@pytest.mark.parametrize("where", ["error_alone", "error_batched"])
def test_nan_is_found_in_batches_and_alone(where: str) -> None:
    found = parity_of(File(**{where: float("nan")}))  # type: ignore[arg-type]

    assert np.isnan(found.largest_difference)
    assert np.isnan(found.worst.relative)


def test_int8_is_refused_with_nan_however_much_it_agrees() -> None:
    with pytest.raises(ExportRefused, match="largest difference of a logit on 3 rows: not a number"):
        judged(parity(difference=float("nan")), section=Export(int8_agreement=0.0), precision="int8")


@pytest.mark.parametrize(("rows", "differing", "refused"), [(6, 1, False), (40, 2, False), (40, 3, True), (6, 2, True)])
def test_of_a_small_dev_two_rows_may_differ_and_hardly_more(rows: int, differing: int, refused: bool) -> None:
    found = parity(rows, agreement=1 - differing / rows)

    with pytest.raises(ExportRefused, match=r"loosen export\.int8_agreement") if refused else nullcontext():
        judged(found, section=Export(int8_agreement=0.98), precision="int8")


@pytest.mark.parametrize(("rows", "limit"), [(40, 1.0), (100, 0.99)])
def test_a_limit_that_allows_no_row_or_a_dev_that_is_not_small_is_kept(rows: int, limit: float) -> None:
    with pytest.raises(ExportRefused):
        judged(parity(rows, agreement=1 - 2 / rows), section=Export(int8_agreement=limit), precision="int8")


def test_int8_is_refused_below_the_agreement_only() -> None:
    section = Export(int8_agreement=0.98)

    judged(parity(100, agreement=0.98), section=section, precision="int8")
    with pytest.raises(ExportRefused, match=r"same label on 100 rows: 97\.00%; allowed: at least 98\.00%"):
        judged(parity(100, agreement=0.97), section=section, precision="int8")

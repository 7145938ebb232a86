"""Parity or refusal: an exported file must say what the trained student says, on real rows."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.errors import ExportRefused, TooFewRows
from limbeck.recipe.export import Export, Precision
from limbeck.runtime.classifier import Classifier
from limbeck.text.student_reader import StudentReader, has_token_types
from limbeck.training.modes import evaluating
from limbeck.training.skill import predicted

Logits = npt.NDArray[np.float32]
TORCH_BATCH = 32


@dataclass(frozen=True)
class Parity:
    """How far the exported file is from the trained student, over batches and over rows on their own, by any engine."""

    rows: int
    largest_difference: float  # of a logit
    agreement: float  # share of rows with the same label, or the same set of them: the lowest of these shares


def sample(rows: Rows, *, most: int) -> Rows:
    """At most so many rows, evenly spread: files are often sorted by label."""
    if len(rows) == 0:
        raise TooFewRows(what="dev rows to compare the exported student on", rows=0, needed=1)
    return rows.select(np.linspace(0, len(rows) - 1, num=min(most, len(rows)), dtype=np.int64))


def on_every_engine(model: ModelFolder) -> list[Classifier]:
    """The file as each engine that can run it here reads it; onnxruntime, which always can, comes first."""
    portable, quickest = Classifier(model, threads=1, engine="onnx"), Classifier(model, threads=1)
    return [portable] if quickest.engine == portable.engine else [portable, quickest]


def measure_parity(student: nn.Module, reader: StudentReader, exported: Sequence[Classifier], rows: Rows) -> Parity:
    """Compare on every row twice: in the batches the runtime makes, and alone, where no padding can hide a fault.

    `exported` is the same file on one engine after the other.
    """
    asked = rows.texts if rows.pairs is None else list(zip(rows.texts, rows.pairs, strict=True))
    said = student_logits(student, reader, rows)
    heard = [classifier.logits(asked) for classifier in exported]
    heard += [np.concatenate([classifier.logits([row]) for row in asked]) for classifier in exported]
    return Parity(
        rows=len(rows),
        # Not `max`, which passes over what is no number if it comes second.
        largest_difference=float(np.max(np.abs([said - other for other in heard]))),
        agreement=min(_same_label(said, other, multi_label=exported[0].facts.multi_label) for other in heard),
    )


def refuse_unless_alike(section: Export, parity: Parity, *, precision: Precision, student: Path) -> None:
    """Raise ExportRefused where the recipe's limit is not kept; a difference that is no number never keeps it."""
    if precision == "fp32":
        alike = parity.largest_difference <= section.fp32_tolerance
        measure, found = "largest difference of a logit", f"{parity.largest_difference:.2g}"
        allowed = f"{section.fp32_tolerance:g}"
    elif not np.isfinite(parity.largest_difference):
        alike, measure, found, allowed = False, "largest difference of a logit", "no number", "any number"
    else:
        alike = parity.agreement >= section.int8_agreement
        measure, found = "share of rows with the same label", f"{parity.agreement:.2%}"
        allowed = f"at least {section.int8_agreement:.2%}"
    if not alike:
        raise ExportRefused(
            student=student, precision=precision, measure=measure, found=found, allowed=allowed, rows=parity.rows
        )


def student_logits(student: nn.Module, reader: StudentReader, rows: Rows) -> Logits:
    """(rows, classes): what the trained student says, in eval mode."""
    read, with_types = reader.read(rows.texts, rows.pairs), has_token_types(getattr(student, "config", None))
    blocks = []
    with evaluating(student), _one_torch_thread():
        for start in range(0, len(rows), TORCH_BATCH):
            batch = read.batch(range(start, min(start + TORCH_BATCH, len(rows))), with_types=with_types)
            tensors = {name: torch.from_numpy(array) for name, array in batch.items()}
            blocks.append(student(**tensors).logits.float().cpu().numpy())
    return np.concatenate(blocks)


@contextmanager
def _one_torch_thread() -> Iterator[None]:
    """Measured: the steps of an LSTM are too small to share out; with two threads they took twice as long at best."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _same_label(one: Logits, other: Logits, *, multi_label: bool) -> float:
    """The share of rows with the same label; where a row may have several, with the same ones."""
    same = predicted(one, multi_label=multi_label) == predicted(other, multi_label=multi_label)
    return float(np.mean(same.all(axis=1) if multi_label else same))

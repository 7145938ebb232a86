"""Parity or refusal: an exported file must say what the trained student says, on real rows."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.errors import LimbeckError, TooFewRows
from limbeck.recipe.export import Export, Precision
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.row import Row
from limbeck.training.skill import predicted

Logits = npt.NDArray[np.float32]
SMALL_DEV, FEWEST_ROWS, LEAST_AGREEMENT = 100, 2, 0.8  # in a dev of fewer rows two may differ, down to this share
MOST_ALONE = 256  # rows; one that is read by itself takes several times as long as in a batch


class ExportRefused(LimbeckError):
    """The exported file does not give the answers of the trained student."""

    def __init__(self, *, student: Path, precision: str, measure: str, found: str, allowed: str, rows: int) -> None:
        self.measure, self.measured = measure, found
        limit = "fp32_tolerance" if precision == "fp32" else "int8_agreement"
        super().__init__(
            f"export of '{student}' as {precision} refused: it does not match the trained student",
            found=f"{measure} on {rows:,} rows: {found}; allowed: {allowed}",
            advice=f"Remove {precision} from export.precisions, or loosen export.{limit} if you can accept that.",
        )


@dataclass(frozen=True)
class Parity:
    """How far the exported file is from the trained student, over batches and over rows on their own, by any engine."""

    rows: int
    largest_difference: float  # of a logit
    agreement: float  # share of rows with the same label, or the same set of them: the lowest of these shares


class Exported:
    """A file on one engine. What it says of a row in a batch is asked once, for whatever it is wanted."""

    def __init__(self, classifier: Classifier, *, threads: int) -> None:
        self._classifier, self._threads = classifier, threads
        self._said: dict[Row, Logits] = {}

    @property
    def facts(self) -> ModelFacts:
        """Of the file."""
        return self._classifier.facts

    def logits(self, rows: Sequence[Row]) -> Logits:
        """(rows, classes), in the batches that the runtime makes of the rows that are new."""
        new = [row for row in rows if row not in self._said]
        if new:
            self._said |= zip(new, self._classifier.logits(new), strict=True)
        return np.stack([self._said[row] for row in rows])

    def alone(self, rows: Sequence[Row]) -> Logits:
        """(rows, classes), each row by itself, several of them at once."""
        with ThreadPoolExecutor(self._threads) as pool:
            return np.concatenate(list(pool.map(lambda row: self._classifier.logits([row]), rows)))


def on_every_engine(model: ModelFolder, *, threads: int) -> list[Exported]:
    """The file as each engine that can run it here reads it; onnxruntime, which always can, comes first."""
    portable, quickest = Classifier(model, threads=threads, engine="onnx"), Classifier(model, threads=threads)
    found = [portable] if quickest.engine == portable.engine else [portable, quickest]
    return [Exported(classifier, threads=threads) for classifier in found]


def measure_parity(said: Logits, exported: Sequence[Exported], rows: Rows) -> Parity:
    """Compare with what the student said, twice: every row in the batches the runtime makes; then again with some rows
    alone, of all lengths, where no padding can hide a fault.

    `exported` is the same file on one engine after the other.
    """
    asked, alone = asked_of(rows), spread(np.argsort(rows.characters, kind="stable"), MOST_ALONE)
    heard = [file.logits(asked) for file in exported]
    for file, batched in zip(exported, list(heard), strict=True):
        heard.append(batched.copy())
        heard[-1][alone] = file.alone([asked[place] for place in alone])
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
        alike = parity.agreement >= section.int8_agreement or (section.int8_agreement < 1 and _is_chance(parity))
        measure, found = "share of rows with the same label", f"{parity.agreement:.2%}"
        allowed = f"at least {section.int8_agreement:.2%}, or {FEWEST_ROWS} rows that differ in a small dev"
    if not alike:
        raise ExportRefused(
            student=student, precision=precision, measure=measure, found=found, allowed=allowed, rows=parity.rows
        )


def _is_chance(parity: Parity) -> bool:
    """Whether the rows that differ are so few that a small dev alone makes them a large share."""
    differing = round((1 - parity.agreement) * parity.rows)
    return parity.rows < SMALL_DEV and differing <= FEWEST_ROWS and parity.agreement >= LEAST_AGREEMENT


def _same_label(one: Logits, other: Logits, *, multi_label: bool) -> float:
    """The share of rows with the same label; where a row may have several, with the same ones."""
    same = predicted(one, multi_label=multi_label) == predicted(other, multi_label=multi_label)
    return float(np.mean(same.all(axis=1) if multi_label else same))


Positions = npt.NDArray[np.int64]
ROWS_PER_END = 50  # of so many rows, one is among the shortest of all and one among the longest


def sample(rows: Rows, *, most: int, among: Positions | None = None) -> Rows:
    """At most so many rows: some of the shortest and of the longest, and others evenly spread.

    Faults may show at the ends, and files are often sorted by label. `among` are rows that are asked about anyhow:
    where there are enough of them, the others are of those.
    """
    if len(rows) == 0:
        raise TooFewRows(what="dev rows to compare the exported student on", rows=0, needed=1)
    if len(rows) <= most:
        return rows
    by_length, end = np.argsort(rows.characters, kind="stable"), most // ROWS_PER_END
    ends = np.concatenate([by_length[:end], by_length[len(rows) - end :]])
    everywhere = np.arange(len(rows)) if among is None or len(among) < most else among
    others = spread(np.setdiff1d(everywhere, ends), most - len(ends))
    return rows.select(np.sort(np.concatenate([ends, others])))


def spread(positions: Positions, most: int) -> Positions:
    """At most so many of them, evenly from the first to the last."""
    return positions[np.linspace(0, len(positions) - 1, num=min(most, len(positions)), dtype=np.int64)]


def asked_of(rows: Rows) -> list[Row]:
    """The rows as the runtime takes them."""
    return [*rows.texts] if rows.pairs is None else [*zip(rows.texts, rows.pairs, strict=True)]

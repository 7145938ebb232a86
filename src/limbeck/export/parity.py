"""Compares an exported file with the trained student on real rows, and refuses it if they differ."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.errors import LimbeckError, TooFewRows, some
from limbeck.recipe.export import Export, Precision
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.row import Row
from limbeck.training.skill import predicted

Logits = npt.NDArray[np.float32]
SMALL_DEV, MOST_DIFFERENT, MIN_AGREEMENT = 100, 2, 0.8  # in a dev of fewer rows two may differ, down to this share
MOST_ALONE = 256  # rows; a row by itself takes several times as long as in a batch


class ExportRefused(LimbeckError):
    """The exported file does not predict what the trained student predicts."""

    def __init__(
        self, *, student: Path, precision: str, measure: str, found: str, allowed: str, rows: int, limit: str = ""
    ) -> None:
        self.measure, self.measured = measure, found
        limit = limit or ("fp32_tolerance" if precision == "fp32" else "int8_agreement")
        super().__init__(
            f"export of '{student}' as {precision} refused: it does not match the trained student",
            found=f"{measure} on {rows:,} rows: {found}; allowed: {allowed}",
            advice=f"Remove {precision} from export.precisions, or loosen export.{limit} if you can accept that.",
        )


class TransductiveRefused(ExportRefused):
    """A network that learned with dev and test in its graph has no answers for other texts."""

    def __init__(self, *, student: Path, precision: str, accuracies: Mapping[str, float]) -> None:
        self.measure, self.measured = (
            "accuracy inside the graph",
            some([f"{accuracy:.1%} on {split}" for split, accuracy in accuracies.items()]),
        )
        LimbeckError.__init__(
            self,
            f"export of '{student}' as {precision} refused: student.transductive = true, and its graph has a node for "
            "every text it can answer, those of dev and test included",
            found=f"inside that graph: {self.measured}",
            advice="Those are its numbers, as published. For a model that reads new texts, set student.transductive = "
            "false; to stop after the numbers, run with --until distillation.",
        )


@dataclass(frozen=True)
class Difference:
    """How much a logit of a row differs, and how large the logits are that it is compared with."""

    of_logit: float
    scale: float

    @property
    def relative(self) -> float:
        """What a tolerance is compared with."""
        return self.of_logit / self.scale


@dataclass(frozen=True)
class Parity:
    """How much the exported file differs from the trained student: in batches, row by row, and on every engine."""

    rows: int
    largest_difference: float  # of a logit
    agreement: float  # share of rows with the same label, or the same set of labels: the lowest over all comparisons
    worst: Difference  # the largest for its scale
    mean_difference: float = 0.0  # of the outputs, over the rows: the largest over all comparisons


class Exported:
    """A file on one engine. Its logits for a row in a batch are computed once and then reused."""

    def __init__(self, classifier: Classifier, *, threads: int) -> None:
        self._classifier, self._threads = classifier, threads
        self._known: dict[Row, Logits] = {}

    @property
    def facts(self) -> ModelFacts:
        """The facts of the file."""
        return self._classifier.facts

    def logits(self, rows: Sequence[Row]) -> Logits:
        """(rows, classes); rows that are new are computed in the batches that the runtime makes of them."""
        new = [row for row in rows if row not in self._known]
        if new:
            self._known |= zip(new, self._classifier.logits(new), strict=True)
        return np.stack([self._known[row] for row in rows])

    def alone(self, rows: Sequence[Row]) -> Logits:
        """(rows, classes), each row in a batch of its own, on several threads."""
        with ThreadPoolExecutor(self._threads) as pool:
            return np.concatenate(list(pool.map(lambda row: self._classifier.logits([row]), rows)))


def on_every_engine(model: ModelFolder, *, threads: int) -> list[Exported]:
    """The file on each engine that can run it here; onnxruntime, which always can, is first."""
    portable, fastest = Classifier(model, threads=threads, engine="onnx"), Classifier(model, threads=threads)
    found = [portable] if fastest.engine == portable.engine else [portable, fastest]
    return [Exported(classifier, threads=threads) for classifier in found]


def measure_parity(trained: Logits, exported: Sequence[Exported], rows: Rows) -> Parity:
    """Compare with the trained student's logits, twice: every row in the batches that the runtime makes; then again
    with some rows by themselves, of all lengths, where padding cannot hide an error.

    `exported` is the same file on each engine.
    """
    inputs, alone = runtime_rows(rows), spread(np.argsort(rows.characters, kind="stable"), MOST_ALONE)
    outputs = [file.logits(inputs) for file in exported]
    for file, batched in zip(exported, list(outputs), strict=True):
        outputs.append(batched.copy())
        outputs[-1][alone] = file.alone([inputs[place] for place in alone])
    return Parity(
        rows=len(rows),
        # Not the builtin `max`, which ignores a NaN that comes second.
        largest_difference=float(np.max(np.abs([trained - other for other in outputs]))),
        agreement=min(_same_answer(trained, other, exported[0].facts) for other in outputs),
        worst=worst_difference(trained, outputs),
        mean_difference=float(np.max([np.abs(trained - other).mean() for other in outputs])),
    )


def worst_difference(trained: Logits, outputs: Sequence[Logits]) -> Difference:
    """The difference that is the largest for its scale; NaN, if there is one.

    The scale of a row is its largest logit, or that of the median row, if that is larger: a logit near 0 may be the sum
    of numbers as large as the logits of the other rows, and float32 keeps seven digits of these. It is at least 1.
    """
    of_row = np.abs(trained).max(axis=1)
    scales = np.maximum(1, np.maximum(of_row, np.median(of_row)))  # (rows); NaN stays NaN
    with np.errstate(invalid="ignore"):  # infinity less infinity is NaN
        differences = np.abs([trained - other for other in outputs]).max(axis=2)  # (outputs, rows)
        output, row = np.unravel_index((differences / scales).argmax(), differences.shape)  # the first NaN, if any
    return Difference(float(differences[output, row]), scale=float(scales[row]))


def refuse_different(
    section: Export, parity: Parity, *, precision: Precision, student: Path, scale: ScoreScale | None = None
) -> None:
    """Raise ExportRefused if the difference exceeds the recipe's limit; NaN always does. With the `scale` of scores an
    int8 file is judged by how far its scores are off."""
    limit = "int8_score_error" if scale is not None and precision == "int8" else ""
    if precision == "fp32":
        worst, tolerance = parity.worst, section.fp32_tolerance
        is_equal, measure = worst.relative <= tolerance, "largest difference of a logit for its scale"
        found = f"{worst.of_logit:.2g} at a scale of {worst.scale:.3g}"
        allowed = f"{tolerance * worst.scale:.2g}, which is {tolerance:g} of the scale"
    elif not np.isfinite(parity.largest_difference):
        is_equal, measure, found, allowed = False, "largest difference of a logit", "not a number", "any number"
    elif scale is not None:
        is_equal, measure = parity.mean_difference <= section.int8_score_error, "mean difference of a score"
        found = f"{parity.mean_difference * scale.sd:.3g}"
        allowed = (
            f"{section.int8_score_error * scale.sd:.3g}, which is {section.int8_score_error:g} standard deviations"
        )
    else:
        is_equal = parity.agreement >= section.int8_agreement or (section.int8_agreement < 1 and _is_chance(parity))
        measure, found = "share of rows with the same label", f"{parity.agreement:.2%}"
        allowed = f"at least {section.int8_agreement:.2%}, or {MOST_DIFFERENT} rows that differ in a small dev"
    if not is_equal:
        raise ExportRefused(
            student=student,
            precision=precision,
            measure=measure,
            found=found,
            allowed=allowed,
            rows=parity.rows,
            limit=limit,
        )


def _is_chance(parity: Parity) -> bool:
    """Whether only a few rows differ, and their share is large only because dev is small."""
    differing = round((1 - parity.agreement) * parity.rows)
    return parity.rows < SMALL_DEV and differing <= MOST_DIFFERENT and parity.agreement >= MIN_AGREEMENT


SAME_SCORE = 0.1  # standard deviations


def _same_answer(one: Logits, other: Logits, facts: ModelFacts) -> float:
    """The share of rows with the same label, or with the same set of labels if a row may have several; or with nearly
    the same score."""
    if facts.scale:
        return float(np.mean(np.abs(one - other) <= SAME_SCORE))
    multi_label = facts.multi_label
    same = predicted(one, multi_label=multi_label) == predicted(other, multi_label=multi_label)
    return float(np.mean(same.all(axis=1) if multi_label else same))


Positions = npt.NDArray[np.int64]
ROWS_PER_END = 50  # of this many rows, one is among the shortest of all and one among the longest


def sample(rows: Rows, *, most: int, among: Positions | None = None) -> Rows:
    """At most this many rows: some of the shortest and of the longest, and others evenly spread.

    Errors are likely at the ends, and files are often sorted by label. `among` are rows whose logits are needed anyway:
    if there are enough of them, the others are taken from these.
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
    """At most this many of them, evenly from the first to the last."""
    return positions[np.linspace(0, len(positions) - 1, num=min(most, len(positions)), dtype=np.int64)]


def runtime_rows(rows: Rows) -> list[Row]:
    """The rows in the form that the runtime reads."""
    return [*rows.texts] if rows.pairs is None else [*zip(rows.texts, rows.pairs, strict=True)]

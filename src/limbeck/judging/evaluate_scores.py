"""`limbeck evaluate` for a model of scores: correlations and errors on a file with a column of numbers."""

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TextIO

import numpy as np

from limbeck.artifacts.model_folder import ModelFacts
from limbeck.errors import DataError, some
from limbeck.judging.labelled_file import LabelledChunk, LabelledFile
from limbeck.judging.score_metrics import Floats, gains, intervals, measures, residuals_by_score
from limbeck.judging.significance import SAMPLES
from limbeck.runtime.classifier import Classifier
from limbeck.tables.raw_table import Watch

CHUNK_ROWS = 1024
MOST_ERRORS = 10
MOST_CHARACTERS = 1_000  # of a text among the errors that are kept


@dataclass(frozen=True)
class ScoreEvaluationResult:
    """What was found; errors are in the units of the scores."""

    model: str
    file: str
    text_columns: list[str]
    label_columns: list[str]
    rows: int  # judged
    without_text: int  # rows that were left out
    without_label: int
    spearman: float
    spearman_ci95: list[float]
    pearson: float
    pearson_ci95: list[float]
    mae: float
    mae_ci95: list[float]
    rmse: float
    rmse_ci95: list[float]
    rmse_of_mean: float  # of always giving the mean of these rows
    outside: int  # rows with a true score outside of the range of the model's answers
    residuals: list[dict[str, Any]]
    largest_residuals: list[dict[str, Any]]
    against: dict[str, Any] | None = None  # another model on the same rows, and how much better the first is

    def as_json(self) -> dict[str, Any]:
        """All of it, for programs."""
        return asdict(self)


def judged_scores(
    classifiers: Sequence[Classifier],
    file: LabelledFile,
    *,
    names: Sequence[str],
    errors: TextIO | None,
    watch: Watch,
) -> ScoreEvaluationResult:
    """The first model on the rows of an opened file, compared with the second, if there is one. All rows go to `errors`
    as csv, with their residuals. Two numbers are kept of every row, and the texts of the worst."""
    facts = classifiers[0].facts
    kept, true, given = _Worst(facts, errors), list[Floats](), [list[Floats]() for _ in classifiers]
    for chunk in file.chunks(CHUNK_ROWS):
        scores = np.array([float(score) for (score,) in chunk.labels], dtype=np.float64)
        true.append(scores)
        for answers, classifier in zip(given, classifiers, strict=True):
            answers.append(classifier.scores(chunk.rows))
        kept.add(chunk, scores, given[0][-1])
        watch(len(chunk.rows))
    if not true:
        raise DataError(
            f"no row of '{file.path}' has both a text and a score",
            found=f"the score is read from {some(file.label_columns)}",
            advice="Name other columns: --text COLUMN --label COLUMN.",
        )
    wanted, answered = np.concatenate(true), [np.concatenate(answers) for answers in given]
    bounds = intervals(wanted, answered[0][np.newaxis], samples=SAMPLES)
    numbers: dict[str, Any] = {
        **measures(wanted, answered[0]),
        **{f"{name}_ci95": interval for name, interval in bounds.items()},
    }
    scale = facts.scale
    assert scale is not None, "the caller has checked that it gives scores"
    return ScoreEvaluationResult(
        model=names[0],
        file=str(file.path),
        text_columns=file.text_columns,
        label_columns=file.label_columns,
        rows=len(wanted),
        without_text=file.without_text,
        without_label=file.without_label,
        **numbers,
        rmse_of_mean=float(wanted.std()),
        outside=int(((wanted < scale.low) | (wanted > scale.high)).sum()),
        residuals=residuals_by_score(wanted, answered[0]),
        largest_residuals=kept.worst(),
        against=_against(wanted, answered, names) if len(answered) > 1 else None,
    )


def _against(true: Floats, given: Sequence[Floats], names: Sequence[str]) -> dict[str, Any]:
    one, two = (answers[np.newaxis] for answers in given)
    return {
        "model": names[1],
        **measures(true, given[1]),
        "gain": gains(true, one, two, samples=SAMPLES),  # positive: the first is better
    }


class _Worst:
    """The rows with the largest residuals are kept, all are written to a csv file if one is given."""

    def __init__(self, facts: ModelFacts, sink: TextIO | None) -> None:
        self._kept: list[tuple[float, dict[str, Any]]] = []
        self._csv = csv.writer(sink, lineterminator="\n") if sink else None
        if self._csv:
            texts = ["text", "pair"] if facts.pair else ["text"]
            self._csv.writerow(["row", *texts, "score", "predicted", "residual"])

    def add(self, chunk: LabelledChunk, true: Floats, given: Floats) -> None:
        residuals = given - true
        if self._csv:
            for number, row, *numbers in zip(
                chunk.numbers, chunk.rows, true.tolist(), given.tolist(), residuals.tolist(), strict=True
            ):
                texts = [row] if isinstance(row, str) else list(row)
                self._csv.writerow([number, *texts, *(f"{one:.6g}" for one in numbers)])
        for at in np.argsort(-np.abs(residuals), kind="stable")[:MOST_ERRORS].tolist():
            self._kept.append((float(abs(residuals[at])), _row(chunk, at, float(true[at]), float(given[at]))))
        self._kept = sorted(self._kept, key=lambda one: -one[0])[:MOST_ERRORS]

    def worst(self) -> list[dict[str, Any]]:
        """The largest residual first."""
        return [entry for _, entry in self._kept]


def _row(chunk: LabelledChunk, at: int, true: float, given: float) -> dict[str, Any]:
    row = chunk.rows[at]
    texts = [row] if isinstance(row, str) else list(row)
    return {
        "row": chunk.numbers[at],
        "text": texts[0][:MOST_CHARACTERS],
        "pair": texts[1][:MOST_CHARACTERS] if texts[1:] else None,
        "score": true,
        "predicted": given,
    }

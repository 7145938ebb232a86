"""The quality numbers of one line of the report."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limbeck.artifacts.rows import Rows
from limbeck.judging import calibration, metrics
from limbeck.judging.answers import ModelAnswers, TeacherAnswers
from limbeck.judging.metrics import Bools, Ints
from limbeck.judging.significance import mcnemar
from limbeck.text.sentences import word_count

QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class LengthGroups:
    """The length group of every row, from short to long."""

    bounds: list[tuple[int, int]]  # fewest and most words of each group
    of_row: Ints  # (rows): number of the group

    def at(self, places: Ints) -> "LengthGroups":
        """The same groups for some of the rows."""
        return LengthGroups(bounds=self.bounds, of_row=self.of_row[places])


def length_groups(rows: Rows, *, language: str) -> LengthGroups:
    """Groups between the quartiles of the rows' lengths. Rows of equal length are in the same group, so there may be
    fewer than four groups, and larger ones."""
    lengths = row_lengths(rows, language=language)
    edges = np.unique(np.quantile(lengths, QUARTILES))
    number = np.searchsorted(edges, lengths, side="left")  # an edge belongs to the group below it
    kept, of_row = np.unique(number, return_inverse=True)
    bounds = [(int(lengths[number == one].min()), int(lengths[number == one].max())) for one in kept]
    return LengthGroups(bounds=bounds, of_row=of_row.astype(np.int64))


def row_lengths(rows: Rows, *, language: str) -> Ints:
    """(rows): number of words, for Chinese of characters; for a pair, of both texts."""
    columns = [rows.texts] if rows.pairs is None else [rows.texts, rows.pairs]
    counts = [[word_count(text, language=language) for text in column] for column in columns]
    return np.asarray(np.sum(counts, axis=0), dtype=np.int64)


def accuracy_by_length(correct: Bools, groups: LengthGroups) -> list[dict[str, Any]]:
    """Accuracy of each group, mean over seeds; None if none of its rows was answered. `correct` is (seeds, rows)."""
    table = []
    for number, bounds in enumerate(groups.bounds):
        inside = correct[:, groups.of_row == number]
        accuracy = float(inside.mean()) if inside.size else None
        table.append({"words": list(bounds), "rows": inside.shape[1], "accuracy": accuracy})
    return table


ACCURACY_KEYS = ("accuracy", "accuracy_sd", "accuracy_ci95", "accuracy_per_seed", "by_length")
CLASS_KEYS = ("macro_f1", "per_class", "macro", "weighted", "confusion", "mcc", "roc_auc")
CALIBRATION_KEYS = ("ece", "ece_calibrated", "temperature", "reliability", "reliability_calibrated")
MULTI_LABEL_KEYS = ("micro_f1", "hamming_loss")


def quality(answers: ModelAnswers, *, names: Sequence[str], groups: LengthGroups, samples: int) -> dict[str, Any]:
    """The quality keys of one line of the report; all but the number of seeds are None if no row was answered."""
    seeds = {"seed_count": len(answers.logits)}
    if len(answers.labels) == 0:
        multi_label = MULTI_LABEL_KEYS if answers.is_multi_label else ()
        return seeds | dict.fromkeys([*ACCURACY_KEYS, *CLASS_KEYS, *CALIBRATION_KEYS, *multi_label])
    return {
        **seeds,
        **_accuracy(answers, groups=groups, samples=samples),
        **_classes(answers, names=names),
        **_calibration(answers),
        **(_multi_label(answers) if answers.is_multi_label else {}),
    }


def gain(answers: ModelAnswers, *, baseline: ModelAnswers | None, samples: int) -> dict[str, Any] | None:
    """How much more accurate than the same student trained alone, with its 95 % interval; None without a baseline.

    The rival may be given in place of the baseline.
    """
    if baseline is None:
        return None
    difference = float(np.mean(answers.accuracies) - np.mean(baseline.accuracies))
    interval = metrics.gain_interval(answers.correct, baseline.correct, samples=samples)
    return {"accuracy": difference, "ci95": list(interval)}


def mcnemar_tests(
    answers: ModelAnswers, *, baseline: ModelAnswers | None, teacher: TeacherAnswers, rival: ModelAnswers | None = None
) -> dict[str, Any]:
    """McNemar's test of the shipped copy against baseline, rival and, on the rows it answered, the teacher."""
    this = answers.shipped
    if this is None:
        return {"baseline": None, "teacher": None, "rival": None}
    alone = baseline.shipped if baseline else None
    known = this.at(teacher.places)
    return {
        "baseline": mcnemar(this.correct[0], alone.correct[0]) if alone else None,
        "teacher": mcnemar(known.correct[0], teacher.answers.correct[0]) if len(teacher.places) else None,
        "rival": mcnemar(this.correct[0], rival.correct[0]) if rival else None,
    }


def _accuracy(answers: ModelAnswers, *, groups: LengthGroups, samples: int) -> dict[str, Any]:
    return {
        "accuracy": float(np.mean(answers.accuracies)),
        "accuracy_sd": metrics.spread(answers.accuracies),
        "accuracy_ci95": list(metrics.accuracy_interval(answers.correct, samples=samples)),
        "accuracy_per_seed": answers.accuracies,
        "by_length": accuracy_by_length(answers.correct, groups),
    }


def _classes(answers: ModelAnswers, *, names: Sequence[str]) -> dict[str, Any]:
    labels, of_seeds, one_label = answers.labels, list(answers.predicted), not answers.is_multi_label
    shipped = answers.shipped if one_label else None
    scores = [calibration.log_probabilities(logits) if one_label else logits for logits in answers.logits]
    return {
        "macro_f1": float(np.mean([metrics.macro_f1(labels, of_seed) for of_seed in of_seeds])),
        "per_class": metrics.per_class(labels, of_seeds, names=names),
        "macro": metrics.averages(labels, of_seeds, weighted=False),
        "weighted": metrics.averages(labels, of_seeds, weighted=True),
        "confusion": metrics.confusion(labels, shipped.predicted[0], classes=len(names)) if shipped else None,
        "mcc": _mean([metrics.mcc(labels, of_seed) for of_seed in of_seeds]) if one_label else None,
        "roc_auc": _mean([metrics.roc_auc(labels, of_seed) for of_seed in scores]),
    }


def _calibration(answers: ModelAnswers) -> dict[str, Any]:
    """A teacher has no exported file, and so no temperature: its probabilities are not calibrated."""
    labels, shipped, has_file = answers.labels, answers.shipped, answers.temperatures is not None
    error, bins = calibration.expected_calibration_error, calibration.reliability
    calibrated = [error(labels, of_seed) for of_seed in answers.calibrated] if has_file else [None]
    return {
        "ece": float(np.mean([error(labels, of_seed) for of_seed in answers.probabilities])),
        "ece_calibrated": _mean(calibrated),
        "temperature": shipped.temperatures[0] if shipped and shipped.temperatures else None,
        "reliability": bins(labels, shipped.probabilities[0]) if shipped else None,
        "reliability_calibrated": bins(labels, shipped.calibrated[0]) if shipped and has_file else None,
    }


def _multi_label(answers: ModelAnswers) -> dict[str, Any]:
    labels, of_seeds = answers.labels, list(answers.predicted)
    return {
        "micro_f1": float(np.mean([metrics.micro_f1(labels, of_seed) for of_seed in of_seeds])),
        "hamming_loss": float(np.mean([metrics.hamming_loss(labels, of_seed) for of_seed in of_seeds])),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    """None if a value is None: then it is for every seed, because that depends on the labels alone."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None

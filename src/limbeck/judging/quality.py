"""The quality numbers of one line of the report."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from limbeck.judging import calibration, metrics
from limbeck.judging.answers import Answers, TeacherAnswers
from limbeck.judging.lengths import LengthGroups, accuracy_by_length
from limbeck.judging.significance import mcnemar

OF_ACCURACY = ("accuracy", "accuracy_sd", "accuracy_ci95", "accuracy_per_seed", "by_length")
OF_CLASSES = ("macro_f1", "per_class", "macro", "weighted", "confusion", "mcc", "roc_auc")
OF_TRUST = ("ece", "ece_calibrated", "temperature", "reliability", "reliability_calibrated")
OF_SETS = ("micro_f1", "hamming_loss")  # where a row may have several labels


def quality(answers: Answers, *, names: Sequence[str], groups: LengthGroups, samples: int) -> dict[str, Any]:
    """The quality keys of one line of the report; all but the number of seeds are None where no row was answered."""
    seeds = {"seed_count": len(answers.logits)}
    if len(answers.labels) == 0:
        sets = OF_SETS if answers.is_multi_label else ()
        return seeds | dict.fromkeys([*OF_ACCURACY, *OF_CLASSES, *OF_TRUST, *sets])
    return {
        **seeds,
        **_accuracy(answers, groups=groups, samples=samples),
        **_classes(answers, names=names),
        **_trust(answers),
        **(_sets(answers) if answers.is_multi_label else {}),
    }


def gain(answers: Answers, *, baseline: Answers | None, samples: int) -> dict[str, Any] | None:
    """How much more accurate than the same student trained alone, with its 95 % interval; None without a baseline."""
    if baseline is None:
        return None
    difference = float(np.mean(answers.accuracies) - np.mean(baseline.accuracies))
    interval = metrics.gain_interval(answers.correct, baseline.correct, samples=samples)
    return {"accuracy": difference, "ci95": list(interval)}


def mcnemar_tests(answers: Answers, *, baseline: Answers | None, teacher: TeacherAnswers) -> dict[str, Any]:
    """McNemar's test of the copy that ships, against the baseline's and, on the rows it knows, against the teacher."""
    this = answers.shipped
    if this is None:
        return {"baseline": None, "teacher": None}
    alone = baseline.shipped if baseline else None
    known = this.at(teacher.places)
    return {
        "baseline": mcnemar(this.correct[0], alone.correct[0]) if alone else None,
        "teacher": mcnemar(known.correct[0], teacher.answers.correct[0]) if len(teacher.places) else None,
    }


def _accuracy(answers: Answers, *, groups: LengthGroups, samples: int) -> dict[str, Any]:
    return {
        "accuracy": float(np.mean(answers.accuracies)),
        "accuracy_sd": metrics.spread(answers.accuracies),
        "accuracy_ci95": list(metrics.accuracy_interval(answers.correct, samples=samples)),
        "accuracy_per_seed": answers.accuracies,
        "by_length": accuracy_by_length(answers.correct, groups),
    }


def _classes(answers: Answers, *, names: Sequence[str]) -> dict[str, Any]:
    labels, of_seeds, one_label = answers.labels, list(answers.predicted), not answers.is_multi_label
    shipped = answers.shipped if one_label else None
    scores = [calibration.log_probabilities(said) if one_label else said for said in answers.logits]
    return {
        "macro_f1": float(np.mean([metrics.macro_f1(labels, said) for said in of_seeds])),
        "per_class": metrics.per_class(labels, of_seeds, names=names),
        "macro": metrics.averages(labels, of_seeds, weighted=False),
        "weighted": metrics.averages(labels, of_seeds, weighted=True),
        "confusion": metrics.confusion(labels, shipped.predicted[0], classes=len(names)) if shipped else None,
        "mcc": _mean([metrics.mcc(labels, said) for said in of_seeds]) if one_label else None,
        "roc_auc": _mean([metrics.roc_auc(labels, said) for said in scores]),
    }


def _trust(answers: Answers) -> dict[str, Any]:
    """A teacher has no file, and so no temperature: its probabilities are taken as they are."""
    labels, shipped, has_file = answers.labels, answers.shipped, answers.temperatures is not None
    error, bins = calibration.expected_calibration_error, calibration.reliability
    calibrated = [error(labels, said) for said in answers.calibrated] if has_file else [None]
    return {
        "ece": float(np.mean([error(labels, said) for said in answers.probabilities])),
        "ece_calibrated": _mean(calibrated),
        "temperature": shipped.temperatures[0] if shipped and shipped.temperatures else None,
        "reliability": bins(labels, shipped.probabilities[0]) if shipped else None,
        "reliability_calibrated": bins(labels, shipped.calibrated[0]) if shipped and has_file else None,
    }


def _sets(answers: Answers) -> dict[str, Any]:
    labels, of_seeds = answers.labels, list(answers.predicted)
    return {
        "micro_f1": float(np.mean([metrics.micro_f1(labels, said) for said in of_seeds])),
        "hamming_loss": float(np.mean([metrics.hamming_loss(labels, said) for said in of_seeds])),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    """None where a value is: it then is for every seed, because it hangs on the labels alone."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None

"""Checks of the result: models left out, or that others beat, and why; a gain that may be noise; what int8 costs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.doctor import scores
from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Known, NotThere
from limbeck.doctor.likely_reasons import likely_reasons, model_of
from limbeck.doctor.tokens import sample
from limbeck.labeling.summary import chosen
from limbeck.teacher.student_asking import open_student

INT8_LOSS, SEVERE_LOSS = 0.005, 0.02  # accuracy
INT8_AGREEMENT = 0.98
MIN_ROWS = 2  # a loss must be more than this many rows
MIN_GROWTH = 1.2  # if there are too few rows, at least this many times as many are needed
COMPARED_ROWS = 1_000
SIGNIFICANT = 0.05  # p below this is a difference beyond noise


def refused(known: Known) -> list[Finding]:
    """Models that the run leaves out, because a file of them does not predict what was trained."""
    return [
        Finding(
            "refused",
            "warning",
            f"{one['name']} is left out because its export was refused",
            one["reason"],
            one["advice"],
        )
        for one in known.report.get("refused") or []
    ]


def gain(known: Known) -> list[Finding]:
    """A distilled student that is no better than the same student alone, with the likely reasons in order."""
    if scores.gives_scores(known.report):
        return scores.gain(known)
    found = _gain(known.report)
    accuracy, (low, high) = found["accuracy"], found["ci95"]
    if accuracy > 0:
        return []
    student, alone = (model_of(known.report, role)["accuracy"] for role in ("student", "baseline"))
    is_clear = high < 0
    is_more_than_chance = round(-accuracy * known.report["judged_rows"]) > MIN_ROWS
    return [
        Finding(
            "gain",
            "error" if is_clear else "warning" if is_more_than_chance else "note",
            f"the student is {'worse than' if accuracy < 0 else 'no better than'} the same student alone",
            f"{student:.1%} against {alone:.1%} alone: {_points(accuracy)} points, 95 % interval {_points(low)} to "
            f"{_points(high)}" + ("; this may be noise" if accuracy < 0 and not is_clear else ""),
            "Check the likely reasons, the likeliest first.",
            reasons=tuple(likely_reasons(known)),
        )
    ]


def rival(known: Known) -> list[Finding]:
    """A best model that is not better than TF-IDF with a linear classifier."""
    if scores.gives_scores(known.report):
        return scores.rival(known)
    report = known.report
    simple, name = model_of(report, "rival"), report.get("best")
    best: dict[str, Any] = next((model for model in report["models"] if model["name"] == name), {})
    gained = best.get("gain_over_rival")
    if not simple or not gained:
        raise NotThere("the report has no line tfidf (evaluation.rival)")
    accuracy, (low, high) = gained["accuracy"], gained["ci95"]
    if low > 0:
        return []
    compared = "loses against" if high < 0 else "is not better beyond noise than"
    return [
        Finding(
            "rival",
            "error" if high < 0 else "warning" if accuracy < 0 else "note",
            f"the best model {compared} tfidf, ten lines of scikit-learn",
            f"{best['name']} {best['accuracy']:.1%} against {simple['accuracy']:.1%}: {_points(accuracy)} points, 95 % "
            f"interval {_points(low)} to {_points(high)}",
            "Use tfidf if its size and speed will do; else improve the teacher, add unlabelled text ([transfer]), "
            "train longer, or try another kind of student.",
        )
    ]


TEACHER_ADVICE = (
    "Students learn from this teacher: fine-tune it longer (teacher.epochs) or with another teacher.learning_rate, use "
    "a stronger teacher.checkpoint, or ship a model that does without it."
)


def teacher_below(known: Known) -> list[Finding]:
    """A teacher that is less accurate than TF-IDF with a linear classifier, or than the student alone."""
    if scores.gives_scores(known.report):
        return scores.teacher_below(known)
    report = known.report
    teacher = model_of(report, "teacher").get("accuracy")
    others = [model for model in report["models"] if model["role"] in ("rival", "baseline")]
    if teacher is None or not others:
        raise NotThere("the report has nothing to compare the teacher with (evaluation.rival, distillation.baseline)")
    found = []
    for model in others:
        own = model.get("accuracy_on_teacher_rows", model["accuracy"])
        test = (model.get("mcnemar") or {}).get("teacher") or {}
        if own <= teacher:
            continue
        is_noise = test.get("p", 0.0) >= SIGNIFICANT
        found.append(
            Finding(
                "teacher-below",
                "warning" if is_noise else "error",
                f"the teacher is less accurate than {model['name']}",
                f"{teacher:.1%} against {own:.1%} on {report['judged_split']}" + ("; may be noise" if is_noise else ""),
                TEACHER_ADVICE,
            )
        )
    return found


def noise(known: Known) -> list[Finding]:
    """A gain that cannot be distinguished from noise on this number of judged rows."""
    if scores.gives_scores(known.report):
        return scores.noise(known)
    found, rows = _gain(known.report), known.report["judged_rows"]
    accuracy, (low, high) = found["accuracy"], found["ci95"]
    if accuracy <= 0 or low > 0:
        return []
    wider = max((high - low) / 2, accuracy - low)  # below the gain; the interval shrinks as √rows
    needed = float(f"{max(rows * (wider / accuracy) ** 2, MIN_GROWTH * rows):.2g}")  # two figures
    return [
        Finding(
            "noise",
            "warning",
            "the gain over the student alone may be noise",
            f"{_points(accuracy)} points, 95 % interval {_points(low)} to {_points(high)}, on {rows:,} "
            f"{known.report['judged_split']} rows",
            f"About {needed:,.0f} rows would show a gain of this size; more seeds (distillation.seeds) help too.",
        )
    ]


def _gain(report: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] | None = (model_of(report, "student") or {}).get("gain_over_baseline")
    if found is None:
        raise NotThere("no student was trained alone (distillation.baseline)")
    return found


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"


def int8(known: Known) -> list[Finding]:
    """An int8 file that is less accurate than the fp32 one, or gives other labels."""
    if scores.gives_scores(known.report):
        return scores.int8(known)
    report = known.report
    students = {model["name"]: model for model in report["models"] if model["role"] == "student"}
    files = (model for model in report["models"] if model["role"] == "export")
    small = next((model for model in files if model["name"].removesuffix("-int8") in students), None)
    if small is None:
        raise NotThere("the run does not have both an fp32 and an int8 file of a student")
    large = students[small["name"].removesuffix("-int8")]
    lost = large["accuracy"] - small["accuracy"]
    is_lost = lost > INT8_LOSS and round(lost * report["judged_rows"]) > MIN_ROWS
    agreement, rows = _agreement(known, small["name"], large["name"])
    differs = agreement is not None and agreement < INT8_AGREEMENT and round((1 - agreement) * rows) > MIN_ROWS
    if not is_lost and not differs:
        return []
    same = "" if agreement is None else f"; the same label on {agreement:.1%} of {rows:,} rows"
    return [
        Finding(
            "int8",
            "error" if is_lost and lost > SEVERE_LOSS else "warning",
            "the int8 file is not as good as the fp32 one",
            f"{small['accuracy']:.1%} against {large['accuracy']:.1%} on {report['judged_split']}{same}",
            f"Ship {large.get('folder', 'the fp32 file')}, or raise export.int8_agreement so that such a file is "
            "refused.",
        )
    ]


def _agreement(known: Known, small: str, large: str) -> tuple[float | None, int]:
    """The share of judged rows on which the two shipped files give the same label; None if one of them is missing."""
    if not known.has("corpus", "models") or not {small, large} <= known.models.keys():
        return None, 0
    corpus = known.corpus
    judged = corpus.splits[corpus.judged_split]
    rows = sample(judged.select(np.flatnonzero(judged.is_labelled)), most=COMPARED_ROWS)
    one, other = (_predicted(known.models[name], rows, corpus) for name in (small, large))
    return float((one == other).all(axis=1).mean()), len(rows)


def _predicted(model: ModelFolder, rows: Rows, corpus: Corpus) -> npt.NDArray[np.bool_]:
    """(rows, classes): whether the model predicts this class for the row."""
    logits = open_student(model.folder, labels=corpus.labels).logits(rows.texts, rows.pairs)
    return chosen(logits, multi_label=corpus.is_multi_label)

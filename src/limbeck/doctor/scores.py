"""Checks of a result about scores: models that others beat, a gain that may be noise, what int8 costs."""

from collections.abc import Iterator, Mapping
from typing import Any

from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Known, NotThere
from limbeck.doctor.likely_reasons import likely_reasons, model_of

INT8_LOSS, SEVERE_LOSS = 0.005, 0.02  # of Spearman's correlation
HAS_NO_CLASSES = "rows have scores, not classes"


def gives_scores(report: Mapping[str, Any]) -> bool:
    """Whether the report is about scores."""
    return (report.get("corpus") or {}).get("task") == "regression"


def gain(known: Known) -> list[Finding]:
    """A distilled student that is no better than the same student alone, or not beyond noise."""
    found = (model_of(known.report, "student") or {}).get("score_gain_over_baseline")
    if found is None:
        raise NotThere("no student was trained alone (distillation.baseline)")
    if found["spearman"] > 0:
        return []
    student, alone = (model_of(known.report, role)["spearman"] for role in ("student", "baseline"))
    is_clear = found["spearman_ci95"][1] < 0
    return [
        Finding(
            "gain",
            "error" if is_clear else "warning",
            "the student is no better than the same student alone",
            f"Spearman {student:.3f} against {alone:.3f} alone: {_bounds(found)}",
            "Check the likely reasons, the likeliest first.",
            reasons=tuple(likely_reasons(known)),
        )
    ]


def noise(known: Known) -> list[Finding]:
    """A gain that cannot be distinguished from noise on this number of judged rows."""
    found = (model_of(known.report, "student") or {}).get("score_gain_over_baseline")
    if found is None:
        raise NotThere("no student was trained alone (distillation.baseline)")
    if found["spearman"] <= 0 or found["spearman_ci95"][0] > 0:
        return []
    rows = f"{known.report['judged_rows']:,} {known.report['judged_split']} rows"
    return [
        Finding(
            "noise",
            "warning",
            "the gain over the student alone may be noise",
            f"Spearman {_bounds(found)}, on {rows}",
            "Judge on more rows, or train more seeds (distillation.seeds).",
        )
    ]


def rival(known: Known) -> list[Finding]:
    """A best model that is not better than TF-IDF with ridge regression."""
    simple, name = model_of(known.report, "rival"), known.report.get("best")
    best: dict[str, Any] = next((model for model in known.report["models"] if model["name"] == name), {})
    found = best.get("score_gain_over_rival")
    if not simple or not found:
        raise NotThere("the report has no line tfidf (evaluation.rival)")
    low, high = found["spearman_ci95"]
    if low > 0:
        return []
    compared = "loses against" if high < 0 else "is not better beyond noise than"
    return [
        Finding(
            "rival",
            "error" if high < 0 else "warning" if found["spearman"] < 0 else "note",
            f"the best model {compared} tfidf, ten lines of scikit-learn",
            f"{best['name']}: Spearman {best['spearman']:.3f} against {simple['spearman']:.3f}, {_bounds(found)}",
            "Use tfidf if its size and speed will do; else improve the teacher, add unlabelled text ([transfer]), "
            "train longer, or try another kind of student.",
        )
    ]


def teacher_below(known: Known) -> list[Finding]:
    """A teacher that orders rows less well than TF-IDF with ridge regression, or than the student alone."""
    teacher = model_of(known.report, "teacher").get("spearman")
    others = [model for model in known.report["models"] if model["role"] in ("rival", "baseline")]
    if teacher is None or not others:
        raise NotThere("the report has nothing to compare the teacher with (evaluation.rival, distillation.baseline)")
    return list(_above(teacher, others, known))


def _above(teacher: float, others: list[dict[str, Any]], known: Known) -> Iterator[Finding]:
    from limbeck.doctor.outcome import TEACHER_ADVICE  # which has the checks of classes, and calls this file

    for model in others:
        own = (model.get("on_teacher_rows") or model)["spearman"]
        if own > teacher:
            yield Finding(
                "teacher-below",
                "warning",
                f"the teacher orders rows less well than {model['name']}",
                f"Spearman {teacher:.3f} against {own:.3f} on {known.report['judged_split']}",
                TEACHER_ADVICE,
            )


def int8(known: Known) -> list[Finding]:
    """An int8 file that orders rows less well than the fp32 one."""
    students = {model["name"]: model for model in known.report["models"] if model["role"] == "student"}
    files = (model for model in known.report["models"] if model["role"] == "export")
    small = next((model for model in files if model["name"].removesuffix("-int8") in students), None)
    if small is None:
        raise NotThere("the run does not have both an fp32 and an int8 file of a student")
    large = students[small["name"].removesuffix("-int8")]
    lost = large["spearman"] - small["spearman"]
    if lost <= INT8_LOSS:
        return []
    return [
        Finding(
            "int8",
            "error" if lost > SEVERE_LOSS else "warning",
            "the int8 file is not as good as the fp32 one",
            f"Spearman {small['spearman']:.3f} against {large['spearman']:.3f} on {known.report['judged_split']}",
            f"Ship {large.get('folder', 'the fp32 file')}, or lower export.int8_score_error so that such a file is "
            "refused.",
        )
    ]


def _bounds(gain: Mapping[str, Any]) -> str:
    low, high = gain["spearman_ci95"]
    return f"{gain['spearman']:+.3f}, 95 % interval {low:+.3f} to {high:+.3f}"

"""What the numbers of a report mean, in plain words, and how to try its model (standard library alone)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from limbeck.errors import in_shell
from limbeck.progress import visible
from limbeck.report import score_words, wording

NOISE = "no difference beyond noise"
MANY_ROWS, FEWEST_DIFFERING = 100, 6
NEARLY_ALL = 0.995  # share of texts sent to the teacher that counts as all


def differences(report: Mapping[str, Any]) -> list[str]:
    """For every student and exported file: whether it differs from the baseline and from the teacher beyond noise."""
    found = []
    for entry in report["models"]:
        tests = entry.get("mcnemar") or {}
        parts = [
            _difference(test, against=against)
            for against, test in (
                (_alone(report), tests.get("baseline")),
                (_rival(report), tests.get("rival")),
                ("the teacher", tests.get("teacher")),
            )
            if test and entry["role"] not in ("teacher", "baseline", "rival")
        ]
        if parts:
            found.append(f"{entry['name']}: {'; '.join(parts)}")
    return found


def remarks(report: Mapping[str, Any]) -> list[str]:
    """What was found out about models while they were trained, such as a student that does no better than guessing."""
    return [f"{entry['name']}: {remark}" for entry in report["models"] for remark in entry.get("remarks") or []]


def few_rows(report: Mapping[str, Any]) -> list[str]:
    """With few judged rows: the smallest difference between two models that can be more than chance.

    If two models differ on FEWEST_DIFFERING rows, and one has all of them right, McNemar's exact test gives p = 0.031;
    with one row fewer it is above 0.05.
    """
    rows = report["judged_rows"]
    if wording.is_score(report):
        return score_words.few_rows(report)
    if rows >= MANY_ROWS:
        return []
    judged = f"only {rows:,} {report['judged_split']} row{'' if rows == 1 else 's'} to judge by"
    if rows < FEWEST_DIFFERING:
        return [f"{judged}: no difference between two models means anything"]
    return [f"{judged}: differences below {100 * FEWEST_DIFFERING / rows:.0f} points mean nothing"]


def _alone(report: Mapping[str, Any]) -> str:
    baseline = wording.baseline_of(report)
    return str(baseline["name"]) if baseline else "the student alone"


def _rival(report: Mapping[str, Any]) -> str:
    return str((wording.rival_of(report) or {}).get("name", "the rival"))


def _difference(test: Mapping[str, Any], *, against: str) -> str:
    """McNemar's test in words: it uses only rows on which one of the two is right and the other wrong."""
    p = wording.p_value(test["p"])
    evidence = f"p {p}" if p.startswith("<") else f"p = {p}"
    counts = f"{evidence}, {test['only_this']:,} rows to {test['only_other']:,}"
    if is_noise(test):
        return f"{NOISE} against {against} ({counts})"
    return f"{'better' if test['only_this'] > test['only_other'] else 'worse'} than {against} ({counts})"


def is_noise(test: Mapping[str, Any]) -> bool:
    """Whether the difference is not significant."""
    return bool(test["p"] >= wording.SIGNIFICANT)


def cascade(report: Mapping[str, Any]) -> str | None:
    """The result of asking the teacher only when the student is unsure; None if it was not measured."""
    found = report.get("cascade")
    if not found:
        return None
    student, cheapest, measure = found["student"], found["cheapest"], wording.measure(report)
    own = next((entry["accuracy"] for entry in report["models"] if entry["name"] == student), None)
    if own is not None and own >= found["teacher_accuracy"]:
        return f"{student} alone is as good as the teacher on these rows: there is no need to ask the teacher."
    if cheapest is None:
        return f"No share of texts sent to the teacher brings {student} to the teacher's {measure}."
    share = cheapest["asked_share"]
    if share <= 0:
        return f"{student} alone is as good as the teacher here: there is no need to ask the teacher."
    if share >= NEARLY_ALL:
        return f"Only asking the teacher every time keeps its {measure}."
    kept = _kept(found, measure=measure)
    advice = f"Ask the teacher for {_whole_percent(share)} % of texts and {kept}{_instead(report, cheapest)}."
    command = cascade_command(report)
    return f"{advice} To run it: {command}" if command else advice


def score_cascade(report: Mapping[str, Any]) -> str | None:
    """The result of asking the teacher only where the student's score is near the threshold; None without one."""
    found = report.get("score_cascade")
    if not found:
        return None
    point, at = found["cheapest"], score_words.number(found["score_threshold"])
    alone, teacher = (wording.percent(found[f"{who}_accuracy"]) for who in ("student", "teacher"))
    start = f"At a threshold of {at}, {found['student']} decides {alone} % of the rows rightly, the teacher {teacher} %"
    if found["student_accuracy"] >= found["teacher_accuracy"] or point["asked_share"] <= 0:
        return f"{start}: there is no need to ask the teacher."
    if point["asked_share"] >= NEARLY_ALL:
        return f"{start}; only asking the teacher every time keeps that."
    return (
        f"{start}. Asked where the student's score is within {score_words.number(point['width'])} of the threshold, "
        f"{_whole_percent(point['asked_share'])} % of the texts, both together decide "
        f"{wording.percent(point['accuracy'])} % rightly{_instead(report, point)}. The other scores stay the student's."
    )


def cascade_command(report: Mapping[str, Any]) -> str | None:
    """The command that answers a file by this cascade, with the teacher as the recipe can keep it; None for a report
    without folders."""
    found = report["cascade"]
    folder = next((entry.get("folder") for entry in report["models"] if entry["name"] == found["student"]), None)
    if folder is None:
        return None
    run = f"runs/{visible(str(report['run']))}"
    student, teacher = in_shell(f"{run}/{folder}"), in_shell(f"{run}/models/teacher-int8")
    threshold = f"{found['cheapest']['threshold']:.4g}"
    keep = 'export.teacher = "int8" in the recipe keeps the teacher there'
    return f"limbeck predict {student} FILE --fallback {teacher} --threshold {threshold} ({keep})."


def _kept(found: Mapping[str, Any], *, measure: str) -> str:
    """The threshold may be chosen on other rows, and then need not keep the teacher's accuracy on these."""
    accuracy, teacher = found["cheapest"]["accuracy"], found["teacher_accuracy"]
    if accuracy >= teacher:
        return f"keep its {measure}"
    return f"reach an {measure} of {wording.percent(accuracy)} % (the teacher: {wording.percent(teacher)} %)"


def _instead(report: Mapping[str, Any], point: Mapping[str, Any]) -> str:
    """The time it takes, if both times are known."""
    teacher = (wording.teacher_of(report)["latency_ms"] or {}).get("p50")
    if point.get("ms") is None or teacher is None:
        return ""
    return f", at {wording.three_figures(point['ms'])} ms instead of {wording.three_figures(teacher)}"


def calibration(report: Mapping[str, Any]) -> str | None:
    """What the temperature of the main student does to its confidence; None without a temperature."""
    model = wording.main_model(report)
    if model is None or model.get("temperature") is None or model.get("ece_calibrated") is None:
        return None
    if round(model["temperature"], 2) == 1:
        return f"{model['name']} needs no temperature: its calibration error is {wording.percent(model['ece'])} %."
    before, after = wording.percent(model["ece"]), wording.percent(model["ece_calibrated"])
    return (
        f"{model['name']} divides its logits by {model['temperature']:.2f}, a temperature fitted on dev: its "
        f"calibration error is {after} % with it and {before} % without. Labels stay the same."
    )


@dataclass(frozen=True)
class TryIt:
    """What a user can copy: a command, and the argument of `predict` in Python; both with a row of the user's data."""

    command: str
    rows: str


def try_it(report: Mapping[str, Any], model: object) -> TryIt:
    """For a model in this folder. Old reports have no row: then a placeholder takes its place."""
    pair = report["corpus"]["pair"]
    example = report.get("example") or {"text": "a text", "pair": "another text" if pair else None}
    # In one line: what follows a line end could close the block of code that shows it.
    texts = [visible(" ".join(text.split())) for text in (example["text"], *([example["pair"]] if pair else []))]
    quoted = [json.dumps(text, ensure_ascii=False) for text in texts]  # a JSON string is a Python string
    form = "%s\\t%s\\n" if pair else "%s\\n"
    return TryIt(
        command=f"printf '{form}' {' '.join(map(in_shell, texts))} | limbeck predict {in_shell(model)}",
        rows=f"[({', '.join(quoted)})]" if pair else f"[{quoted[0]}]",
    )


def _whole_percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f}" if percent >= 1 else f"{percent:.1f}"

"""How a report's numbers are formatted, and the verdict in one sentence (standard library alone).

A number that is not known, such as the size of a teacher that is a file, is None in the report and a dash in text.
"""

from collections.abc import Mapping
from typing import Any

Entry = Mapping[str, Any]

UNKNOWN = "–"


def measure(report: Mapping[str, Any]) -> str:
    """The name of the share of right rows: with several labels per row, all of them must be right."""
    return "exact match" if is_multi_label(report) else "accuracy"


def is_multi_label(report: Mapping[str, Any]) -> bool:
    """Whether a row of the corpus may have several labels."""
    return bool(report["corpus"].get("multi_label"))


def percent(fraction: float | None, *, digits: int = 1) -> str:
    """0.928 as `92.8`."""
    return UNKNOWN if fraction is None else f"{100 * fraction:.{digits}f}"


def accuracy(entry: Entry) -> str:
    """`92.8 ± 0.3`; without the spread for a single seed."""
    mean = percent(entry["accuracy"])
    return (
        mean
        if entry["seed_count"] < 2
        else f"{mean}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{percent(entry['accuracy_sd'])}"
    )


def interval(entry: Entry) -> str:
    """`91.0–94.4`."""
    if entry["accuracy_ci95"] is None:
        return UNKNOWN
    low, high = entry["accuracy_ci95"]
    return f"{percent(low)}–{percent(high)}"


def milliseconds(entry: Entry, which: str) -> str:
    """The time of one text, "p50", "p95" or "p99"."""
    return three_figures((entry["latency_ms"] or {}).get(which))


def count(number: float | None) -> str:
    """`109.5M`, `823k`, `412`."""
    if number is None:
        return UNKNOWN
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            scaled = number / size
            return f"{scaled:.1f}{letter}" if scaled < 100 and letter != "k" else f"{scaled:.0f}{letter}"
    return f"{number:.0f}"


def parameters(entry: Entry) -> str:
    """All parameters, and in brackets those outside the embeddings."""
    if entry["parameters"] is None:
        return UNKNOWN
    return f"{count(entry['parameters'])} ({count(entry['parameters_without_embeddings'])})"


def three_figures(number: float | None) -> str:
    """`0.412`, `3.07`, `86.1`, `1,240`: about three figures, whatever the size."""
    if number is None:
        return UNKNOWN
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}" if number >= 1 else f"{number:.3f}"


def signed(fraction: float | None, *, digits: int = 1) -> str:
    """0.013 as `+1.3`, with a true minus sign below zero; what rounds to zero has no sign."""
    if fraction is None:
        return UNKNOWN
    text = f"{100 * fraction:+.{digits}f}".replace("-", "−")
    return text if any(digit in text for digit in "123456789") else text[1:]


def decimal(number: float | None) -> str:
    """0.8561 as `0.856`, with a true minus sign below zero."""
    return UNKNOWN if number is None else f"{number:.3f}".replace("-", "−")


def p_value(p: float | None) -> str:
    """`0.31`, `0.042`, `<0.001`."""
    if p is None:
        return UNKNOWN
    return "<0.001" if p < 0.001 else f"{p:.2f}" if p >= 0.1 else f"{p:.3f}"


def times(factor: float | None) -> str:
    """`120×`, `4.6×`, `0.83×`."""
    if factor is None:
        return UNKNOWN
    return f"{factor:,.0f}×" if factor >= 10 else f"{factor:.1f}×" if factor >= 1 else f"{factor:.2f}×"


def teacher_of(report: Mapping[str, Any]) -> Entry:
    """The teacher's entry."""
    return next(iter(entry for entry in report["models"] if entry["role"] == "teacher"))


def baseline_of(report: Mapping[str, Any]) -> Entry | None:
    """The entry of the student that was trained alone."""
    return next((entry for entry in report["models"] if entry["role"] == "baseline"), None)


def main_model(report: Mapping[str, Any]) -> Entry | None:
    """The entry that the verdict is about: the first student, or the first exported file if there is no student."""
    for role in ("student", "export"):
        for entry in report["models"]:
            if entry["role"] == role:
                return dict(entry)
    return None


def verdict(report: Mapping[str, Any]) -> str:
    """The result of the run in one sentence that claims no more than the numbers show."""
    model = main_model(report)
    if model is None:
        return "There is no student in this report to compare with the teacher."
    teacher = teacher_of(report)
    sentence = f"{model['name']} {_kept(model, teacher, report)}, {_cost(model, teacher)}"
    gain = model.get("gain_over_baseline")
    gained = "" if gain is None else f"; {gain_in_words(gain, seeds=model['seed_count'])}"
    return f"{sentence}{gained}.{_faster_file(model, teacher, report)}"


def _kept(model: Entry, teacher: Entry, report: Mapping[str, Any]) -> str:
    """Compared with the teacher on the rows that it has labelled: a file need not cover all rows."""
    rows, known = report["judged_rows"], teacher.get("judged_rows", report["judged_rows"])
    if not teacher["accuracy"]:
        other = "the teacher: 0 %" if known else f"the teacher has no labels for the {report['judged_split']} rows"
        return f"has an {measure(report)} of {percent(model['accuracy'])} % ({other})"
    what = "exact matches" if is_multi_label(report) else "accuracy"
    share = model.get("accuracy_on_teacher_rows", model["accuracy"]) / teacher["accuracy"]
    where = "" if known == rows else f" on the {known:,} of {rows:,} rows that the teacher labelled"
    return f"keeps {percent(share)} % of the teacher's {what}{where}"


def _cost(model: Entry, teacher: Entry) -> str:
    """Compared with the teacher's cost, if that is known; otherwise the model's own cost."""
    if model["speedup_over_teacher"] is None or teacher["size_mb"] is None:
        return f"takes {milliseconds(model, 'p50')} ms for a text and {three_figures(model['size_mb'])} MB"
    speed = _comparison(model["speedup_over_teacher"], more="faster", less="slower")
    return f"is {speed} and {_comparison(teacher['size_mb'] / model['size_mb'], more='smaller', less='larger')}"


def _faster_file(model: Entry, teacher: Entry, report: Mapping[str, Any]) -> str:
    """A sentence about the fastest exported file, if it is faster than the model; otherwise empty."""
    files = [entry for entry in report["models"] if entry["role"] == "export" and entry["speedup_over_teacher"]]
    best = max(files, key=lambda entry: float(entry["speedup_over_teacher"]), default=None)
    if best is None or best["speedup_over_teacher"] <= (model["speedup_over_teacher"] or float("inf")):
        return ""
    return f" {best['name']} {_kept(best, teacher, report)} and {_cost(best, teacher)}."


def _comparison(factor: float, *, more: str, less: str) -> str:
    return f"{times(factor)} {more}" if factor >= 1 else f"{times(1 / factor)} {less}"


def gain_in_words(gain: Mapping[str, Any], *, seeds: int) -> str:
    """A gain whose 95 % interval includes zero is not called a gain."""
    points = percent(abs(gain["accuracy"]))
    low, high = gain["ci95"]
    bounds = f"95 % interval {signed(low)} to {signed(high)}"
    one_seed = ", one seed" if seeds == 1 else ""
    if low > 0:
        return f"distilling gained {points} points over the same student trained alone ({bounds}{one_seed})"
    if high < 0:
        return f"distilling lost {points} points against the same student trained alone ({bounds}{one_seed})"
    return (
        f"distilling made no difference beyond the noise: {signed(gain['accuracy'])} points against the same student "
        f"trained alone ({bounds}{one_seed})"
    )

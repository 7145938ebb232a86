"""How a report's numbers are written, and the verdict in one sentence (standard library alone)."""

from collections.abc import Mapping
from typing import Any

Entry = Mapping[str, Any]


def percent(fraction: float, *, digits: int = 1) -> str:
    """0.928 as `92.8`."""
    return f"{100 * fraction:.{digits}f}"


def accuracy(entry: Entry) -> str:
    """`92.8 ± 0.3`; without the spread where there is one seed only."""
    mean = percent(entry["accuracy"])
    return (
        mean
        if entry["seed_count"] < 2
        else f"{mean}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{percent(entry['accuracy_sd'])}"
    )


def interval(entry: Entry) -> str:
    """`91.0–94.4`."""
    low, high = entry["accuracy_ci95"]
    return f"{percent(low)}–{percent(high)}"


def count(number: float) -> str:
    """`109.5M`, `823k`, `412`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            scaled = number / size
            return f"{scaled:.1f}{letter}" if scaled < 100 and letter != "k" else f"{scaled:.0f}{letter}"
    return f"{number:.0f}"


def parameters(entry: Entry) -> str:
    """All parameters, and in brackets those outside the embeddings."""
    return f"{count(entry['parameters'])} ({count(entry['parameters_without_embeddings'])})"


def three_figures(number: float) -> str:
    """`0.412`, `3.07`, `86.1`, `1,240`: about three figures, whatever the size."""
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}" if number >= 1 else f"{number:.3f}"


def times(factor: float) -> str:
    """`120×`, `4.6×`, `0.83×`."""
    return f"{factor:,.0f}×" if factor >= 10 else f"{factor:.1f}×" if factor >= 1 else f"{factor:.2f}×"


def teacher_of(report: Mapping[str, Any]) -> Entry:
    """The teacher's entry."""
    return next(iter(entry for entry in report["models"] if entry["role"] == "teacher"))


def main_model(report: Mapping[str, Any]) -> Entry | None:
    """The entry the verdict is about: the first student, or the first exported file where no student stands."""
    for role in ("student", "export"):
        for entry in report["models"]:
            if entry["role"] == role:
                return dict(entry)
    return None


def verdict(report: Mapping[str, Any]) -> str:
    """What the run came to, in one sentence that claims no more than the numbers hold."""
    model = main_model(report)
    if model is None:
        return "There is no student in this report to compare with the teacher."
    teacher = teacher_of(report)
    kept = f"{model['name']} {_kept(model, teacher)}"
    speed = _comparison(model["speedup_over_teacher"], more="faster", less="slower")
    size = _comparison(teacher["size_mb"] / model["size_mb"], more="smaller", less="larger")
    sentence = f"{kept}, is {speed} and {size}"
    gain = model.get("gain_over_baseline")
    return f"{sentence}." if gain is None else f"{sentence}; {_gain(gain, seeds=model['seed_count'])}."


def _kept(model: Entry, teacher: Entry) -> str:
    if teacher["accuracy"] == 0:
        return f"has an accuracy of {percent(model['accuracy'])} % (the teacher: 0 %)"
    return f"keeps {percent(model['accuracy'] / teacher['accuracy'])} % of the teacher's accuracy"


def _comparison(factor: float, *, more: str, less: str) -> str:
    return f"{times(factor)} {more}" if factor >= 1 else f"{times(1 / factor)} {less}"


def _gain(gain: Mapping[str, Any], *, seeds: int) -> str:
    """A gain whose 95 % interval holds zero is no gain, and is not called one."""
    points = percent(abs(gain["accuracy"]))
    low, high = gain["ci95"]
    bounds = f"95 % interval {_signed(low)} to {_signed(high)}"
    one_seed = ", one seed" if seeds == 1 else ""
    if low > 0:
        return f"distilling gained {points} points over the same student trained alone ({bounds}{one_seed})"
    if high < 0:
        return f"distilling lost {points} points against the same student trained alone ({bounds}{one_seed})"
    return (
        f"distilling made no difference beyond the noise: {_signed(gain['accuracy'])} points against the same student "
        f"trained alone ({bounds}{one_seed})"
    )


def _signed(fraction: float) -> str:
    return f"{100 * fraction:+.1f}".replace("-", "−")

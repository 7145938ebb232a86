"""Plots of calibration, the cascade, confusion matrices, and accuracy by text length."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from limbeck.report import wording
from limbeck.report.plots.drawing import COLOURS, DASHED, INK, MARKERS, canvas, drawing, end_at_100, legend, short, svg
from limbeck.text.language import WITHOUT_SPACES

SMALLEST, LARGEST = 8.0, 90.0  # areas of marks, by their number of rows


def reliability(entries: Sequence[Mapping[str, Any]]) -> str | None:
    """Accuracy against confidence per bin, with larger marks for more rows; on the dashed line both are equal."""
    known = [entry for entry in entries if entry.get("reliability")]
    if not known:
        return None
    with drawing():
        figure, axes = canvas(xlabel="confidence (%)", ylabel="right (%)")
        axes.plot([0, 100], [0, 100], color=INK, alpha=0.5, linestyle=DASHED, linewidth=0.9)
        lowest = 100.0
        for entry in known:
            colour, name = COLOURS[entry["role"]], short(entry["name"])
            _draw_bins(axes, entry["reliability"], colour=colour, name=name)
            lowest = min(lowest, *(100 * min(bin_["confidence"], bin_["accuracy"]) for bin_ in entry["reliability"]))
            if entry.get("reliability_calibrated"):
                scaled = f"{name}, T = {entry['temperature']:.2f}" if entry.get("temperature") else f"{name}, scaled"
                _draw_bins(axes, entry["reliability_calibrated"], colour=colour, name=scaled, is_after=True)
        start = max(0.0, lowest - 5)
        axes.set(xlim=(start, 101), ylim=(start, 102))
        legend(axes)
        return svg(figure, name="reliability", title="share of right answers by confidence")


def _draw_bins(
    axes: Axes, bins: Sequence[Mapping[str, Any]], *, colour: str, name: str, is_after: bool = False
) -> None:
    most = max(bin_["rows"] for bin_ in bins)
    sure, right = ([100 * bin_[key] for bin_ in bins] for key in ("confidence", "accuracy"))
    areas = [SMALLEST + (LARGEST - SMALLEST) * bin_["rows"] / most for bin_ in bins]
    axes.plot(sure, right, color=colour, linewidth=1.2, linestyle=":" if is_after else "-", label=name)
    face = "none" if is_after else colour
    axes.scatter(sure, right, s=areas, facecolors=face, edgecolors=colour, alpha=0.75, linewidths=1.1, zorder=3)


def cascade(report: Mapping[str, Any]) -> str | None:
    """The curve, the teacher's accuracy as a line, and the cheapest point that keeps it; None without a curve. Of
    scores it is about decisions at a threshold."""
    found = report.get("cascade") or report.get("score_cascade")
    if not found or not found["points"]:
        return None
    points = sorted(found["points"], key=lambda point: point["asked_share"])
    measure = "right decisions" if "score_threshold" in found else wording.measure(report)
    with drawing():
        figure, axes = canvas(xlabel="texts that the teacher is asked (%)", ylabel=f"{measure} (%)")
        shares, accuracies = ([100 * point[key] for point in points] for key in ("asked_share", "accuracy"))
        name = f"{short(found['student'])}, then teacher"
        axes.plot(shares, accuracies, color=COLOURS["student"], linewidth=1.5, label=name)
        axes.axhline(
            100 * found["teacher_accuracy"], color=COLOURS["teacher"], linestyle=DASHED, linewidth=1.2, label="teacher"
        )
        if found["cheapest"]:
            _mark(axes, found["cheapest"])
        axes.set_xlim(-2, 102)
        axes.margins(y=0.18)  # space for the text above the ring
        end_at_100(axes)
        legend(axes, loc="lower right")
        return svg(figure, name="cascade", title="student and teacher together, by how often the teacher is asked")


def _mark(axes: Any, point: Mapping[str, Any]) -> None:
    """A ring around the cheapest point, and what it costs."""
    share, accuracy = 100 * point["asked_share"], 100 * point["accuracy"]
    axes.scatter([share], [accuracy], s=90, facecolors="none", edgecolors=INK, linewidths=1.4, zorder=4)
    cost = "" if point.get("ms") is None else f", {wording.three_figures(point['ms'])} ms"
    is_far = share > 60
    axes.annotate(
        f"{share:.0f} %{cost}",
        xy=(share, accuracy),
        xytext=(0, 8),
        textcoords="offset points",
        ha="right" if is_far else "left",
        va="bottom",
        color=INK,
        fontsize=8,
    )


MAX_WITH_NUMBERS = 10  # with more classes, cells have only a colour
MAX_CLASSES = 30  # with more classes there is no plot
DARKEST = 0.7  # so that numbers stay legible on every cell, in light and in dark
MAX_LABEL = 14  # characters of a class on the axes


def confusion(entry: Mapping[str, Any], *, labels: Sequence[str], name: str) -> str | None:
    """True classes down, predicted across; a cell is as dark as its share of the row. None if it is not known."""
    counts = entry.get("confusion")
    if not counts or len(labels) > MAX_CLASSES:
        return None
    classes = len(labels)
    with drawing():
        figure, axes = canvas(xlabel=f"predicted by {short(entry['name'])}", ylabel="true class", height=3.4)
        axes.grid(visible=False)
        axes.set(xlim=(-0.5, classes - 0.5), ylim=(classes - 0.5, -0.5), aspect="equal")
        _draw_cells(axes, counts, colour=COLOURS[entry["role"]])
        shown = [short(label, most=MAX_LABEL) for label in labels]
        size = 8 if classes <= MAX_WITH_NUMBERS else 5.5
        steep = max(len(label) for label in shown) * classes > MAX_LABEL * 2
        axes.set_xticks(range(classes), shown, fontsize=size, rotation=90 if steep else 0)
        axes.set_yticks(range(classes), shown, fontsize=size, rotation=0 if steep else 90, va="center")
        axes.tick_params(length=0)
        axes.spines[["left", "bottom"]].set_visible(False)
        return svg(figure, name=name, title=f"confusion matrix of {entry['name']}")


def most_confused(entry: Mapping[str, Any], *, labels: Sequence[str], most: int) -> list[tuple[str, str, int]]:
    """The most frequent mistakes: true class, predicted class, and number of rows."""
    counts = entry.get("confusion") or []
    mistakes = [
        (labels[true], labels[predicted], rows)
        for true, line in enumerate(counts)
        for predicted, rows in enumerate(line)
        if true != predicted and rows
    ]
    return sorted(mistakes, key=lambda mistake: -mistake[2])[:most]


def _draw_cells(axes: Axes, counts: Sequence[Sequence[int]], *, colour: str) -> None:
    for true, line in enumerate(counts):
        total = sum(line)
        for predicted, rows in enumerate(line):
            share = rows / total if total else 0.0
            cell = Rectangle(
                (predicted - 0.47, true - 0.47), 0.94, 0.94, facecolor=colour, alpha=0.04 + DARKEST * share, lw=0
            )
            axes.add_patch(cell)
            if len(counts) <= MAX_WITH_NUMBERS:
                size = 9 if len(counts) <= 5 else 6
                axes.text(predicted, true, f"{rows:,}", ha="center", va="center", color=INK, fontsize=size)


def accuracy_by_length(report: Mapping[str, Any]) -> str | None:
    """Accuracy in the quarters of the judged rows by length, one line per model; None if it is not known."""
    known = [entry for entry in report["models"] if entry.get("by_length")]
    if not known:
        return None
    unit = "characters" if report["corpus"]["language"] in WITHOUT_SPACES else "words"
    # The teacher comes first and need not have answered all rows; the last model has all groups.
    groups = known[-1]["by_length"]
    with drawing():
        figure, axes = canvas(xlabel=f"{unit} in a text (and rows)", ylabel=f"{wording.measure(report)} (%)")
        places = {tuple(group["words"]): place for place, group in enumerate(groups)}
        for entry in known:
            answered = [group for group in entry["by_length"] if group["accuracy"] is not None]
            shown = [group for group in answered if tuple(group["words"]) in places]
            axes.plot(
                [places[tuple(group["words"])] for group in shown],
                [100 * group["accuracy"] for group in shown],
                color=COLOURS[entry["role"]],
                marker=MARKERS[entry["role"]],
                markersize=8 if entry["role"] == "teacher" else 4,
                linewidth=1.3,
                label=short(entry["name"]),
            )
        axes.set_xticks(range(len(groups)), [_named(group) for group in groups], fontsize=8)
        axes.margins(x=0.08, y=0.15)
        end_at_100(axes)
        legend(axes)
        return svg(figure, name="lengths", title=f"{wording.measure(report)} by the length of texts")


def _named(group: Mapping[str, Any]) -> str:
    low, high = group["words"]
    span = f"{low:,}" if low == high else f"{low:,}–{high:,}"
    return f"{span}\n({group['rows']:,})"

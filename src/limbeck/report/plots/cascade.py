"""Student first, teacher when the student is unsure: accuracy against the share of texts the teacher is asked."""

from collections.abc import Mapping
from typing import Any

from limbeck.report import wording
from limbeck.report.plots.drawing import COLOURS, DASHED, INK, canvas, drawing, end_at_all, legend, short, svg


def cascade(report: Mapping[str, Any]) -> str | None:
    """The curve, the teacher's own accuracy as a line, and the cheapest point that keeps it; None without a curve."""
    found = report.get("cascade")
    if not found or not found["points"]:
        return None
    points = sorted(found["points"], key=lambda point: point["asked_share"])
    with drawing():
        figure, axes = canvas(xlabel="texts that the teacher is asked (%)", ylabel=f"{wording.measure(report)} (%)")
        shares, accuracies = ([100 * point[key] for point in points] for key in ("asked_share", "accuracy"))
        name = f"{short(found['student'])}, then teacher"
        axes.plot(shares, accuracies, color=COLOURS["student"], linewidth=1.5, label=name)
        axes.axhline(
            100 * found["teacher_accuracy"], color=COLOURS["teacher"], linestyle=DASHED, linewidth=1.2, label="teacher"
        )
        if found["cheapest"]:
            _mark(axes, found["cheapest"])
        axes.set_xlim(-2, 102)
        axes.margins(y=0.18)  # room for what is written above the ring
        end_at_all(axes)
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

"""Risk and coverage: the error among the rows that are answered, the surest first."""

from collections.abc import Mapping
from typing import Any

from limbeck.report.plots.drawing import COLOURS, DASHED, INK, canvas, drawing, legend, short, svg


def risk_coverage(report: Mapping[str, Any]) -> str | None:
    """A line for each model, and the point that the threshold gives; None for reports without."""
    found = report.get("abstaining")
    if not found:
        return None
    with drawing():
        figure, axes = canvas(xlabel="rows that are answered (%)", ylabel="wrong among them (%)")
        for curve in found["curves"]:
            axes.plot(
                [100 * point["coverage"] for point in curve["points"]],
                [100 * point["error"] for point in curve["points"]],
                color=COLOURS[curve["role"]],
                linewidth=1.3,
                linestyle="-" if curve["name"] == found["model"] else DASHED,
                label=short(curve["name"]),
            )
        own = found["threshold"]
        if own and own["error"] is not None:
            axes.plot(100 * own["coverage"], 100 * own["error"], "o", markersize=8, color=INK, fillstyle="none")
        axes.set_ylim(bottom=0)
        legend(axes, loc="upper left")
        return svg(figure, name="risk", title="error among the rows that are answered")

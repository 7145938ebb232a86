"""Plots of scores: true against given ones, and how far a model is off by the true score."""

from collections.abc import Mapping
from typing import Any

from limbeck.report.plots.drawing import COLOURS, DASHED, INK, canvas, drawing, short, svg


def scatter(entry: Mapping[str, Any] | None) -> str | None:
    """True scores and those of a model, a point for each row; None without any."""
    points = (entry or {}).get("scatter")
    if not entry or not points:
        return None
    true, given = zip(*points, strict=True)
    with drawing():
        figure, axes = canvas(xlabel="true score", ylabel=f"score of {short(entry['name'], most=16)}")
        ends = [min(*true, *given), max(*true, *given)]
        axes.plot(ends, ends, color=INK, alpha=0.5, linestyle=DASHED, linewidth=1.0)
        axes.scatter(true, given, s=9.0, alpha=0.5, color=COLOURS[entry["role"]], linewidths=0)
        return svg(figure, name="scatter", title=f"true scores and those of {entry['name']}")


def residuals(entry: Mapping[str, Any] | None) -> str | None:
    """Mean residual of rows with similar scores, with the mean absolute error as a bar around it; None without any."""
    groups = (entry or {}).get("residuals")
    if not entry or not groups:
        return None
    middles = [(group["from"] + group["to"]) / 2 for group in groups]
    means = [group["mean_residual"] for group in groups]
    with drawing():
        figure, axes = canvas(xlabel="true score", ylabel="given less true score")
        axes.axhline(0.0, color=INK, alpha=0.5, linestyle=DASHED, linewidth=1.0)
        for group, middle in zip(groups, middles, strict=True):
            low, high = group["mean_residual"] - group["mae"], group["mean_residual"] + group["mae"]
            axes.vlines(middle, low, high, color=COLOURS[entry["role"]], alpha=0.4, linewidth=2.0)
        axes.plot(middles, means, color=COLOURS[entry["role"]], marker="o", markersize=4, linewidth=1.3)
        return svg(figure, name="residuals", title=f"residuals of {entry['name']} by score")

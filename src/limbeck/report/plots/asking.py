"""Accuracy against the texts that a language model was asked about: whether more of them would have been worth it."""

from collections.abc import Mapping
from typing import Any

from matplotlib.ticker import FuncFormatter, NullFormatter

from limbeck.report.plots.drawing import COLOURS, DASHED, INK, canvas, drawing, end_at_100, legend, short, svg

FEWEST = 2  # points that make a curve
LEGEND = 0.4  # of the height, below the lines


def accuracy_against_texts(report: Mapping[str, Any]) -> str | None:
    """A line for agreement with the model, and one for what a person has labelled; None for reports without."""
    facts: Mapping[str, Any] = report.get("labelled_by") or {}
    points = [point for point in facts.get("curve") or [] if point.get("accuracy") is not None]
    if len(points) < FEWEST:
        return None
    lines = [("accuracy", f"agrees with {short(facts['model'])}", COLOURS["student"], "-")]
    if all(point.get("right") is not None for point in points):
        lines.append(("right", "right, by what a person labelled", COLOURS["export"], "-"))
    with drawing():
        figure, axes = canvas(xlabel="texts asked about (log scale)", ylabel="of a first student (%)")
        for name, words, colour, style in lines:
            shares = [100 * point[name] for point in points]
            axes.plot(
                [point["asked"] for point in points],
                shares,
                marker="o",
                markersize=4,
                color=colour,
                linestyle=style,
                label=words,
                gid=name,
            )
        if facts.get("right_of_checked") is not None and facts.get("checked"):
            level = 100 * facts["right_of_checked"]
            axes.axhline(level, color=COLOURS["teacher"], linestyle=DASHED, linewidth=1.3, label="the model itself")
        axes.set_xscale("log")
        axes.set_xticks([point["asked"] for point in points][:: 1 + len(points) // 7])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.tick_params(axis="x", which="minor", length=0, colors=INK)
        axes.margins(y=0.1)
        end_at_100(axes)
        low, high = axes.get_ylim()
        axes.set_ylim(bottom=low - LEGEND * (high - low))
        legend(axes, loc="lower right")
        return svg(figure, name="asking", title="accuracy of a first student against texts asked about")

"""All models of several runs in one picture of accuracy against time, or against size."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.lines import Line2D

from limbeck.report import wording
from limbeck.report.plots.against import TIME, Cost, draw_front, point_of, set_cost_axis
from limbeck.report.plots.drawing import INK, PALETTE, canvas, drawing, end_at_all, short, svg

MARKS = {"teacher": "*", "baseline": "x", "student": "o", "export": "D"}
NAMES = {"teacher": "teacher", "baseline": "alone", "student": "student", "export": "int8 file"}
AREAS = {"teacher": 110.0}  # of a mark, by role
AREA = 40.0


def accuracy_of_runs(runs: Sequence[tuple[str, Mapping[str, Any]]], cost: Cost = TIME) -> str:
    """A colour for each run, a mark for each kind of model, and the line along those that no other beats in both."""
    with drawing():
        figure, axes = canvas(xlabel=cost.axis, ylabel=f"{wording.measure(runs[0][1])} (%)", height=3.6)
        placed = [
            (number, entry, point)
            for number, (_, report) in enumerate(runs)
            for entry in report["models"]
            if (point := point_of(entry, cost)) is not None
        ]
        points = [point for _, _, point in placed]
        set_cost_axis(axes, [amount for amount, _ in points])
        for number, entry, (amount, accuracy) in placed:
            axes.scatter(
                [amount],
                [accuracy],
                s=AREAS.get(entry["role"], AREA),
                color=PALETTE[number % len(PALETTE)],
                marker=MARKS[entry["role"]],
                zorder=3,
            )
        draw_front(axes, points)
        axes.margins(y=0.12)
        end_at_all(axes)
        handles = [
            Line2D([], [], color=PALETTE[number % len(PALETTE)], linewidth=3, label=short(name))
            for number, (name, _) in enumerate(runs)
        ]
        roles = [role for role in MARKS if any(entry["role"] == role for _, entry, _ in placed)]
        handles += [
            Line2D([], [], color=INK, linestyle="none", marker=MARKS[role], markersize=5, label=NAMES[role])
            for role in roles
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, labelcolor=INK, fontsize=8)
        return svg(figure, name=f"runs-{cost.name}", title=f"all models of all runs: how good, against {cost.word}")

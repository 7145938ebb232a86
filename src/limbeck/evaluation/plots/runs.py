"""All models of several runs in one picture of accuracy against time."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.lines import Line2D

from limbeck.evaluation import wording
from limbeck.evaluation.plots.drawing import INK, PALETTE, canvas, drawing, end_at_all, short, svg
from limbeck.evaluation.plots.latency import TIME, draw_front, point_of, set_time_axis

MARKS = {"teacher": "*", "baseline": "x", "student": "o", "export": "D"}
NAMES = {"teacher": "teacher", "baseline": "alone", "student": "student", "export": "int8 file"}
SIZES = {"teacher": 110.0}
SIZE = 40.0


def accuracy_of_runs(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """A colour for each run, a mark for each kind of model, and the line along those that no other beats in both."""
    with drawing():
        figure, axes = canvas(xlabel=TIME, ylabel=f"{wording.measure(runs[0][1])} (%)", height=3.6)
        timed = [
            (number, entry)
            for number, (_, report) in enumerate(runs)
            for entry in report["models"]
            if entry["accuracy"] is not None and entry["latency_ms"]
        ]
        points = [point_of(entry) for _, entry in timed]
        set_time_axis(axes, [milliseconds for milliseconds, _ in points])
        for (number, entry), (milliseconds, accuracy) in zip(timed, points, strict=True):
            axes.scatter(
                [milliseconds],
                [accuracy],
                s=SIZES.get(entry["role"], SIZE),
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
        roles = [role for role in MARKS if any(entry["role"] == role for _, entry in timed)]
        handles += [
            Line2D([], [], color=INK, linestyle="none", marker=MARKS[role], markersize=5, label=NAMES[role])
            for role in roles
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, labelcolor=INK, fontsize=8)
        return svg(figure, name="runs", title="all models of all runs: how good, against time")

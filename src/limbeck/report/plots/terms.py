"""The terms of a student's objective, one curve each, so that one that drowns the others is seen."""

from collections.abc import Mapping
from typing import Any

from limbeck.report.plots.drawing import DASHED, INK, PALETTE, canvas, drawing, legend, short, svg
from limbeck.report.plots.training import set_loss_axis

Point = Mapping[str, float]  # the place on the axis under "at", and the value of each term


def loss_terms(report: Mapping[str, Any]) -> str | None:
    """Every loss of the student over its training, step by step or else epoch by epoch; None where it is not known.

    One seed's. Trainings in several stages follow each other, with a line between two.
    """
    curve = next((curve for curve in report["curves"] if curve["role"] == "student"), None)
    if curve is None:
        return None
    stages, axis = _by_step(curve), "step"
    if not stages:
        stages, axis = _by_epoch(curve), "epoch"
    names = list(dict.fromkeys(name for stage in stages for point in stage for name in point if name != "at"))
    if not names:
        return None
    with drawing():
        figure, axes = canvas(xlabel=axis, ylabel=f"loss of {short(curve['name'], most=16)} (log scale)")
        for number, name in enumerate(names):
            line = [(point["at"], point[name]) for stage in stages for point in stage if name in point]
            colour = PALETTE[number % len(PALETTE)]
            axes.plot(*zip(*line, strict=True), color=colour, linewidth=1.3, label=short(name.replace("_", " ")))
        for stage in stages[1:]:
            axes.axvline(stage[0]["at"], color=INK, alpha=0.4, linestyle=DASHED, linewidth=0.8)
        set_loss_axis(axes, [point[name] for stage in stages for point in stage for name in names if name in point])
        legend(axes)
        return svg(figure, name="terms", title=f"every loss of {curve['name']} while it learned")


def _by_step(curve: Mapping[str, Any]) -> list[list[Point]]:
    """The points of each training, each going on where the one before ended."""
    stages: list[list[Point]] = []
    done = 0.0
    for points in curve.get("points") or []:
        stage = [_point(point, at=done + point["step"], without="step") for point in points]
        if stage:
            stages.append(stage)
            done = stage[-1]["at"]
    return stages


def _by_epoch(curve: Mapping[str, Any]) -> list[list[Point]]:
    epochs = [_point(epoch["losses"], at=epoch["epoch"]) for epoch in curve["epochs"] if epoch.get("losses")]
    return [epochs] if epochs else []


def _point(values: Mapping[str, Any], *, at: float, without: str = "") -> Point:
    terms = {name: float(value) for name, value in values.items() if name != without and value is not None}
    return {**terms, "at": at}

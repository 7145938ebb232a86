"""Plots of training: accuracy on dev and loss per epoch, and every term of the loss."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from limbeck.report import wording
from limbeck.report.plots.drawing import COLOURS, DASHED, INK, PALETTE, canvas, drawing, legend, short, svg

NARROW = 30.0  # a loss axis with a smaller ratio of its ends may have only one power of ten
SEED_DASHES = ("-", "--", ":", "-.")


def training_accuracy(report: Mapping[str, Any]) -> str:
    """Accuracy on dev after every epoch, one line per student and seed; the teacher's as a dashed line."""
    with drawing():
        key, scale, unit = ("dev_spearman", 1, "") if wording.is_score(report) else ("dev_accuracy", 100, " (%)")
        figure, axes = canvas(xlabel="epoch", ylabel=f"{wording.measure(report)} on dev{unit}")
        _draw_curves(axes, report["curves"], key=key, scale=scale)
        teacher = wording.teacher_of(report)
        if teacher.get(key) is not None:
            axes.axhline(scale * teacher[key], color=COLOURS["teacher"], linestyle=DASHED, label="teacher")
        legend(axes)
        return svg(figure, name="curve", title=f"{wording.measure(report)} on dev after every epoch")


def training_loss(report: Mapping[str, Any]) -> str:
    """The training loss of the same students; each has its own objective, so only the shapes are comparable."""
    with drawing():
        figure, axes = canvas(xlabel="epoch", ylabel="training loss (own objective, log scale)")
        _draw_curves(axes, report["curves"], key="loss", scale=1)
        set_loss_axis(axes, [epoch["loss"] for curve in report["curves"] for epoch in curve["epochs"]])
        legend(axes)
        return svg(figure, name="loss", title="training loss after every epoch")


def set_loss_axis(axes: Axes, losses: Sequence[float]) -> None:
    """A logarithmic axis with plain numbers, if all losses are above zero."""
    if not losses or min(losses) <= 0:
        return
    axes.set_yscale("log")
    if max(losses) / min(losses) < NARROW:
        axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _draw_curves(axes: Axes, curves: Sequence[Mapping[str, Any]], *, key: str, scale: float) -> None:
    """One colour per student, the first of a role in that of the role; one dash pattern per seed, one name in the
    legend per student."""
    named: dict[str, int] = {}
    colours = _colours(curves)
    for curve in curves:
        of_this_name = named.get(curve["name"], 0)
        axes.plot(
            [epoch["epoch"] for epoch in curve["epochs"]],
            [scale * epoch[key] for epoch in curve["epochs"]],
            color=colours[curve["name"]],
            linestyle=SEED_DASHES[of_this_name % len(SEED_DASHES)],
            marker="o",
            markersize=3,
            linewidth=1.3,
            label=None if of_this_name else short(curve["name"]),
        )
        named[curve["name"]] = of_this_name + 1
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _colours(curves: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    others = iter([*(colour for colour in PALETTE if colour not in COLOURS.values()), *PALETTE])
    found: dict[str, str] = {}
    for role, name in dict.fromkeys((curve["role"], curve["name"]) for curve in curves):
        found[name] = next(others, INK) if COLOURS[role] in found.values() else COLOURS[role]
    return found


Point = Mapping[str, float]  # the position on the axis under "at", and the value of each term


def loss_terms(report: Mapping[str, Any]) -> str | None:
    """Every loss of the student during training, per step or else per epoch, for one seed; None if it is not known.

    Training stages follow each other, with a line between two.
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
        return svg(figure, name="terms", title=f"every loss of {curve['name']} during training")


def _by_step(curve: Mapping[str, Any]) -> list[list[Point]]:
    """The points of each training stage, each continuing where the one before ended."""
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

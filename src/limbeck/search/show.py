"""A search for people: the table of the front, the picture, the card of the chosen model, and the command for it."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from limbeck.errors import in_shell
from limbeck.kinds import STUDENT_KINDS
from limbeck.report.plots.against import Point, draw_front, label_points, set_cost_axis
from limbeck.report.plots.drawing import DASHED, INK, PALETTE, canvas, drawing, end_at_100, svg
from limbeck.report.tables.grid import Entry, Field, Grid, grid_of
from limbeck.report.wording import decimal, percent, three_figures
from limbeck.search.choice import CostLimits, Trial

CHOSEN_AREA, AREA = 120.0, 34.0  # of a mark in the picture
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>:root {{ color-scheme: light dark }} body {{ font: 16px/1.5 system-ui; max-width: 46rem; margin: 2rem auto;
padding: 0 1rem }} svg {{ width: 100%; height: auto }}</style>
<h1>{title}</h1>
{picture}
</html>
"""


def front_grid(trials: Sequence[Trial], *, chosen: Trial | None, limits: CostLimits) -> Grid:
    """The front as a table; the chosen trial is marked with an arrow."""
    entries: list[Entry] = [
        {
            **trial.as_json(),
            "role": "student" if trial == chosen else "",
            "mark": "▸" if trial == chosen else "",
            "within": "yes" if all(share <= 0 for share in limits.excess(us=trial.us, mb=trial.mb).values()) else "no",
        }
        for trial in trials
    ]
    measure = trials[0].dev_measure if trials else "accuracy"
    fields = [
        Field("", lambda entry: str(entry["mark"]), {}, is_words=True),
        Field("trial", lambda entry: str(entry["folder"]).partition("-")[2], {}),
        Field(f"dev {measure}", lambda entry: _shown(entry["dev_score"], measure), {}),
        Field("µs", lambda entry: three_figures(entry["us"]), {}),
        Field("MB", lambda entry: three_figures(entry["mb"]), {}),
        Field("within", lambda entry: str(entry["within"]), {}, is_words=True),
        Field("student", lambda entry: str(entry["kind"]), {}, is_words=True),
        Field("settings", lambda entry: in_words(entry["settings"]), {}, is_words=True),
    ]
    caption = f"Within: not above {limits}; no other trial is faster and as accurate" if trials else ""
    return grid_of("front", title="the front: accuracy against time", fields=fields, entries=entries, caption=caption)


def _shown(score: float, measure: str) -> str:
    """A share in percent; a correlation as it is."""
    return decimal(score) if measure == "Spearman" else percent(score, digits=2)


def in_words(settings: Mapping[str, Any]) -> str:
    """The main settings of a student on one line."""
    shown = {key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in settings.items()}
    return ", ".join(f"{key} {value}" for key, value in shown.items())


def picture(trials: Sequence[Trial], *, chosen: Trial | None, limits: CostLimits) -> str:
    """Every finished trial: a colour per kind, the front as a line, the limit of time as a dashed one, and the chosen
    trial as a star. Trials that are too large are hollow."""
    finished = [trial for trial in trials if trial.state == "finished"]
    measure = finished[0].dev_measure if finished else "accuracy"
    points = [(trial.us, 100 * trial.dev_score) for trial in finished]
    colours = dict(zip(dict.fromkeys(trial.kind for trial in finished), PALETTE, strict=False))
    with drawing():
        figure, axes = canvas(
            xlabel="microseconds for one text (median, log scale)",
            ylabel=f"dev {measure} (× 100)" if measure == "Spearman" else f"dev {measure} (%)",
        )
        limit = [limits.max_us] if limits.max_us is not None else []
        set_cost_axis(axes, [*(amount for amount, _ in points), *limit])
        for trial, point in zip(finished, points, strict=True):
            _draw(axes, trial, point, colour=colours[trial.kind], is_chosen=trial == chosen, limits=limits)
        draw_front(axes, points)
        for amount in limit:
            axes.axvline(amount, color=INK, alpha=0.6, linestyle=DASHED, linewidth=1.1, gid="limit")
        axes.margins(y=0.15)
        end_at_100(axes)
        handles = [
            Line2D([], [], color=colour, linestyle="none", marker="o", markersize=5, label=kind)
            for kind, colour in colours.items()
        ]
        if handles:
            figure.legend(
                handles=handles, loc="outside lower center", ncols=4, frameon=False, labelcolor=INK, fontsize=8
            )
        names = [f"{trial.kind}, {three_figures(trial.mb)} MB" if trial == chosen else "" for trial in finished]
        label_points(figure, axes, points, names=names)
        return svg(figure, name="search", title=f"dev {measure} of every trial against its time")


def _draw(axes: Axes, trial: Trial, point: Point, *, colour: str, is_chosen: bool, limits: CostLimits) -> None:
    """The mark of one trial."""
    is_large = limits.max_mb is not None and trial.mb > limits.max_mb
    axes.scatter(
        [point[0]],
        [point[1]],
        s=CHOSEN_AREA if is_chosen else AREA,
        marker="*" if is_chosen else "o",
        facecolors="none" if is_large else colour,
        edgecolors=colour,
        zorder=4 if is_chosen else 3,
    )


def page(title: str, drawn: str) -> str:
    """The picture as a page."""
    return PAGE.format(title=escape(title), picture=drawn)


def command(recipe: str, trial: Trial, *, changes: Sequence[str] = (), out: Path | None = None) -> str:
    """The command that makes the student of a trial as a run, with its report."""
    replaced = {one.partition("=")[0] for one in trial.overrides}  # a table as a whole: earlier changes of it are void
    kept = [one for one in changes if one.partition("=")[0].partition(".")[0].strip() not in replaced]
    changed = "".join(f" --set {in_shell(one)}" for one in (*kept, *trial.overrides))
    return f"limbeck run {in_shell(recipe)}{f' --out {in_shell(out)}' if out else ''}{changed}"


def numbers(trial: Trial) -> str:
    """Score, time and size of a trial in words."""
    unit = "" if trial.dev_measure == "Spearman" else " %"
    score = f"dev {trial.dev_measure} {_shown(trial.dev_score, trial.dev_measure)}{unit}"
    guesses = " (hardly better than guessing)" if trial.near_chance else ""
    return f"{score}{guesses}, {three_figures(trial.us)} µs, {three_figures(trial.mb)} MB"


def card(trial: Trial, *, limits: CostLimits, count: int, again: str) -> str:
    """The README.md of the chosen model."""
    return "\n".join(_card(trial, limits=limits, count=count, again=again))


def _card(trial: Trial, *, limits: CostLimits, count: int, again: str) -> Iterator[str]:
    yield "# search\n"
    yield f"A {STUDENT_KINDS[trial.kind].title}, found by `limbeck search`.\n"
    yield f"- {numbers(trial)}: the most accurate of {count} trials within {limits}."
    yield f"- Settings: {in_words(trial.settings)}."
    yield "- The time is the median for one text on one thread of the machine of the search, from text to label."
    yield "- It was chosen among all trials by this score on dev, which is therefore a little too good. Only test rows,"
    yield "  which no trial is judged on, say how good it is.\n"
    yield "As a run, with a report:\n"
    yield f"```\n{again}\n```\n"
    yield "To use it:\n"
    yield "```\nlimbeck predict search texts.txt\n```\n"
    yield "`search` is this folder."

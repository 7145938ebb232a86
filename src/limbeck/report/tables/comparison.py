"""Several runs in one table and on one page, and the relative change of every student against every other."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.text import Text

from limbeck.errors import some
from limbeck.report import score_words, wording
from limbeck.report.markdown import as_markdown, markdown
from limbeck.report.tables.formats import Format, written
from limbeck.report.tables.grid import Entry, Field, Grid, grid_of, named
from limbeck.report.tables.quality import INTERVAL, MODEL, percents
from limbeck.report.tables.relative import matrix_grid
from limbeck.report.tables.runs import ComparedRun, obstacles
from limbeck.report.tables.terminal import print_grid

PAGE = "comparison.html.jinja"


def comparison_grids(runs: Sequence[ComparedRun]) -> list[Grid]:
    """The table over all models of all runs, and the matrix of their students."""
    return [models_grid(runs), students_grid(runs)]


def models_grid(runs: Sequence[ComparedRun]) -> Grid:
    """One line for every model of every run."""
    entries = [{**entry, "run": run.name, "judged_on": run.judged_on} for run in runs for entry in run.report["models"]]
    measures = {wording.measure(run.report) for run in runs}
    accuracy = Field(
        heading=measures.pop() if len(measures) == 1 else "right",
        text=_headline,
        values={key: named(key) for key in ("accuracy", "accuracy_sd", "seed_count")},
    )
    of_scores = [wording.is_score(run.report) for run in runs]
    intervals = [*([] if all(of_scores) else [INTERVAL]), *(SCORES if any(of_scores) else [])]
    fields = [RUN, MODEL, accuracy, *intervals, *COLUMNS]
    caption = CAPTION_OF_SCORES if all(of_scores) else CAPTION
    return grid_of("comparison", title=f"{len(runs)} runs", fields=fields, entries=entries, caption=caption)


def students_grid(runs: Sequence[ComparedRun]) -> Grid:
    """The students, each with the name of its run, or of run and model if a run has several; with McNemar's p for those
    that were judged on the same rows."""
    entries: list[dict[str, Any]] = []
    for run in runs:
        students = [entry for entry in run.report["models"] if entry["role"] == "student"]
        main = wording.main_model(run.report)
        chosen = students or ([main] if main else [])
        entries += [
            {
                **entry,
                "name": run.name if len(chosen) == 1 else f"{run.name}/{entry['name']}",
                "rows": run.right_rows.digest if run.right_rows else None,
                "right": run.right_rows.of_model.get(entry["name"]) if run.right_rows else None,
            }
            for entry in chosen
        ]
    is_tested = any(
        p_between(entry, other) is not None for entry in entries for other in entries if entry["name"] != other["name"]
    )
    return matrix_grid(
        entries,
        measure=wording.measure(runs[0].report),
        p_of=p_between if is_tested else None,
        notes=_untested(runs),
    )


def p_between(entry: Entry, other: Entry) -> float | None:
    """McNemar's exact test of two shipped copies; None if they were not judged on the same rows.

        p = min(1, 2 · Σ_{i ≤ min(one, other)}  C(n, i) / 2ⁿ),   n = one + other

    where `one` and `other` are the numbers of rows that only one of the two has right.
    """
    right, others = entry["right"], other["right"]
    if right is None or others is None or entry["rows"] != other["rows"]:
        return None
    one, two = (right & ~others).bit_count(), (others & ~right).bit_count()
    return _two_sided(min(one, two), one + two)


def _two_sided(fewer: int, tosses: int) -> float:
    """With logarithms, for any number of rows."""
    places = range(fewer + 1)
    log_ways = [math.lgamma(tosses + 1) - math.lgamma(heads + 1) - math.lgamma(tosses - heads + 1) for heads in places]
    return min(1.0, 2 * math.fsum(math.exp(ways - tosses * math.log(2)) for ways in log_ways))


def _untested(runs: Sequence[ComparedRun]) -> list[str]:
    """Why some pairs of students have no p."""
    if any(wording.is_score(run.report) for run in runs):
        return []  # no row is right or wrong
    if without := [run.name for run in runs if run.right_rows is None]:
        return [
            f"No p for {some(without)}: which rows it has right is not stored beside its report; run the recipe again."
        ]
    if len({run.right_rows.digest for run in runs if run.right_rows}) > 1:
        return ["There is no p between runs that were not judged on the same rows."]
    return []


def print_comparison(runs: Sequence[ComparedRun], console: Console) -> None:
    """Print both tables, and warnings if the runs are not comparable."""
    models, students = comparison_grids(runs)
    print_grid(models, console)
    console.print()
    if len(students.lines) > 1:
        print_grid(students, console, numbered=True)
    for warning in obstacles(runs):
        console.print(Text("warning: ", style="yellow") + Text(warning, style="default"))


def written_comparison(runs: Sequence[ComparedRun], form: Format) -> str:
    """Both tables in this format, ending in a line break."""
    if form == Format.MARKDOWN:
        runs = [replace(run, name=markdown(run.name), report=as_markdown(run.report)) for run in runs]
    return written(comparison_grids(runs), form)


def comparison_page(runs: Sequence[ComparedRun]) -> str:
    """One self-contained page with plots of all models and the tables, from the reports alone; needs matplotlib."""
    from limbeck.report.plots.against import SIZE, TIME, accuracy_of_runs
    from limbeck.report.templates import pictures, rendered

    reports = [(run.name, run.report) for run in runs]
    return rendered(
        PAGE,
        runs=runs,
        warnings=obstacles(runs),
        models=models_grid(runs),
        students=students_grid(runs),
        time_plots=pictures([accuracy_of_runs(reports, TIME)]),
        size_plots=pictures([accuracy_of_runs(reports, SIZE)]),
    )


def _headline(entry: Entry) -> str:
    """The accuracy; of scores Spearman's correlation."""
    return score_words.with_spread(entry, "spearman") if entry.get("spearman") is not None else wording.accuracy(entry)


def _gain(entry: Entry) -> float | None:
    found = entry.get("gain_over_baseline")
    return float(found["accuracy"]) if found else None


def _shown_gain(entry: Entry) -> str:
    """A gain whose interval includes zero is put in brackets: it is no more than noise."""
    gain = _gain(entry)
    if gain is None:
        return "" if entry["role"] in ("teacher", "baseline", "rival") else wording.UNKNOWN
    low, high = entry["gain_over_baseline"]["ci95"]
    return f"({wording.signed(gain)})" if low <= 0 <= high else wording.signed(gain)


def _bound_of_gain(side: int) -> Any:
    return lambda entry: entry["gain_over_baseline"]["ci95"][side] if entry.get("gain_over_baseline") else None


SCORES = [
    Field(
        heading="95 %",
        text=lambda entry: score_words.interval(entry, "spearman"),
        values={"spearman_low": lambda entry: (entry.get("spearman_ci95") or [None])[0]},
        rank=2,
    ),
    Field(
        heading="RMSE",
        text=lambda entry: score_words.number(entry.get("rmse")),
        values={"spearman": named("spearman"), "rmse": named("rmse")},
        rank=2,
    ),
]
CAPTION_OF_SCORES = "RMSE in the units of the scores"
CAPTION = "in %; gain: points over the same student trained alone, in brackets if it is no more than noise"
RUN = Field(heading="run", text=lambda entry: str(entry["run"]), values={"run": named("run")}, is_words=True)
COLUMNS = [
    percents("F1", "macro_f1", rank=3, page_heading="macro F1"),
    Field(
        heading="gain",
        text=_shown_gain,
        values={"gain": _gain, "gain_low": _bound_of_gain(0), "gain_high": _bound_of_gain(1)},
        rank=1,
    ),
    Field(
        heading="MB",
        text=lambda entry: wording.three_figures(entry["size_mb"]),
        values={"size_mb": named("size_mb")},
        rank=1,
    ),
    Field(
        heading="p50 ms",
        text=lambda entry: wording.milliseconds(entry, "p50"),
        values={"latency_ms_p50": named("latency_ms.p50")},
    ),
    Field(
        heading="faster",
        text=lambda entry: wording.times(entry["speedup_over_teacher"]),
        values={"speedup_over_teacher": named("speedup_over_teacher")},
        rank=1,
    ),
    Field(
        heading="judged on",
        text=lambda entry: str(entry["judged_on"]),
        values={"judged_on": named("judged_on")},
        rank=4,
        is_words=True,
    ),
]

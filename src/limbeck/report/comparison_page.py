"""Several runs on one self-contained page: plots of all their models, and the tables."""

from collections.abc import Sequence

from limbeck.report.plots.against import SIZE, TIME, accuracy_of_runs
from limbeck.report.tables.comparison import models_grid, students_grid
from limbeck.report.tables.runs import ComparedRun, obstacles
from limbeck.report.templates import pictures, rendered

TEMPLATE = "comparison.html.jinja"


def page_of_runs(runs: Sequence[ComparedRun]) -> str:
    """The HTML, made only from the runs' reports."""
    reports = [(run.name, run.report) for run in runs]
    return rendered(
        TEMPLATE,
        runs=runs,
        warnings=obstacles(runs),
        models=models_grid(runs),
        students=students_grid(runs),
        time_plots=pictures([accuracy_of_runs(reports, TIME)]),
        size_plots=pictures([accuracy_of_runs(reports, SIZE)]),
    )

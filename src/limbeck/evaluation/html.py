"""The report as one self-contained page: no request leaves it, and all text from outside is escaped."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from limbeck.evaluation import findings, plots, wording

TEMPLATE = "report.html.jinja"
CURVES = (plots.training_accuracy, plots.training_loss)


def page(report: Mapping[str, Any]) -> str:
    """The HTML of a report, from nothing but what stands in report.json."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.globals["wording"] = wording
    template = environment.from_string((files("limbeck.evaluation") / TEMPLATE).read_text(encoding="utf-8"))
    return template.render(
        report=report,
        teacher=wording.teacher_of(report),
        model=wording.main_model(report),
        ships=_what_to_use(report),
        verdict=wording.verdict(report),
        latency_plot=Markup(plots.accuracy_against_latency(report)),
        curve_plots=[Markup(plot(report)) for plot in CURVES] if report["curves"] else [],
        measure=wording.measure(report),
        supports=_supports(report),
        warnings=findings.warnings(report),
        notes=findings.notes(report),
        corpus_facts=findings.corpus_facts(report),
        transfer_facts=findings.transfer_facts(report),
        augmentation_facts=findings.augmentation_facts(report),
    )


def _supports(report: Mapping[str, Any]) -> list[int]:
    """Rows of each class; as the last model has them, because a teacher need not have answered about all of them."""
    tables = [entry["per_class"] for entry in report["models"] if entry["per_class"]]
    return [row["support"] for row in tables[-1]] if tables else []


def _what_to_use(report: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The model the commands at the foot of the page name: the last exported file, else the student."""
    exported = [entry for entry in report["models"] if entry["role"] == "export"]
    return exported[-1] if exported else wording.main_model(report)

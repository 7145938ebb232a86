"""The report as one self-contained page: no request leaves it, and all text from outside is escaped."""

from collections.abc import Mapping
from typing import Any

from limbeck.errors import some
from limbeck.report import abstaining, findings, plots, score_words, sentences, wording
from limbeck.report.tables.classes import classes_grid, hardest
from limbeck.report.tables.cost import cost_grid, throughput_grid
from limbeck.report.tables.grid import Grid
from limbeck.report.tables.quality import quality_grid
from limbeck.report.tables.relative import relative_grid
from limbeck.report.tables.report import slices_of_report
from limbeck.report.tables.scores import residuals_grid, score_quality_grid
from limbeck.report.tables.slices import worst
from limbeck.report.templates import pictures, rendered

TEMPLATE = "report.html.jinja"
MAX_CONFUSED = 8
FEW_CLASSES = 12  # shown at once; all of them are folded below
SHORT_TEXT = 260  # characters of a row that are shown at once


def page(report: Mapping[str, Any], *, review: Mapping[str, Any] | None = None) -> str:
    """The HTML of a report, made from report.json, and from what a review of its rows has found, if there is one. Parts
    that an old report does not have are omitted."""
    model, ships = wording.main_model(report), what_to_use(report)
    return rendered(
        TEMPLATE,
        report=report,
        review=review,
        teacher=wording.teacher_of(report),
        rival=wording.rival_of(report),
        model=model,
        ships=ships,
        measure=wording.measure(report),
        verdict=wording.verdict_sentences(report),
        try_it=sentences.try_it(report, ships["folder"]) if ships else None,
        warnings=findings.warnings(report),
        notes=[*findings.notes(report), *sentences.few_rows(report)],
        quality=_quality(report),
        is_score=wording.is_score(report),
        residuals=residuals_grid(report) if wording.is_score(report) else None,
        largest_residuals=[_shown_residual(row) for row in report.get("largest_residuals") or []],
        score=score_words,
        relative=relative_grid(report),
        cost=cost_grid(report),
        throughput=throughput_grid(report),
        classes=classes_grid(report),
        hardest=hardest(classes_grid(report), most=FEW_CLASSES, rest=""),
        slices=slices_of_report(report),
        worst_slices=worst(slices_of_report(report), rest=""),
        labels=some(report["corpus"]["labels"], most=FEW_CLASSES),
        confused=_confused(report, model),
        calibration=sentences.calibration(report),
        cascade=sentences.cascade(report) or sentences.score_cascade(report),
        abstaining=abstaining.sentences_of(report),
        errors=[_shown_error(row) for row in report.get("worst_errors") or []],
        corpus_facts=findings.corpus_facts(
            {**report, "corpus": {name: _folded(fact) for name, fact in report["corpus"].items()}}
        ),
        transfer_facts=findings.transfer_facts(report),
        asking_plots=pictures([plots.accuracy_against_texts(report)]),
        augmentation_facts=findings.augmentation_facts(report),
        **_plots(report, model),
    )


def _folded(facts: Any) -> Any:
    """Facts of the corpus without long lists, such as a weight for each of 150 classes."""
    if isinstance(facts, Mapping):
        more = [("and more", len(facts) - FEW_CLASSES)] if len(facts) > FEW_CLASSES else []
        return {name: _folded(value) for name, value in [*list(facts.items())[:FEW_CLASSES], *more]}
    if isinstance(facts, list) and len(facts) > FEW_CLASSES:
        return [*facts[:FEW_CLASSES], f"… and {len(facts) - FEW_CLASSES:,} more"]
    return facts


def _without_weighted(grid: Grid) -> Grid:
    """The page has the means that are weighted by rows below the classes."""
    return grid.at([place for place, field in enumerate(grid.fields) if "weighted" not in field.page_heading])


def _quality(report: Mapping[str, Any]) -> Grid:
    if wording.is_score(report):
        return score_quality_grid(report, with_cost=True)
    return _without_weighted(quality_grid(report, with_cost=True))


def _plots(report: Mapping[str, Any], model: Mapping[str, Any] | None) -> dict[str, Any]:
    """The pictures of each section; an empty list where nothing is known to draw."""
    labels, teacher = report["corpus"]["labels"], wording.teacher_of(report)
    judged = [entry for entry in (teacher, model) if entry and entry is not wording.NO_TEACHER]
    curves = (plots.training_accuracy, plots.training_loss, plots.loss_terms) if report["curves"] else ()
    if wording.is_score(report):
        return {
            "score_plots": pictures([plots.scatter(model), plots.residuals(model)]),
            "latency_plots": pictures([plots.accuracy_against(report, plots.TIME)]),
            "size_plots": pictures([plots.accuracy_against(report, plots.SIZE)]),
            **{f"{name}_plots": [] for name in ("confusion", "reliability", "risk", "length")},
            "cascade_plots": pictures([plots.cascade(report)]),
            "curve_plots": pictures(draw(report) for draw in curves),
        }
    return {
        "score_plots": [],
        "latency_plots": pictures([plots.accuracy_against(report, plots.TIME)]),
        "size_plots": pictures([plots.accuracy_against(report, plots.SIZE)]),
        "confusion_plots": pictures(
            plots.confusion(entry, labels=labels, name=f"confusion-{entry['role']}") for entry in judged
        ),
        "reliability_plots": pictures([plots.reliability(judged)]),
        "cascade_plots": pictures([plots.cascade(report)]),
        "risk_plots": pictures([plots.risk_coverage(report)]),
        "length_plots": pictures([plots.accuracy_by_length(report)]),
        "curve_plots": pictures(draw(report) for draw in curves),
    }


def what_to_use(report: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The model in the commands at the end of the page: the best; else the last exported file, or the student."""
    if best := wording.best_of(report):
        return {**best, "folder": wording.BEST_FOLDER}
    exported = [entry for entry in report["models"] if entry["role"] == "export"]
    return exported[-1] if exported else wording.main_model(report)


def _confused(report: Mapping[str, Any], model: Mapping[str, Any] | None) -> list[tuple[str, str, int]]:
    """The most frequent mistakes of the student in words; with two classes the plot is enough."""
    labels = report["corpus"]["labels"]
    return plots.most_confused(model, labels=labels, most=MAX_CONFUSED) if model and len(labels) > 2 else []


def _shown_residual(row: Mapping[str, Any]) -> dict[str, Any]:
    text = row["text"] if row["pair"] is None else f"{row['text']} ⇄ {row['pair']}"
    return {
        "start": text[:SHORT_TEXT],
        "rest": text[SHORT_TEXT:],
        **{name: score_words.number(row[name]) for name in ("score", "student", "teacher")},
    }


def _shown_error(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its labels in words, and its text in two parts: the part that is shown, and the part that is
    folded."""
    text = row["text"] if row["pair"] is None else f"{row['text']} ⇄ {row['pair']}"
    cut = text.rfind(" ", SHORT_TEXT // 2, SHORT_TEXT) if " " in text[SHORT_TEXT // 2 : SHORT_TEXT] else SHORT_TEXT
    return {
        "start": text if len(text) <= SHORT_TEXT else text[:cut],
        "rest": "" if len(text) <= SHORT_TEXT else text[cut:],
        **{name: _labels(row[name]) for name in ("label", "student", "teacher")},
        **{f"{name}_right": row[name] == row["label"] for name in ("student", "teacher")},
        **{f"{name}_sure": wording.percent(row[f"{name}_probability"], digits=0) for name in ("student", "teacher")},
    }


def _labels(labels: str | list[str]) -> str:
    return labels if isinstance(labels, str) else ", ".join(labels) or "none"

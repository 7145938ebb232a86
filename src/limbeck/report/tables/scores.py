"""The quality table of a report about scores, and its residuals by score."""

from collections.abc import Mapping
from typing import Any

from limbeck.report import score_words, sentences, wording
from limbeck.report.tables.grid import Entry, Field, Grid, grid_of, named
from limbeck.report.tables.quality import COST, MODEL


def score_quality_grid(report: Mapping[str, Any], *, with_cost: bool = False) -> Grid:
    """Correlations and errors with spread and intervals, agreement with the teacher, and classes at the threshold."""
    threshold = _threshold(report)
    fields = [
        MODEL,
        _measure("Spearman", "spearman"),
        _over_rival(report),
        *(COST if with_cost else []),
        _interval("95 %", "spearman", page_heading="95 % interval"),
        _measure("Pearson", "pearson", rank=2),
        _measure("MAE", "mae", rank=1, page_heading="mean absolute error"),
        _measure("RMSE", "rmse", rank=3, page_heading="root mean squared error"),
        _interval("95 %", "rmse", rank=5, page_heading="its 95 % interval"),
        Field(
            heading="teacher",
            text=lambda entry: wording.decimal(entry.get("teacher_spearman")),
            values={"teacher_spearman": named("teacher_spearman")},
            rank=4,
            page_heading="Spearman with the teacher",
            legend="teacher: Spearman with the teacher's scores",
        ),
        *_at_threshold(threshold),
    ]
    unit = "errors in the units of the scores"
    return grid_of(
        "quality",
        title="Quality",
        fields=fields,
        entries=wording.marked_models(report),
        caption=f"{report['judged_rows']:,} {report['judged_split']} rows of {report['corpus']['name']}; {unit}",
        notes=sentences.remarks(report),
    )


def residuals_grid(report: Mapping[str, Any]) -> Grid:
    """How far the main model is off, by the true score."""
    model = wording.main_model(report) or {}
    return grid_of(
        "residuals",
        title=f"Residuals of {model.get('name', 'the model')} by score",
        fields=RESIDUALS,
        entries=model.get("residuals") or [],
        caption="residual: the model's score less the true one",
    )


def _threshold(report: Mapping[str, Any]) -> float | None:
    found = [entry["at_threshold"]["threshold"] for entry in report["models"] if entry.get("at_threshold")]
    return float(found[0]) if found else None


def _at_threshold(threshold: float | None) -> list[Field]:
    if threshold is None:
        return []
    legend = f"AUC, F1: rows of at least {threshold:g} against the others"
    return [
        Field(
            heading=heading,
            text=lambda entry, key=key: wording.decimal((entry.get("at_threshold") or {}).get(key)),  # type: ignore[misc]
            values={f"{key}_at_threshold": named(f"at_threshold.{key}")},
            rank=2,
            legend=legend if key == "auc" else "",
        )
        for heading, key in (("AUC", "auc"), ("F1", "f1"))
    ]


def _measure(heading: str, name: str, **more: Any) -> Field:
    return Field(
        heading=heading,
        text=lambda entry: score_words.with_spread(entry, name),
        values={name: named(name), f"{name}_sd": named(f"{name}_sd")},
        **more,
    )


def _interval(heading: str, name: str, *, rank: int = 1, page_heading: str) -> Field:
    return Field(
        heading=heading,
        text=lambda entry: score_words.interval(entry, name),
        values={f"{name}_low": _bound(name, 0), f"{name}_high": _bound(name, 1)},
        rank=rank,
        page_heading=page_heading,
    )


def _bound(name: str, side: int) -> Any:
    return lambda entry: entry[f"{name}_ci95"][side] if entry.get(f"{name}_ci95") else None


def _over_rival(report: Mapping[str, Any]) -> Field:
    name = (wording.rival_of(report) or {}).get("name", "rival")
    return Field(
        heading=f"vs {name}",
        text=_shown_over_rival,
        values={"spearman_gain_over_rival": named("score_gain_over_rival.spearman")},
        rank=1,
        page_heading=f"against {name}",
        legend=f"vs {name}: Spearman above it, in brackets if no more than noise",
    )


def _shown_over_rival(entry: Entry) -> str:
    gain = entry.get("score_gain_over_rival")
    return score_words.difference(gain) if gain else "" if entry.get("role") == "rival" else wording.UNKNOWN


RESIDUALS = [
    Field(
        heading="scores",
        text=lambda entry: f"{entry['from']:g} to {entry['to']:g}",
        values={"from": named("from"), "to": named("to")},
        is_words=True,
    ),
    Field(heading="rows", text=lambda entry: f"{entry['rows']:,}", values={"rows": named("rows")}),
    Field(
        heading="mean residual",
        text=lambda entry: score_words.number(entry["mean_residual"]),
        values={"mean_residual": named("mean_residual")},
    ),
    Field(heading="MAE", text=lambda entry: score_words.number(entry["mae"]), values={"mae": named("mae")}),
]

"""The first table: how good every model is, and whether differences are more than noise."""

from collections.abc import Mapping
from typing import Any

from limbeck.report import sentences, wording
from limbeck.report.tables.grid import Entry, Field, Grid, grid_of, named

P_LEGEND = "p: McNemar's test between the shipped copies, on the rows that only one of two has right"


def quality_grid(report: Mapping[str, Any], *, with_cost: bool = False) -> Grid:
    """Accuracy with spread and interval, F1 and related measures, agreement, calibration, McNemar's p.

    `with_cost` adds time and size before the measures that fewer people read.
    """
    needed = [MODEL, _accuracy(wording.measure(report)), _over_rival(report), *(COST if with_cost else [])]
    fields = [*needed, INTERVAL, *_measures(report), *AGAINST_TEACHER]
    return grid_of(
        "quality",
        title="Quality",
        fields=fields,
        entries=wording.marked_models(report),
        caption=_caption(report),
        notes=[*sentences.differences(report), *sentences.remarks(report)],
    )


def percents(heading: str, key: str, **more: Any) -> Field:
    """A column of shares."""
    value = named(key)
    values = {key.replace(".", "_"): value}
    return Field(heading=heading, text=lambda entry: wording.percent(value(entry)), values=values, **more)


def _caption(report: Mapping[str, Any]) -> str:
    right = "; exact match: every label of a row right" if wording.is_multi_label(report) else ""
    return f"{report['judged_rows']:,} {report['judged_split']} rows of {report['corpus']['name']}, in %{right}"


def _accuracy(measure: str) -> Field:
    values = {key: named(key) for key in ("accuracy", "accuracy_sd", "seed_count")}
    return Field(heading=measure, text=wording.accuracy, values=values)


def _over_rival(report: Mapping[str, Any]) -> Field:
    """Points above the rival; in brackets if they are no more than noise."""
    name = (wording.rival_of(report) or {}).get("name", "rival")
    return Field(
        heading=f"vs {name}",
        text=_shown_over_rival,
        values={
            "gain_over_rival": named("gain_over_rival.accuracy"),
            "gain_over_rival_low": lambda entry: (named("gain_over_rival.ci95")(entry) or [None])[0],
            "gain_over_rival_high": lambda entry: (named("gain_over_rival.ci95")(entry) or [None])[-1],
        },
        rank=1,
        page_heading=f"against {name}",
        legend=f"vs {name}: points above it, in brackets if no more than noise",
    )


def _shown_over_rival(entry: Entry) -> str:
    gain = entry.get("gain_over_rival")
    if not gain:
        return "" if entry["role"] == "rival" else wording.UNKNOWN
    low, high = gain["ci95"]
    points = wording.signed(gain["accuracy"])
    return f"({points})" if low <= 0 <= high else points


def _bound(side: int) -> Any:
    return lambda entry: entry["accuracy_ci95"][side] if entry["accuracy_ci95"] else None


def _measures(report: Mapping[str, Any]) -> list[Field]:
    """The measures for the corpus: label sets, or one label per row."""
    if wording.is_multi_label(report):
        return [
            percents("micro F1", "micro_f1", rank=1),
            percents("macro F1", "macro_f1", rank=1),
            percents("hamming", "hamming_loss", rank=1, page_heading="hamming loss"),
            *MACRO[:2],
            *WEIGHTED,
        ]
    positive = percents(f"F1 {report['corpus']['labels'][-1]}", "f1_positive", rank=1)
    macro_f1 = percents("F1", "macro_f1", rank=1, page_heading="macro F1", legend="F1: mean over classes")
    return [positive, *MACRO[:2], macro_f1, *WEIGHTED, MCC, AUC]


def _p(against: str) -> Field:
    value = named(f"mcnemar.{against}.p")
    name = {"baseline": "alone", "rival": "tfidf"}.get(against, against)
    counts = {f"{side}_vs_{name}": named(f"mcnemar.{against}.{side}") for side in ("only_this", "only_other")}
    return Field(
        heading=f"p {name}",
        text=lambda entry: _shown_p(value(entry), entry),
        values={f"mcnemar_p_{name}": value, **counts},
        rank={"alone": 4, "teacher": 5}.get(name, 9),
        page_heading=f"p, against {name}",
        legend=P_LEGEND if name == "alone" else "",
    )


def _shown_p(p: float | None, entry: Entry) -> str:
    return "" if p is None and entry["role"] in ("teacher", "baseline", "rival") else wording.p_value(p)


def _number(heading: str, key: str, **more: Any) -> Field:
    value = named(key)
    return Field(heading=heading, text=lambda entry: wording.decimal(value(entry)), values={key: value}, **more)


MODEL = Field(
    heading="model",
    text=lambda entry: str(entry["name"]),
    values={"model": named("name"), "role": named("role")},
    is_words=True,
)
COST = [
    Field(heading="a text", text=wording.one_text, values={"latency_ms_p50": named("latency_ms.p50")}),
    Field(
        heading="MB",
        text=lambda entry: wording.three_figures(entry["size_mb"]),
        values={"size_mb": named("size_mb")},
    ),
]
INTERVAL = Field(
    heading="95 %",
    text=wording.interval,
    values={"accuracy_low": _bound(0), "accuracy_high": _bound(1)},
    rank=2,
    page_heading="95 % interval",
)
MACRO = [
    percents("prec.", "macro.precision", rank=8, page_heading="macro precision"),
    percents("recall", "macro.recall", rank=8, page_heading="macro recall"),
]
WEIGHTED = [
    percents("w.prec.", "weighted.precision", rank=12, page_heading="weighted precision"),
    percents("w.recall", "weighted.recall", rank=12, page_heading="weighted recall"),
    percents("w.F1", "weighted.f1", rank=11, page_heading="weighted F1"),
]
MCC = _number("MCC", "mcc", rank=6, legend="MCC: Matthews correlation, 1 at best")
AUC = _number("AUC", "roc_auc", rank=10)
AGAINST_TEACHER = [
    percents(
        *("agrees", "teacher_agreement"),
        rank=3,
        page_heading="agrees with teacher",
        legend="agrees: same label as the teacher, right or wrong",
    ),
    _number("KL", "kl_to_teacher", rank=10, page_heading="KL to teacher"),
    percents(
        *("ECE", "ece"),
        rank=7,
        page_heading="calibration error",
        legend="ECE: how far confidence is from the share that is right",
    ),
    percents(
        *("scaled", "ece_calibrated"),
        rank=9,
        page_heading="same, scaled",
        legend="scaled: the same with the shipped temperature",
    ),
    _p("baseline"),
    _p("teacher"),
    _p("rival"),
]

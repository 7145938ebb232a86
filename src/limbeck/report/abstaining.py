"""What a report says about giving no label: what the threshold costs and gains, and how far to trust foreign rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from limbeck.report import wording

SCORES = {"probability": "a probability", "margin": "a margin", "energy": "an energy"}
TRUST = {
    "labelled": "These rows are labelled so in your data: this is what to expect of such texts.",
    "files": "These texts come from the files that the recipe names: it is as true as they are like what will come.",
    "general": "These are sentences of general text, about other things than the task: do not trust it for texts that "
    "resemble the task's, which are harder to tell. The threshold does not depend on them.",
}
ROWS_OF = {
    "labelled": "rows labelled as out of scope",
    "files": "texts known to be foreign",
    "general": "sentences of general text",
}


def sentences_of(report: Mapping[str, Any]) -> list[str]:
    """What the threshold does, and how foreign rows fare; old reports have neither."""
    found = report.get("abstaining")
    if not found:
        return []
    parts = [areas(found)]
    if found["threshold"]:
        parts = [threshold(found), *parts]
    return [*parts, *([foreign(found)] if found["foreign"] else []), *_taught(report)]


def _taught(report: Mapping[str, Any]) -> Iterator[str]:
    """What students have learned of foreign text, and whether what is judged is of the same kind."""
    taught = report.get("taught_foreign")
    if not taught:
        return
    parts = " and ".join(f"{rows:,} {ROWS_OF[source]}" for source, rows in taught.items())
    judged = report["abstaining"]["foreign"]
    same = judged is not None and judged["source"] != "labelled" and judged["source"] in taught
    remark = (
        " Those judged above are others of the same kind; texts of another kind are found less often." if same else ""
    )
    yield f"The students have learned {parts}, with equal probabilities for all labels.{remark}"


def areas(found: Mapping[str, Any]) -> str:
    """The area under each curve, with its interval."""
    named = [f"{curve['name']} {_percent(curve['aurc'])} {_interval(curve['aurc_ci95'])}" for curve in found["curves"]]
    return (
        f"Mean error over all shares of rows that are answered, the surest first (AURC), by {found['score']}: "
        f"{', '.join(named)}."
    )


def threshold(found: Mapping[str, Any]) -> str:
    """What the model does with the judged rows."""
    first = next(curve for curve in found["curves"] if curve["name"] == found["model"])
    return _threshold(found["threshold"], model=found["model"], fitted=_fitted(found["on_dev"]), error=first["error"])


def of_evaluation(found: Mapping[str, Any], *, error: float) -> Iterator[str]:
    """What `limbeck evaluate` says; `error` is that of all rows, if all of them are answered."""
    own, area = found["threshold"], f"{_percent(found['aurc'])} {_interval(found['aurc_ci95'])}"
    if own:
        yield _threshold(own, model="The model", fitted="", error=error)
    yield f"Mean error over all shares of rows that are answered, the surest by {found['score']} first (AURC): {area}."
    if found["foreign"]:
        yield _foreign(found["foreign"], rows="rows out of scope")


def _threshold(own: Mapping[str, Any], *, model: str, fitted: str, error: float) -> str:
    said = f"{model} gives no label below {SCORES[own['score']]} of {own['threshold']:.4g}{fitted}"
    share = f"it answers {_percent(own['coverage'])} of the rows {_interval(own['coverage_ci95'])}"
    if own["error"] is None:
        return f"{said}: {share}."
    wrong = f"of these {_percent(own['error'])} are wrong {_interval(own['error_ci95'])}"
    return f"{said}: {share}; {wrong}, and {_percent(error)} of all."


def _fitted(dev: Mapping[str, Any] | None) -> str:
    if dev is None:
        return ""
    wanted = dev["wanted"]
    if "error" in wanted:
        got = "" if dev["is_reached"] else f", which is not reached there ({_percent(dev['error'] or 0)})"
        return f", fitted on dev for an error of at most {_percent(wanted['error'])}{got}"
    if "coverage" in wanted:
        return f", fitted on dev to answer at least {_percent(wanted['coverage'])} of the rows"
    return ", with which most rows of dev, in scope and out of it, are treated right"


def foreign(found: Mapping[str, Any]) -> str:
    """How well foreign rows are recognised, and how far to trust that."""
    own = found["foreign"]
    return f"{_foreign(own, rows=ROWS_OF[own['source']])} {TRUST[own['source']]}"


def _foreign(own: Mapping[str, Any], *, rows: str) -> str:
    withheld = ""
    if "withheld" in own:
        withheld = f"{_percent(own['withheld'])} get no label {_interval(own['withheld_ci95'])}; "
    return (
        f"Of {own['rows']:,} {rows}: {withheld}recall at 5 % in-scope loss {_percent(own['recall_at_5'])}, "
        f"AUROC {_percent(own['auroc'])}, in-scope loss at 95 % recall (FPR95) {_percent(own['fpr95'])}."
    )


def _percent(share: float) -> str:
    return f"{wording.percent(share)} %"


def _interval(bounds: Sequence[float]) -> str:
    low, high = bounds
    return f"({wording.percent(low)}–{wording.percent(high)})"

"""What was found in the data, in words, mainly rows of dev and test that a student could have seen."""

from collections.abc import Iterator, Mapping
from typing import Any

from limbeck.errors import some
from limbeck.report import wording

HELD_OUT = ("dev", "test")
SHOWN_ELSEWHERE = (
    *("name", "labels", "language", "pair", "multi_label", "labels_from", "rows", "rows_per_label", "overlap"),
)


def warnings(report: Mapping[str, Any]) -> list[str]:
    """One sentence per overlap that was not removed; each makes the numbers look better than they are."""
    return [
        f'{counts}: results look better than they are; {section}.overlap = "remove" in the recipe removes them'
        for section, counts, mode in _overlaps(report)
        if mode != "remove"
    ]


def notes(report: Mapping[str, Any]) -> list[str]:
    """What is needed to read the numbers correctly: labels that train lacks, rows without a teacher label, and where
    the labels come from."""
    return [*_unknown(report), *_unanswered(report), *_labels_of_columns(report)]


def _unknown(report: Mapping[str, Any]) -> list[str]:
    """Labels of the judged rows that train lacks."""
    unknown: Mapping[str, int] = report["corpus"].get("unknown_in_test") or {}
    if not unknown or report["judged_split"] != "test":
        return []
    names = some([f"{name} × {count:,}" for name, count in unknown.items()], most=6)
    result = "they are ignored" if wording.is_multi_label(report) else "every answer to such a row counts as wrong"
    return [f"labels of test rows that train does not have: {names}; {result}"]


def _unanswered(report: Mapping[str, Any]) -> list[str]:
    split, rows = report["judged_split"], report["judged_rows"]
    answered = wording.teacher_of(report).get("judged_rows", rows)
    if answered == rows:
        return []
    if answered == 0:
        return [f"the teacher has no labels for the {rows:,} {split} rows: nothing here can be compared with it"]
    counts = f"the teacher has no labels for {rows - answered:,} of {rows:,} {split} rows"
    return [f"{counts}: its own numbers and all agreement with it are about the other {answered:,}"]


def _labels_of_columns(report: Mapping[str, Any]) -> list[str]:
    if report["corpus"].get("labels_from") != "columns":
        return []
    rule = "label is the largest of its columns"
    if wording.is_multi_label(report):
        rule = "labels are all of its columns with 0.5 or more"
    agreement = f"{wording.measure(report)} here means agreement with it"
    return [f"a row's {rule}; if a model wrote those columns, {agreement}"]


def corpus_facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts about the corpus other than name, sizes and classes, as pairs of name and value."""
    noted = {name: value for name, value in report["corpus"].items() if name not in SHOWN_ELSEWHERE}
    return [*_removed(report, "corpus"), *_flat(noted)]


def transfer_facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How the transfer text was gathered; empty without transfer text."""
    noted = {name: value for name, value in (report["transfer"] or {}).items() if name != "overlap"}
    return [*_flat(noted), *_removed(report, "transfer")]


def augmentation_facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How copies of training rows and transfer text were made; empty without copies."""
    noted = dict(report.get("augmentation") or {})
    methods = noted.pop("methods", [])
    return [*_flat(noted), *(pair for method in methods for pair in _of_method(method))]


def _of_method(method: Mapping[str, Any]) -> list[tuple[str, str]]:
    return _flat({name: value for name, value in method.items() if name != "kind"}, str(method["kind"]))


def _overlaps(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Recipe section, what was found in words, and what was done about it."""
    for section, place in (("corpus", "train"), ("transfer", "the transfer text")):
        overlap = (report[section] or {}).get("overlap") or {}
        for split in HELD_OUT:
            found = overlap.get("splits", {}).get(split)
            if found and found["found"]:
                rows = f"{found['found']:,} of {found['rows']:,} {split} rows"
                yield section, f"{rows} appear in {place} ({found['verbatim']:,} verbatim)", str(overlap.get("mode"))


def _removed(report: Mapping[str, Any], wanted: str) -> list[tuple[str, str]]:
    return [
        ("removed", counts.replace("appear in", "were in"))
        for section, counts, mode in _overlaps(report)
        if section == wanted and mode == "remove"
    ]


def _flat(facts: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Nested facts as pairs; empty and zero values are omitted."""
    if isinstance(facts, Mapping):
        return [pair for name, value in facts.items() for pair in _flat(value, f"{prefix} {name}".replace("_", " "))]
    return [(prefix.strip(), _in_words(facts))] if facts else []


def _in_words(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.4g}"
        case list():
            return ", ".join(_in_words(item) for item in value)
        case _:
            return str(value)

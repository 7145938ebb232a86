"""The results of `limbeck evaluate` on the terminal: the numbers, class by class, and the worst errors."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from limbeck.errors import some
from limbeck.report import abstaining, wording
from limbeck.report.tables.classes import MEANS, OF_A_CLASS, hardest
from limbeck.report.tables.grid import Entry, Field, Grid, grid_of
from limbeck.report.tables.report import FEW_CLASSES
from limbeck.report.tables.slices import slices_grid, worst
from limbeck.report.tables.terminal import print_grid

Result = Mapping[str, Any]
MOST_CONFUSIONS = 5
TEXT_CHARACTERS = 100  # of an error in the table


def print_evaluation(result: Result, console: Console) -> None:
    """Print everything that was found, the most important first."""
    for line in headline(result):
        console.print(Text(line))
    console.print()
    print_grid(hardest(classes_grid(result), most=FEW_CLASSES, rest="; all of them: --json"), console)
    if confused := confusions(result):
        console.print(Text(f"Most often confused: {'; '.join(confused)}."))
    console.print()
    if result.get("slices"):
        print_grid(
            worst(slices_grid(result["slices"], measure=_measure(result)), rest="; all of them: --json"), console
        )
        console.print()
    if result["worst_errors"]:
        print_grid(errors_grid(result), console)
    else:
        console.print("Every answer is right.")


def headline(result: Result) -> Iterator[str]:
    """The sentences above the tables."""
    texts, labels = (" and ".join(map(repr, result[key][:3])) for key in ("text_columns", "label_columns"))
    yield f"{result['model']} on {result['file']}: {result['rows']:,} rows (text {texts}, label {labels})"
    yield f"{_right(result)}, {_of_probabilities(result)}."
    most = result["most_frequent"]
    yield f"A model that always says {_named(most['label'])} has {wording.percent(most['accuracy'])} %."
    yield from _left_out(result)
    if result.get("abstaining"):
        yield from abstaining.of_evaluation(result["abstaining"], error=1 - result["accuracy"])
    if result["cascade"]:
        yield _of_fallback(result["cascade"])
    if result["against"]:
        yield _against(result["against"], measure=_measure(result))


def _measure(result: Result) -> str:
    return "exact match" if result["multi_label"] else "accuracy"


def _right(result: Result) -> str:
    f1 = f"macro F1 {wording.percent(result['macro_f1'])} %"
    if result["micro_f1"] is not None:
        f1 += f", micro F1 {wording.percent(result['micro_f1'])} %"
    measure = _measure(result).capitalize()
    return f"{measure} {wording.percent(result['accuracy'])} % (95 % interval {wording.interval(result)}), {f1}"


def _of_probabilities(result: Result) -> str:
    loss = wording.decimal(result["log_loss"])
    return f"log-loss {loss}, calibration error {wording.percent(result['ece'])} %"


def _left_out(result: Result) -> Iterator[str]:
    """Rows that were not judged, and rows that no answer could be right for."""
    for what in ("text", "label"):
        if count := result[f"without_{what}"]:
            yield f"{count:,} rows without {what} were left out."
    if unknown := result["unknown_labels"]:
        known = wording.percent(result["accuracy_known"])
        names = some([f"{_named(label)} ({rows:,})" for label, rows in unknown.items()], most=5)
        yield (
            f"{result['unknown_rows']:,} rows have a label that the model does not know, and count as wrong: {names}. "
            f"On the other rows: {known} %."
        )


def _of_fallback(found: Result) -> str:
    rows = f"{wording.percent(found['asked_share'])} % of the rows ({found['asked']:,})"
    line = f"The fallback {found['fallback']} answered {rows}"
    if found["accuracy_asked"] is not None:
        both = (wording.percent(found[key]) for key in ("accuracy_asked", "student_accuracy_asked"))
        line += ": {} % of these are right, of the student's own answers to them {} %".format(*both)
    return f"{line}; {found['note']}." if found["note"] else f"{line}."


def _against(other: Result, *, measure: str) -> str:
    test = other["mcnemar"]
    low, high = (wording.signed(bound) for bound in other["ci95"])
    difference = f"{wording.signed(other['difference'])} points (95 % interval {low} to {high})"
    is_noise = "" if test["p"] < wording.SIGNIFICANT else ", no difference beyond noise"
    return (
        f"Against {other['model']}, {wording.percent(other['accuracy'])} % {measure}: {difference}{is_noise}. "
        f"Only this one is right on {test['only_this']:,} rows, only the other on {test['only_other']:,} "
        f"(McNemar's p {wording.p_value(test['p'])})."
    )


def classes_grid(result: Result) -> Grid:
    """Precision, recall, F1 and rows of each class, and their means."""
    rows = sum(entry["support"] for entry in result["per_class"])
    means = [{"label": words, "role": "mean", **result[mean], "support": rows} for mean, words in MEANS.items()]
    return grid_of("classes", title="Class by class", fields=OF_A_CLASS, entries=[*result["per_class"], *means])


def confusions(result: Result, *, most: int = MOST_CONFUSIONS) -> list[str]:
    """The most frequent wrong answers, `joy for sadness (12)`."""
    names, table = result["labels"], result["confusion"] or []
    found = [
        (count, names[said], names[true])
        for true, row in enumerate(table)
        for said, count in enumerate(row)
        if count and said != true
    ]
    found.sort(key=lambda one: one[0], reverse=True)
    return [f"{said} for {true} ({count:,})" for count, said, true in found[:most]]


def errors_grid(result: Result) -> Grid:
    """The most confident wrong answers."""
    return grid_of("errors", title="The most confident wrong answers", fields=ERRORS, entries=result["worst_errors"])


def _named(label: str | Sequence[str]) -> str:
    if isinstance(label, str):
        return f"'{label}'"
    return f"'{'|'.join(label)}'" if label else "no label"


def _joined(key: str) -> Any:
    return lambda entry: entry[key] if isinstance(entry[key], str) else "|".join(entry[key]) or wording.UNKNOWN


def _text(entry: Entry) -> str:
    line = " ".join(" ⟷ ".join(filter(None, (entry["text"], entry["pair"]))).split())
    return line if len(line) <= TEXT_CHARACTERS else f"{line[:TEXT_CHARACTERS].rstrip()}…"


ERRORS = [
    Field("row", lambda entry: f"{entry['row']:,}", {}),
    Field("label", _joined("label"), {}, is_words=True),
    Field("answer", _joined("predicted"), {}, is_words=True),
    Field("sure", lambda entry: wording.percent(entry["probability"]), {}, legend="sure: probability of the answer, %"),
    Field("text", _text, {}, is_words=True),
]

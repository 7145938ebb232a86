"""The results of `limbeck evaluate` for a model of scores, on the terminal."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from limbeck.report import score_words, wording
from limbeck.report.tables.grid import Entry, Field, grid_of
from limbeck.report.tables.scores import RESIDUALS
from limbeck.report.tables.terminal import print_grid

Result = Mapping[str, Any]
TEXT_CHARACTERS = 100  # of a row in the table


def print_score_evaluation(result: Result, console: Console) -> None:
    """Print everything that was found, the most important first."""
    for line in headline(result):
        console.print(Text(line))
    console.print()
    caption = "residual: the model's score less the true one"
    residuals = grid_of(
        "residuals", title="Residuals by score", fields=RESIDUALS, entries=result["residuals"], caption=caption
    )
    print_grid(residuals, console)
    console.print()
    rows = result["largest_residuals"]
    print_grid(grid_of("errors", title="Largest residuals", fields=WORST, entries=rows), console)


def headline(result: Result) -> Iterator[str]:
    """The sentences above the tables."""
    texts, labels = (" and ".join(map(repr, result[key][:3])) for key in ("text_columns", "label_columns"))
    yield f"{result['model']} on {result['file']}: {result['rows']:,} rows (text {texts}, score {labels})"
    for name, shown in (("spearman", "Spearman"), ("pearson", "Pearson")):
        yield f"{shown} {wording.decimal(result[name])} (95 % interval {score_words.interval(result, name)})"
    mean = score_words.number(result["rmse_of_mean"])
    yield f"Mean absolute error {score_words.number(result['mae'])} ({score_words.interval(result, 'mae')})"
    rmse = score_words.number(result["rmse"])
    yield f"Root mean squared error {rmse} ({score_words.interval(result, 'rmse')}); always their mean: {mean}"
    for what in ("text", "label"):
        if count := result[f"without_{what}"]:
            yield f"{count:,} rows without {what} were left out."
    if outside := result["outside"]:
        yield f"{outside:,} rows have a score outside of the range in which the model answers."
    if other := result["against"]:
        gain = score_words.difference(other["gain"])
        yield (
            f"{other['model']} has Spearman {wording.decimal(other['spearman'])}, root mean squared error "
            f"{score_words.number(other['rmse'])}; the first has {gain} of Spearman, in brackets if no more than noise."
        )


def _text(entry: Entry) -> str:
    whole = entry["text"] if entry["pair"] is None else f"{entry['text']} ⇄ {entry['pair']}"
    return whole if len(whole) <= TEXT_CHARACTERS else f"{whole[:TEXT_CHARACTERS]}…"


WORST = [
    Field(heading="row", text=lambda entry: f"{entry['row']:,}", values={}),
    Field(heading="text", text=_text, values={}, is_words=True),
    Field(heading="score", text=lambda entry: score_words.number(entry["score"]), values={}),
    Field(heading="predicted", text=lambda entry: score_words.number(entry["predicted"]), values={}),
]

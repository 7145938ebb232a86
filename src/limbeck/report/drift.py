"""The results of `limbeck drift` on the terminal: a table of signals, and what each of them means."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from limbeck.report import wording
from limbeck.report.tables.grid import Entry, Field, Grid, grid_of
from limbeck.report.tables.terminal import print_grid

Result = Mapping[str, Any]
FEW_ROWS = 200
DIGITS_OF = {"length": 1, "features": 2}  # of the signals that are no shares


def print_drift(result: Result, console: Console) -> None:
    """Print the verdict, the table, the sentences, and what could not be compared."""
    for line in verdict(result):
        console.print(Text(line))
    console.print()
    print_grid(drift_grid(result), console)
    console.print()
    for signal in result["signals"]:
        mark = Text("drift: ", style="bold red") if signal["is_drift"] else Text("same:  ", style="dim")
        console.print(mark + Text(f"{signal['name']}. {signal['sentence']}", style="default"))
    for name, reason in result["not_compared"].items():
        console.print(Text(f"not compared: {name} ({reason})", style="dim"))


def verdict(result: Result) -> Iterator[str]:
    """The sentences above the table."""
    of_all = f" of {result['rows_of_file']:,}" if result["rows"] < result["rows_of_file"] else ""
    yield f"{result['file']}: {result['rows']:,}{of_all} rows, against {result['dev_rows']:,} rows of dev"
    found = [signal["name"] for signal in result["signals"] if signal["is_drift"]]
    if found:
        yield f"Drift: {', '.join(found)} differ{'s' if len(found) == 1 else ''} from dev by more than luck explains."
    else:
        yield "No drift: nothing differs from dev by more than luck explains."
    looks = f" over all {result['looks']:,} looks" if result["looks"] > 1 else ""
    rate = f"{100 * result['alpha']:.3g}"
    yield f"If nothing has changed, there is a false alarm in at most {rate} % of such comparisons{looks}."
    if result["rows"] < FEW_ROWS:
        yield f"With {result['rows']:,} rows only large changes can be seen."


def drift_grid(result: Result) -> Grid:
    """One line for each signal."""
    return grid_of(
        "drift",
        title="Signals",
        fields=FIELDS,
        entries=result["signals"],
        caption="effect: Kolmogorov-Smirnov, the share of texts that lie elsewhere; chi-squared, the share of answers "
        "that would have to be others; Fisher, the difference of two shares. p: corrected for the number of signals",
    )


def _amount(key: str) -> Callable[[Entry], str]:
    def written(entry: Entry) -> str:
        digits = DIGITS_OF.get(entry["name"])
        return f"{100 * entry[key]:.1f} %" if digits is None else f"{entry[key]:,.{digits}f}"

    return written


FIELDS = [
    Field("signal", lambda entry: str(entry["name"]), {}, is_words=True),
    Field("dev", _amount("there"), {}),
    Field("here", _amount("here"), {}),
    Field("effect", lambda entry: wording.decimal(entry["effect"]), {}),
    Field("p", lambda entry: wording.p_value(entry["p_corrected"]), {}),
    Field("", lambda entry: "drift" if entry["is_drift"] else "", {}, is_words=True),
    Field("test", lambda entry: str(entry["test"]), {"test": lambda entry: entry["test"]}, rank=1, is_words=True),
]

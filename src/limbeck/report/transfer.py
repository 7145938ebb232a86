"""`limbeck transfer`: the extra text that a student was trained on, in numbers and examples."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from limbeck.artifacts.chosen_rows import ChosenRows
from limbeck.artifacts.manifest import read_manifest
from limbeck.artifacts.transfer_text import TransferText
from limbeck.errors import ArtifactMissing

PARTS = {"transfer": "Gathered text", "augmented": "Changed copies"}
SEED_OF_EXAMPLES = 0
METHOD_COLUMNS = {  # key → heading: short, so that the table fits a terminal of 80 characters
    "kind": "method",
    "kept": "kept",
    "duplicates": "repeats",
    "unchanged": "unchanged",
    "sources_used": "sources",
    "words_changed_share": "words",
    "rows_per_second": "rows/s",
    "teacher_entropy": "entropy",
    "label_flips": "flips",
}
SHARES = ("words_changed_share", "label_flips")


def show_transfer(folder: Path, *, examples: int, console: Console, as_json: bool = False) -> None:
    """Print numbers and examples of the extra text of a run. Raises if there is none."""
    parts = {name: TransferText(folder / name) for name in PARTS if (folder / name).is_dir()}
    if not parts:
        is_run = (folder / "run.json").is_file()
        reason = "it has neither transfer text nor copies" if is_run else "it is not a run"
        advice = "Give the folder of a run whose recipe has [transfer] or [augmentation]."
        raise ArtifactMissing(folder=folder, kind="run with transfer text", reason=reason, advice=advice)
    for text in parts.values():
        read_manifest(text.folder, kind="transfer")
    chosen = ChosenRows(folder / "chosen").quality if (folder / "chosen").is_dir() else {}
    if as_json:
        console.print_json(data={name: {**text.quality, "chosen": chosen.get(name)} for name, text in parts.items()})
        return
    for name, text in parts.items():
        console.print(Text(PARTS[name], style="bold"))
        _print_numbers(text.quality, console)
        if "methods" in text.quality:
            _print_methods(text.quality["methods"], chosen.get(name, {}).get("methods", []), console)
        if name in chosen:
            _print_teacher(chosen[name], own=chosen["teacher_entropy"], console=console)
        _print_examples(text, examples, console)


def _print_numbers(quality: Mapping[str, Any], console: Console) -> None:
    for name, value in quality.items():
        if name == "methods" or value in (None, 0, [], {}):
            continue
        console.print(Text(f"  {name.replace('_', ' '):<16} {_in_words(value)}"), soft_wrap=True)


def _print_methods(methods: Sequence[Mapping[str, Any]], judged: Sequence[Mapping[str, Any]], console: Console) -> None:
    """A line per method: the copies it made, and the teacher's answers on them."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for column, heading in METHOD_COLUMNS.items():
        table.add_column(heading, justify="left" if column == "kind" else "right", no_wrap=True)
    for number, method in enumerate(methods):
        numbers = {**method, **(judged[number] if number < len(judged) else {})}
        shown = {name: f"{numbers[name]:.1%}" for name in SHARES if numbers.get(name) is not None}
        table.add_row(*(Text(shown.get(column, _in_words(numbers.get(column)))) for column in METHOD_COLUMNS))
    console.print(table)
    explained = "words: share that was changed; flips: copies with another label from the teacher than their source"
    console.print(Text(explained, style="dim"))


def _print_teacher(numbers: Mapping[str, Any], *, own: Mapping[str, float], console: Console) -> None:
    if not numbers["rows"]:
        console.print("  the teacher has not labelled it")
        return
    if scores := numbers.get("teacher_scores"):
        _print_scores(numbers, scores, console)
        return
    of_corpus = ", ".join(f"{split} {entropy:.3f}" for split, entropy in own.items())
    balance = ", ".join(f"{name} {share:.1%}" for name, share in numbers["teacher_balance"].items())
    console.print(Text(f"  trained on       {numbers['rows']:,} of {numbers['labelled']:,} labelled rows"))
    console.print(Text(f"  teacher entropy  {numbers['teacher_entropy']:.3f} (corpus: {of_corpus})"))
    console.print(Text(f"  teacher's classes {balance}"), soft_wrap=True)
    if numbers.get("label_flips") is not None:
        console.print(Text(f"  label flips      {numbers['label_flips']:.1%} of the copies"))


def _print_scores(numbers: Mapping[str, Any], scores: Mapping[str, float], console: Console) -> None:
    """Which scores the teacher gives the text, and how far copies are from their source."""
    console.print(Text(f"  trained on       {numbers['rows']:,} of {numbers['labelled']:,} labelled rows"))
    console.print(Text(f"  teacher's scores mean {scores['mean']:.4g}, standard deviation {scores['sd']:.3g}"))
    if numbers.get("score_shift") is not None:
        console.print(Text(f"  copies           {numbers['score_shift']:.3g} from their source's score on average"))


def _print_examples(text: TransferText, count: int, console: Console) -> None:
    rows = text.rows
    places = np.sort(np.random.default_rng(SEED_OF_EXAMPLES).permutation(len(rows))[:count])
    texts, pairs = rows.texts_at(places)
    for number, line in enumerate(texts):
        second = f"  ⇄  {pairs[number]}" if pairs is not None else ""
        console.print(Text(f"  · {line}{second}", style="dim"), soft_wrap=True)
    console.print()


def _in_words(value: Any) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.3g}"
        case list():
            return ", ".join(_in_words(item) for item in value) or "none"
        case dict():
            return ", ".join(f"{name.replace('_', ' ')} {_in_words(inner)}" for name, inner in value.items())
        case _:
            return str(value)

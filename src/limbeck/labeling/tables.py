"""Labels in the terminal: the teacher, its entropy, and its class balance next to that of the corpus; or scores."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from limbeck.labeling.summary import SplitSummary
from limbeck.labeling.verification import Verification

MOST_CLASSES = 20


def print_labels(head: Mapping[str, Any], splits: Mapping[str, SplitSummary], console: Console) -> None:
    """The head, a line for each split, and a line for each class. Of scores, the scores of each split."""
    _print_lines(_head_lines(head), console)
    console.print()
    if any(split.teacher_scores for split in splits.values()):
        console.print(_score_table(splits))
        return
    console.print(_split_table(splits))
    console.print()
    console.print(_class_table(splits))
    console.print(
        Text("entropy: mean over the rows, in nats, and as a share of that of a uniform distribution", style="dim")
    )
    hidden = len(_classes(splits)) - MOST_CLASSES
    if hidden > 0:
        console.print(Text(f"{hidden:,} more classes: --json has them all", style="dim"))


def print_verification(found: Verification, *, precision: str, console: Console) -> None:
    """The result of asking the teacher again."""
    depends = f" (in {precision} the logits of a text depend on which others share its batch)"
    why = depends if precision in ("bf16", "int8") else ""
    lines = {
        "Asked again": f"{found.rows:,} rows, {found.agreement:.2%} with the same label or score"
        + (f", {found.silent:,} without an answer now" if found.silent else ""),
        "Difference": f"{found.largest_difference:.2g} at most, {found.mean_difference:.2g} on average; "
        f"allowed: {found.tolerance:g}{why}",
        "Shards": f"{found.shards:,} in the store, {len(found.damaged):,} of them damaged",
    }
    console.print()
    _print_lines(lines, console)
    for shard in found.damaged:
        console.print(Text(f"  {shard}"), soft_wrap=True)
    if found.is_sound:
        console.print(Text("The labels are what the teacher answers now.", style="green"))
        return
    if found.is_same:
        advice = "Remove the damaged shards of the store: the next run that needs their texts asks the teacher again."
        console.print(Text(f"The labels of this run are what the teacher answers now. {advice}", style="yellow"))
        return
    advice = "Remove the folder `labels` of the run, and damaged shards, then run the recipe again."
    console.print(Text(f"The labels are not what the teacher answers now. {advice}", style="bold red"))


def _head_lines(head: Mapping[str, Any]) -> dict[str, str]:
    rate = head["rows_per_second"]
    shards = "1 shard" if head["shards"] == 1 else f"{head['shards']:,} shards"
    speed = f" at {rate:,.0f} rows/s" if rate else ""
    return {
        "Teacher": f"{head['teacher']}, fingerprint {head['fingerprint']}",
        "Labels": f"{head['labelled']:,} of {head['rows']:,} rows, {head['distinct_texts']:,} distinct texts"
        + (f", with features ({head['features']})" if head["features"] else ""),
        "Asked": f"{head['asked']:,} texts{speed}; hit rate of the store {head['hit_rate']:.1%}",
        "Store": f"{head['store']}: {head['store_mb']:,.1f} MB of this teacher in {shards}",
    }


def _print_lines(lines: Mapping[str, str], console: Console) -> None:
    width = max(len(name) for name in lines)
    for name, value in lines.items():
        console.print(Text(f"{name:<{width}}  ", style="bold") + Text(value, style="not bold"), soft_wrap=True)


def _split_table(splits: Mapping[str, SplitSummary]) -> Table:
    table = _table("split", ["rows", "labelled", "distinct texts", "entropy", "share"])
    for name, split in splits.items():
        cells = [f"{split.rows:,}", f"{split.labelled:,}", f"{split.distinct_texts:,}"]
        table.add_row(Text(name), *cells, _number(split.entropy), _percent(split.entropy_share))
    return table


def _score_table(splits: Mapping[str, SplitSummary]) -> Table:
    """The scores of each split: by the teacher, and by the corpus if it has any."""
    names = ("mean", "sd", "lowest", "highest")
    table = _table("split", ["rows", "labelled", "distinct texts", "by", *names])
    for name, split in splits.items():
        for who, scores in (("teacher", split.teacher_scores), ("corpus", split.corpus_scores)):
            cells = [f"{split.rows:,}", f"{split.labelled:,}", f"{split.distinct_texts:,}", who]
            if scores:
                table.add_row(Text(name), *cells, *(f"{scores[of]:.4g}" for of in names))
    return table


def _class_table(splits: Mapping[str, SplitSummary]) -> Table:
    """The share of rows of each class: by the teacher, and by the corpus if it has labels."""
    balances = {
        f"{name}: {who}": balance
        for name, split in splits.items()
        for who, balance in (("teacher", split.teacher_balance), ("corpus", split.corpus_balance))
        if balance
    }
    table = _table("class", list(balances))
    for name in _classes(splits)[:MOST_CLASSES]:
        table.add_row(Text(name), *(_percent(balance[name]) for balance in balances.values()))
    return table


def _classes(splits: Mapping[str, SplitSummary]) -> list[str]:
    return next((list(split.teacher_balance) for split in splits.values() if split.teacher_balance), [])


def _table(first: str, others: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column(Text(first), overflow="fold")
    for name in others:
        table.add_column(Text(name), justify="right")
    return table


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"

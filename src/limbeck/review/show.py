"""A review on the terminal: the surest wrong labels, the most confused classes, and what to do with the files."""

from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from limbeck.artifacts.report import Report
from limbeck.errors import in_shell, some
from limbeck.pipeline.report_page import has_review
from limbeck.report.tables.grid import Entry, Field, Grid, grid_of
from limbeck.report.tables.terminal import print_grid
from limbeck.report.wording import percent
from limbeck.review.class_overlap import ClassPair
from limbeck.review.corrections import DROP, Applied
from limbeck.review.page import PAGE
from limbeck.review.run import Review
from limbeck.review.sheets import CLASSES, LABELS, NEXT
from limbeck.review.wrong_labels import DoubtfulRow

MOST_CHARACTERS = 60  # of a text
MOST_PAIRS = 8


def print_review(found: Review, console: Console, *, most: int) -> None:
    """The tables of a review, and where its files are."""
    for split in found.judged:
        line = (
            f"{split['split']}: {split['doubtful']:,} of {split['rows']:,} labels look wrong; judged by {split['by']}"
        )
        console.print(Text(line), soft_wrap=True)
    shares = ", ".join(f"{name} {percent(share)} %" for name, share in found.agreement.items())
    console.print(Text(f"answers that agree with the labels of train: {shares}", style="dim"), soft_wrap=True)
    if found.unjudged:
        console.print(Text(f"too few rows to judge: {some(found.unjudged, most=8)}"), soft_wrap=True)
    if found.doubtful:
        console.print()
        print_grid(_rows_grid(found.doubtful[:most], total=len(found.doubtful)), console)
    if found.pairs:
        console.print()
        print_grid(_pairs_grid(found.pairs[:MOST_PAIRS]), console)
    console.print()
    _print_places(found, console)


def _print_places(found: Review, console: Console) -> None:
    run = in_shell(found.folder.parent)
    lines = [
        (found.folder / LABELS, f"labels that look wrong: {len(found.doubtful):,}; fill new_label: a class, or {DROP}"),
        (found.folder / CLASSES, f"pairs of classes that are confused: {len(found.pairs):,}, with examples"),
    ]
    if found.next_rows:
        lines.append((found.folder / NEXT, f"rows worth labelling next: {len(found.next_rows):,}; fill label"))
    lines.append((found.folder / PAGE, "all of this as a page"))
    if has_review(found.folder.parent):
        lines.append((Report(found.folder.parent / "report").html, "the report, with the surest of it"))
    for path, what in lines:
        console.print(Text.assemble((str(path), "bold"), f"  {what}"), soft_wrap=True)
    if not found.next_rows:
        reason = (
            "none was asked for, or none is different enough" if found.has_transfer else "the run has no [transfer]"
        )
        console.print(Text(f"no rows to label next: {reason}"), soft_wrap=True)
    console.print(Text(f"Then: limbeck review {run} --apply {in_shell(found.folder / LABELS)}"), soft_wrap=True)


def _rows_grid(rows: Sequence[DoubtfulRow], *, total: int) -> Grid:
    entries: list[Entry] = [asdict(row) for row in rows]
    fields = [
        Field("row", lambda entry: str(entry["id"]), {}, is_words=True),
        Field("label", lambda entry: str(entry["label"]), {}, is_words=True),
        Field("suggested", lambda entry: str(entry["suggested"]) or "?", {}, is_words=True),
        Field("sure", lambda entry: percent(entry["sure"], digits=0), {}),
        Field("found by", lambda entry: str(entry["found_by"]), {}, is_words=True),
        Field("text", lambda entry: _short(entry["text"], entry["pair"]), {}, is_words=True),
    ]
    caption = f"The surest {len(rows)} of {total:,}; sure: how improbable the label is, in %"
    return grid_of("labels", title="labels that look wrong", fields=fields, entries=entries, caption=caption)


def _pairs_grid(pairs: Sequence[ClassPair]) -> Grid:
    entries: list[Entry] = [{**asdict(pair), "confused": pair.confused, "share": pair.share} for pair in pairs]
    fields = [
        Field("class", lambda entry: str(entry["first"]), {}, is_words=True),
        Field("other class", lambda entry: str(entry["second"]), {}, is_words=True),
        Field("confused", lambda entry: f"{entry['confused']:,}", {}),
        Field("% of both", lambda entry: percent(entry["share"]), {}),
        Field("example", lambda entry: _example(entry), {}, is_words=True),
    ]
    caption = "Rows that are labelled as one of the two and answered as the other"
    return grid_of("classes", title="classes that overlap", fields=fields, entries=entries, caption=caption)


def _example(entry: Entry) -> str:
    return _short(entry["forth"]["example"] or entry["back"]["example"], None)


def _short(text: str, pair: str | None) -> str:
    whole = " ".join((text if pair is None else f"{text} ⇄ {pair}").split())
    return whole if len(whole) <= MOST_CHARACTERS else f"{whole[:MOST_CHARACTERS]}…"


def print_applied(applied: Applied, console: Console) -> None:
    """What was written, and how to run it."""
    counts = applied.counts
    done = f"{counts['changed']:,} labels changed, {counts['dropped']:,} rows dropped, {counts['added']:,} rows added"
    console.print(Text(done), soft_wrap=True)
    for path in [*applied.files.values(), applied.recipe]:
        console.print(Text.assemble("Wrote ", (str(path), "bold")), soft_wrap=True)
    console.print(Text(f"Run it: limbeck run {in_shell(applied.recipe)}"), soft_wrap=True)

"""What is said of transfer text once it is gathered: how much, what was dropped, and what is suspicious."""

from collections.abc import Iterator
from typing import Any

from rich.markup import escape

from limbeck.errors import some
from limbeck.progress import Reporter
from limbeck.recipe.transfer import Transfer
from limbeck.transfer.domain import FAR

WARNING = "  [yellow]warning[/yellow]: "
DROPPED = {
    "too_short": "too short",
    "too_long": "too long",
    "duplicates": "duplicates",
    "near_duplicates": "near duplicates",
    "in_train": "already in train",
}
SHARES = {  # what shows that a step is needed
    "narrow": ("full_width", "texts with full-width letters"),
    "narrow_marks": ("chinese_marks", "texts with Chinese marks"),
    "lowercase": ("upper_case", "letters in upper case"),
    "spaced": ("marks_apart", "marks set apart"),
}


def tell_gathered(quality: dict[str, Any], section: Transfer, reporter: Reporter) -> None:
    """One line of numbers, and a line for each thing that a reader should know of."""
    for line in (*_amount(quality, section), *_held_out(quality, section), *_form(quality), *_far(quality)):
        reporter.note(line)


def _amount(quality: dict[str, Any], section: Transfer) -> Iterator[str]:
    cut = "sentences" if section.split_sentences else "paragraphs" if section.split_paragraphs else "rows"
    drawn = f", drawn from {quality['fresh']:,}" if "drawn" in quality else ""
    dropped = ", ".join(f"{quality[reason]:,} {name}" for reason, name in DROPPED.items())
    names = escape(some(quality["files"]))
    yield f"  {quality['kept']:,} {cut} of transfer text from {names}{drawn}; dropped: {dropped}"
    if "pool" in quality and section.rows is not None:
        yield f"  of these the teacher chooses {min(section.rows, quality['kept']):,} once it has labelled them"


def _held_out(quality: dict[str, Any], section: Transfer) -> Iterator[str]:
    for kind, nearly in (("found", ""), ("near", "nearly ")):
        counts = {split: found[kind] for split, found in quality["overlap"]["splits"].items() if found[kind]}
        if not counts:
            continue
        rows = " and ".join(f"{count:,} {split} rows" for split, count in counts.items())
        if section.overlap == "remove":
            yield f"  {rows} {nearly}stood in it and were kept out"
        else:
            yield f'{WARNING}{rows} {nearly}stand in it; overlap = "remove" in \\[transfer] keeps them out'


def _form(quality: dict[str, Any]) -> Iterator[str]:
    form = quality["form"]
    if form["steps"]:
        yield f"  brought to the corpus's form by {', '.join(form['steps'])}: {_shares(form, form['steps'])}"
    if left := [step for step in form["needed"] if step not in form["steps"]]:
        advice = f'form = "auto" in \\[transfer] takes {", ".join(left)}'
        yield f"{WARNING}it is written unlike the corpus: {_shares(form, left)}; {advice}"


def _shares(form: dict[str, Any], steps: list[str]) -> str:
    named = [SHARES[step] for step in steps]
    return ", ".join(f"{name} {form['text'][key]:.1%} (corpus {form['corpus'][key]:.1%})" for key, name in named)


def _far(quality: dict[str, Any]) -> Iterator[str]:
    share = quality["domain"]["words_in_train"]
    if share < FAR:
        own = quality["domain"]["dev_words_in_train"]
        yield (
            f"{WARNING}only {share:.0%} of its running words stand in train (of dev's {own:.0%} do); "
            f"text of another domain teaches little"
        )

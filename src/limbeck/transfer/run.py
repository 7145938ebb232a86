"""The stage `gather_transfer`: read unlabelled text, split it, keep what is new, not held out, of suitable length."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.transfer_text import TransferText, save_transfer_text
from limbeck.errors import DataError, some
from limbeck.progress import Reporter
from limbeck.recipe.transfer import Transfer
from limbeck.recipe.transfer import Transfer as TransferSection
from limbeck.text.forms import chosen_steps, form_of
from limbeck.transfer.domain import FAR, domain_of
from limbeck.transfer.held_out import pieces_of
from limbeck.transfer.partners import paired
from limbeck.transfer.text_filter import Kept, TextFilter, rows_to_draw, teacher_chooses
from limbeck.transfer.text_sources import TextSource, sample_of, text_sources

TEXTS_BETWEEN_NOTES = 2000
MOST_NAMED = 100  # sources whose rows are counted individually


class NothingGathered(DataError):
    """No transfer text is left after cutting, filtering and removing duplicates."""

    def __init__(self, *, files: Sequence[str], counts: Mapping[str, int]) -> None:
        self.counts = dict(counts)
        super().__init__(
            f"no transfer text is left of {some(files)}",
            found=", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items()),
            advice="Relax min_words, max_words or where in [transfer], check its `text` column, or give other files.",
        )


def gather_transfer(
    section: TransferSection, *, corpus: Corpus, out: Path, key: Key, reporter: Reporter
) -> TransferText:
    """Gather the transfer text of a run. The texts are in the order of the sources, with ids "transfer-<n>"."""
    with written_atomically(out, kind="transfer", key=key) as scratch:
        started = perf_counter()
        sources = text_sources(section)
        form = _form(section, sources, corpus)
        text_filter = TextFilter(section, corpus=corpus, steps=form["steps"])
        _read_all(sources, text_filter, reporter)
        kept = paired(text_filter.kept(), section, corpus=corpus) if section.partners else text_filter.kept()
        if not kept:
            raise NothingGathered(files=[source.name for source in sources], counts=text_filter.counts)
        quality = {
            "files": [source.name for source in sources],
            **text_filter.counts,
            "overlap": text_filter.overlap(),
            **_drawn(section, text_filter, kept),
            **({"paired_texts": text_filter.passed} if section.partners else {}),
            **_used(sources, kept),
            "form": form,
            "domain": domain_of((one.piece for one in kept), corpus=corpus),
            **_speed(text_filter.counts["pieces"], perf_counter() - started),
        }
        save_transfer_text(scratch, rows=_rows(section, kept), quality=quality)
    report_gathered(quality, section, reporter)
    return TransferText(out)


def _form(section: TransferSection, sources: Sequence[TextSource], corpus: Corpus) -> dict[str, Any]:
    """How the corpus and the text are written, the steps that would convert the text, and those that are taken."""
    train = [text for piece in pieces_of(corpus.splits["train"]) for text in piece if text is not None]
    own, other = form_of(train), form_of(sample_of(sources))
    return {
        "corpus": own.shares(),
        "text": other.shares(),
        "needed": chosen_steps("auto", text=other, corpus=own),
        "steps": chosen_steps(section.form, text=other, corpus=own),
    }


def _read_all(sources: Sequence[TextSource], text_filter: TextFilter, reporter: Reporter) -> None:
    total = sum(source.size for source in sources)
    with reporter.bar("gathering transfer text", total=total, unit="bytes") as bar:
        for number, source in enumerate(sources):
            for position, (text, pair) in enumerate(source.texts(bar.advance)):
                text_filter.add(text, pair, source=number)
                if position % TEXTS_BETWEEN_NOTES == 0:
                    bar.advance(0, note=f"{text_filter.passed:,} rows")


def _rows(section: TransferSection, kept: Sequence[Kept]) -> Rows:
    return Rows.of(
        ids=[f"transfer-{number}" for number in range(len(kept))],
        texts=[one.piece[0] for one in kept],
        pairs=[one.piece[1] or "" for one in kept] if section.pair is not None or section.partners else None,
    )


def _drawn(section: TransferSection, text_filter: TextFilter, kept: Sequence[Kept]) -> dict[str, int]:
    """Pieces that passed all checks, those drawn of them if not all are kept, and the pool if the teacher chooses."""
    drawn = {"drawn": len(kept)} if len(kept) < text_filter.passed else {}
    pool = {"pool": rows_to_draw(section) or len(kept)} if teacher_chooses(section) else {}
    return {"fresh": text_filter.passed, **drawn, **pool, "kept": len(kept)}


def _used(sources: Sequence[TextSource], kept: Sequence[Kept]) -> dict[str, Any]:
    """Rows kept of each source; if there are many, of those with the most rows, and of all others together."""
    rows = Counter(one.source for one in kept)
    named = {sources[number].name: count for number, count in rows.most_common(MOST_NAMED)}
    others = {"others": len(kept) - sum(named.values())} if len(rows) > MOST_NAMED else {}
    return {"sources": len(sources), "sources_used": len(rows), "rows_of": {**named, **others}}


def _speed(pieces: int, seconds: float) -> dict[str, Any]:
    return {"seconds": round(seconds, 3), "rows_per_second": round(pieces / seconds) if seconds > 0 else None}


WARNING = "  warning: "
DROPPED = {
    "too_short": "too short",
    "too_long": "too long",
    "duplicates": "duplicates",
    "near_duplicates": "near duplicates",
    "in_train": "already in train",
}
SHARES = {  # the share that shows that a step is needed, and its name in messages
    "narrow": ("full_width", "texts with full-width letters"),
    "narrow_marks": ("chinese_marks", "texts with Chinese marks"),
    "lowercase": ("upper_case", "letters in upper case"),
    "spaced": ("marks_apart", "punctuation separated by spaces"),
}


def report_gathered(quality: dict[str, Any], section: Transfer, reporter: Reporter) -> None:
    """Print one line of numbers, and a line for each thing that the user should know."""
    _report_amount(quality, section, reporter)
    _report_held_out(quality, section, reporter)
    _report_form(quality, reporter)
    _report_domain(quality, reporter)


def _report_amount(quality: dict[str, Any], section: Transfer, reporter: Reporter) -> None:
    cut = "sentences" if section.split_sentences else "paragraphs" if section.split_paragraphs else "rows"
    drawn = f", drawn from {quality['fresh']:,}" if "drawn" in quality else ""
    drawn += f", of {section.share:.0%} of its texts (share)" if section.share < 1 else ""
    dropped = ", ".join(f"{quality[reason]:,} {name}" for reason, name in DROPPED.items())
    names = some(quality["files"])
    reporter.note(f"  {quality['kept']:,} {cut} of transfer text from {names}{drawn}; dropped: {dropped}")
    if "pool" in quality and section.rows is not None:
        chosen = min(section.rows, quality["kept"])
        reporter.note(f"  the teacher will choose {chosen:,} of these after labelling them")


def _report_held_out(quality: dict[str, Any], section: Transfer, reporter: Reporter) -> None:
    for kind, nearly in (("found", ""), ("near", "nearly ")):
        counts = {split: found[kind] for split, found in quality["overlap"]["splits"].items() if found[kind]}
        if not counts:
            continue
        rows = " and ".join(f"{count:,} {split} rows" for split, count in counts.items())
        if section.overlap == "remove":
            reporter.note(f"  {rows} {nearly}appeared in it and were removed")
        else:
            advice = 'overlap = "remove" in [transfer] removes them'
            reporter.note(f"{WARNING}{rows} {nearly}appear in it; {advice}", style="warning")


def _report_form(quality: dict[str, Any], reporter: Reporter) -> None:
    form = quality["form"]
    if form["steps"]:
        shares = _shares(form, form["steps"])
        reporter.note(f"  converted to the corpus's form by {', '.join(form['steps'])}: {shares}")
    if left := [step for step in form["needed"] if step not in form["steps"]]:
        advice = f'form = "auto" in [transfer] applies {", ".join(left)}'
        reporter.note(
            f"{WARNING}it is written differently from the corpus: {_shares(form, left)}; {advice}", style="warning"
        )


def _shares(form: dict[str, Any], steps: list[str]) -> str:
    named = [SHARES[step] for step in steps]
    return ", ".join(f"{name} {form['text'][key]:.1%} (corpus {form['corpus'][key]:.1%})" for key, name in named)


def _report_domain(quality: dict[str, Any], reporter: Reporter) -> None:
    share = quality["domain"]["words_in_train"]
    if share < FAR:
        own = quality["domain"]["dev_words_in_train"]
        reporter.note(
            f"  {share:.0%} of its running words appear in train (of dev's: {own:.0%}): "
            f"it is general text, and text of the corpus's own kind would help more"
        )

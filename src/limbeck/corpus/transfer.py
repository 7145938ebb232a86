"""The stage `gather_transfer`: read unlabelled text, cut it, and keep what is new, of fit length and not held out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.markup import escape

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.transfer_text import TransferText, save_transfer_text
from limbeck.artifacts.whole import written_whole
from limbeck.corpus.sieve import Sieve
from limbeck.errors import FileEmpty, NothingGathered, some
from limbeck.progress import Bar, Reporter
from limbeck.recipe.files import expand
from limbeck.recipe.transfer import Transfer as TransferSection
from limbeck.tables import TableForm, read_table

TEXTS_BETWEEN_NOTES = 2000


def gather_transfer(
    section: TransferSection, *, corpus: Corpus, out: Path, key: Key, reporter: Reporter
) -> TransferText:
    """Gather the transfer text of a run. The texts stand in the order of the files, under ids "transfer-<n>"."""
    with written_whole(out, kind="transfer", key=key) as scratch:
        paths = list(dict.fromkeys(path for pattern in section.files for path in expand(pattern)))
        sieve = Sieve(section, corpus=corpus)
        _pour(section, paths, sieve, reporter)
        names = [path.name for path in paths]
        kept = sieve.kept()
        if not kept:
            raise NothingGathered(files=names, counts=sieve.counts)
        rows = Rows.of(
            ids=[f"transfer-{number}" for number in range(len(kept))],
            texts=[text for text, _ in kept],
            pairs=[pair for _, pair in kept if pair is not None] if section.pair is not None else None,
        )
        quality = {"files": names, **sieve.counts, "overlap": sieve.overlap(), "kept": len(kept)}
        save_transfer_text(scratch, rows=rows, quality=quality)
    _tell(quality, section, fresh=sieve.fresh, reporter=reporter)
    return TransferText(out)


def _pour(section: TransferSection, paths: list[Path], sieve: Sieve, reporter: Reporter) -> None:
    total = sum(path.stat().st_size for path in paths if path.is_file())
    with reporter.bar("gathering transfer text", total=total, unit="bytes") as bar:
        for path in paths:
            for number, (text, pair) in enumerate(_texts(section, path, bar)):
                sieve.pour(text, pair)
                if number % TEXTS_BETWEEN_NOTES == 0:
                    bar.advance(0, note=f"{sieve.fresh:,} rows")


def _texts(section: TransferSection, path: Path, bar: Bar) -> Iterator[tuple[str, str | None]]:
    columns = {"text": section.text} | ({} if section.pair is None else {"pair": section.pair})
    try:
        for record in read_table(
            path, form=TableForm.of(section), columns=columns, where=section.where, watch=bar.advance
        ):
            yield record.values[0], record.values[1] if section.pair is not None else None
    except FileEmpty:  # one empty file among many is no reason to stop; none kept at all is
        return


def _tell(quality: dict[str, Any], section: TransferSection, *, fresh: int, reporter: Reporter) -> None:
    what = "sentences" if section.split_sentences else "rows"
    drawn = f", drawn from {fresh:,}" if quality["kept"] < fresh else ""
    names = escape(some(quality["files"]))
    reporter.note(
        f"  {quality['kept']:,} {what} of transfer text from {names}{drawn}; dropped: "
        f"{quality['too_short']:,} too short, {quality['too_long']:,} too long, {quality['duplicates']:,} duplicates, "
        f"{quality['in_train']:,} already in train"
    )
    found = {split: counts["found"] for split, counts in quality["overlap"]["splits"].items() if counts["found"]}
    if found:
        rows = " and ".join(f"{count:,} {split} rows" for split, count in found.items())
        if section.overlap == "remove":
            reporter.note(f"  {rows} stood in it and were kept out")
        else:
            reporter.note(
                f'  [yellow]warning[/yellow]: {rows} stand in it; overlap = "remove" in \\[transfer] keeps them out'
            )

"""Room 3: make copies of training rows and transfer text, drop what repeats, and write down what was done."""

from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import WORK, Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.transfer_text import TransferText, save_transfer_text
from limbeck.artifacts.whole import written_whole
from limbeck.augmentation.copies import Workshop
from limbeck.augmentation.judging import judge
from limbeck.augmentation.keeping import Made, write_kept
from limbeck.augmentation.method import Bench
from limbeck.augmentation.originals import Originals
from limbeck.augmentation.portions import copy_portion, portions_of, schema_of
from limbeck.augmentation.preparing import prepared
from limbeck.augmentation.processes import available_cores, spread, worthwhile
from limbeck.augmentation.quality import quality_of
from limbeck.augmentation.tally import Tally
from limbeck.augmentation.words import load_words
from limbeck.errors import NothingAugmented
from limbeck.progress import Reporter
from limbeck.recipe.augmentation import Augmentation

CHARACTERS_PER_SECOND = 3_000_000  # of copies, made by one process; about


def augment(
    section: Augmentation,
    *,
    corpus: Corpus,
    store: Path,
    out: Path,
    key: Key,
    reporter: Reporter,
    transfer: TransferText | None = None,
) -> TransferText:
    """Make copies of the training rows, and of transfer text where the section says so. They stand in the order of
    their sources, the training rows first, under ids "augmented-<n>".

    The same section and texts give the same copies in any number of processes. `store` keeps the tags of words and the
    answers of language models from run to run.
    """
    with written_whole(out, kind="transfer", key=key) as scratch:
        started = perf_counter()
        bench = Bench(corpus.language, section.processes or available_cores(), store, reporter)
        gathered = transfer.rows if transfer is not None and section.transfer_copies else None
        originals = Originals.of(section, train=corpus.splits["train"], transfer=gathered)
        workshop, preparing = equipped(section, originals.rows, bench)
        copies = scratch / WORK / "copies.arrow"
        tally = _make_copies(workshop, originals, copies, bench)
        made = Made.load(copies)
        verdicts = judge(made.keys, corpus=corpus, rows=section.rows, seed=section.seed, transfer=gathered)
        quality = quality_of(
            workshop,
            tally,
            verdicts,
            originals=originals,
            sources=made.sources,
            changes=made.changes,
            preparing=preparing,
            seconds=perf_counter() - started,
        )
        if not quality["kept"]:
            raise NothingAugmented(methods=[method.kind for method in section.methods], counts=_counts(quality))
        rows = write_kept(made.table, verdicts, originals.rows, scratch)
        save_transfer_text(scratch, rows=rows, quality=quality)
    _tell(quality, reporter)
    return TransferText(out)


def equipped(section: Augmentation, rows: Rows, bench: Bench) -> tuple[Workshop, list[float]]:
    """The methods ready for the rows, and the seconds that each of them took."""
    load_words(bench.language)
    methods, seconds = [], []
    for method in section.methods:
        started = perf_counter()
        methods.append(prepared(method, rows, bench))
        seconds.append(perf_counter() - started)
    workshop = Workshop(tuple(methods), bench.language, section.seed, section.sides)
    return workshop, seconds


def _make_copies(workshop: Workshop, originals: Originals, path: Path, bench: Bench) -> Tally:
    """Write all changed copies to a file, portion by portion."""
    tally = Tally.of(workshop.methods)
    processes = worthwhile(bench.processes, seconds=originals.characters / CHARACTERS_PER_SECOND)
    schema = schema_of(workshop, sides=2 if originals.rows.is_pair else 1)
    with (
        bench.reporter.bar("making copies", total=originals.asked, unit="rows") as bar,
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, schema) as writer,
    ):
        for batch, part in spread(copy_portion, portions_of(originals), equipment=workshop, processes=processes):
            writer.write_batch(batch)
            tally.join(part)
            bar.advance(part.asked)
    return tally


def _counts(quality: dict[str, Any]) -> dict[str, int]:
    names = ("asked", "unchanged", "duplicates", "in_train", "in_transfer", "in_dev_or_test")
    return {name: quality[name] for name in names if name in quality}


def _tell(quality: dict[str, Any], reporter: Reporter) -> None:
    kinds = " + ".join(method["kind"] for method in quality["methods"])
    drawn = f", drawn from {quality['kept'] + quality['not_drawn']:,}" if quality["not_drawn"] else ""
    rows, gathered, already = "training rows", "", ""
    if of_transfer := quality.get("of_transfer"):
        rows, gathered = "rows", f" ({of_transfer['kept']:,} of transfer text)"
        already = f"{quality['in_transfer']:,} in the transfer text, "
    reporter.note(
        f"  {quality['kept']:,} copies{gathered} by {kinds}{drawn}, of {quality['sources_used']:,} of "
        f"{quality['sources']:,} {rows}; dropped: {quality['unchanged']:,} unchanged, {quality['duplicates']:,} "
        f"duplicates, {quality['in_train']:,} already in train, {already}{quality['in_dev_or_test']:,} in dev or test"
    )

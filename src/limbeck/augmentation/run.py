"""The stage `augment`: make changed copies of training rows and transfer text, drop repeats, save the rest."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import WORK, Key
from limbeck.artifacts.mapped import Matrix, map_table
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.transfer_text import SOURCES, TransferText, save_transfer_text
from limbeck.augmentation.copies import CopyMaker, Tally
from limbeck.augmentation.judging import CopyVerdict, Verdicts, judge
from limbeck.augmentation.masked_lm import masked_lm
from limbeck.augmentation.masking import DeleteWords, KeepNgram, MaskWords, SwapWords
from limbeck.augmentation.method import PreparationContext, Prepared
from limbeck.augmentation.originals import Originals
from limbeck.augmentation.pairing import exchange, pairing
from limbeck.augmentation.portions import SIDES, copy_portion, portions_of, schema_of
from limbeck.augmentation.pos_swap import pos_swap
from limbeck.augmentation.processes import available_cores, spread, worthwhile
from limbeck.augmentation.quality import quality_of
from limbeck.augmentation.word_vectors import word_vectors
from limbeck.augmentation.words import load_words
from limbeck.errors import DataError, some
from limbeck.progress import Reporter
from limbeck.recipe.augmentation import (
    Augmentation,
    Delete,
    Exchange,
    MaskedLm,
    Masking,
    Method,
    Ngram,
    Pairing,
    PosSwap,
    Swap,
    WordVectors,
)

CHARACTERS_PER_SECOND = 3_000_000  # of copies, made by one process, approximately


class NothingAugmented(DataError):
    """No copy is left after those that repeat a row or another copy are dropped."""

    def __init__(self, *, methods: Sequence[str], counts: Mapping[str, int]) -> None:
        self.counts = dict(counts)
        super().__init__(
            f"no copy is left of those that {some(methods)} made",
            found=", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items()),
            advice="Raise `fraction` or `probability`, add a method, or remove [augmentation].",
        )


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
    """Make copies of the training rows, and of transfer text if the section asks for it. They are in the order of their
    sources, the training rows first, with ids "augmented-<n>".

    The same section and texts give the same copies with any number of processes. `store` keeps the tags of words and
    the answers of language models for later runs.
    """
    with written_atomically(out, kind="transfer", key=key) as scratch:
        started = perf_counter()
        context = PreparationContext(corpus.language, section.processes or available_cores(), store, reporter)
        gathered = transfer.rows if transfer is not None and section.transfer_copies else None
        originals = Originals.of(section, train=corpus.splits["train"], transfer=gathered)
        copy_maker, preparing = prepare_methods(section, originals.rows, context)
        copies = scratch / WORK / "copies.arrow"
        tally = _make_copies(copy_maker, originals, copies, context)
        changed = ChangedCopies.load(copies)
        verdicts = judge(changed.keys, corpus=corpus, rows=section.rows, seed=section.seed, transfer=gathered)
        quality = quality_of(
            copy_maker,
            tally,
            verdicts,
            originals=originals,
            sources=changed.sources,
            changes=changed.changes,
            preparing=preparing,
            seconds=perf_counter() - started,
        )
        if not quality["kept"]:
            raise NothingAugmented(methods=[method.kind for method in section.methods], counts=_counts(quality))
        rows = write_kept(changed.table, verdicts, originals.rows, scratch)
        save_transfer_text(scratch, rows=rows, quality=quality)
    _report(quality, reporter)
    return TransferText(out)


def prepare_methods(section: Augmentation, rows: Rows, context: PreparationContext) -> tuple[CopyMaker, list[float]]:
    """The methods, prepared for the rows, and the seconds that each preparation took."""
    load_words(context.language)
    methods, seconds = [], []
    for method in section.methods:
        started = perf_counter()
        methods.append(prepared(method, rows, context))
        seconds.append(perf_counter() - started)
    copy_maker = CopyMaker(tuple(methods), context.language, section.seed, section.sides)
    return copy_maker, seconds


def _make_copies(copy_maker: CopyMaker, originals: Originals, path: Path, context: PreparationContext) -> Tally:
    """Write all changed copies to a file, in portions."""
    tally = Tally.of(copy_maker.methods)
    processes = worthwhile(context.processes, seconds=originals.characters / CHARACTERS_PER_SECOND)
    schema = schema_of(copy_maker, sides=2 if originals.rows.is_pair else 1)
    with (
        context.reporter.bar("making copies", total=originals.asked, unit="rows") as bar,
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, schema) as writer,
    ):
        for batch, part in spread(copy_portion, portions_of(originals), shared=copy_maker, processes=processes):
            writer.write_batch(batch)
            tally.join(part)
            bar.advance(part.asked)
    return tally


def _counts(quality: dict[str, Any]) -> dict[str, int]:
    names = ("asked", "unchanged", "all_masks", "duplicates", "in_train", "in_transfer", "in_dev_or_test")
    return {name: quality[name] for name in names if name in quality}


def _report(quality: dict[str, Any], reporter: Reporter) -> None:
    kinds = " + ".join(method["kind"] for method in quality["methods"])
    drawn = f", drawn from {quality['kept'] + quality['not_drawn']:,}" if quality["not_drawn"] else ""
    rows, gathered, already = "training rows", "", ""
    if of_transfer := quality.get("of_transfer"):
        rows, gathered = "rows", f" ({of_transfer['kept']:,} of transfer text)"
        already = f"{quality['in_transfer']:,} in the transfer text, "
    reporter.note(
        f"  {quality['kept']:,} copies{gathered} by {kinds}{drawn}, of {quality['sources_used']:,} of "
        f"{quality['sources']:,} {rows}; dropped: {quality['unchanged']:,} unchanged, {quality['all_masks']:,} of "
        f"masks alone, {quality['duplicates']:,} duplicates, {quality['in_train']:,} already in train, "
        f"{already}{quality['in_dev_or_test']:,} in dev or test"
    )


class ChangedCopies(NamedTuple):
    """The copies that differ from their source; texts stay on disk, numbers are in memory."""

    table: pa.Table
    sources: npt.NDArray[np.int32]  # (copies): positions among all rows that are copied
    keys: npt.NDArray[np.uint64]  # (copies, 2)
    changes: npt.NDArray[np.int32]  # (copies, methods)

    @classmethod
    def load(cls, path: Path) -> "ChangedCopies":
        table = map_table(path).table
        keys, changes = Matrix(table["key"], dtype=np.uint64), Matrix(table["changes"], dtype=np.int32)
        return cls(table, table["source"].to_numpy(), keys.read_all(), changes.read_all())


def write_kept(copies: pa.Table, verdicts: Verdicts, originals: Rows, scratch: Path) -> Rows:
    """The kept copies, as rows in a file of the work folder; the source of each goes to a file of the artifact.
    `originals` are all rows that are copied."""
    path, sides = scratch / WORK / "kept.arrow", [name for name in SIDES if name in copies.column_names]
    ids = originals.table["id"].combine_chunks()
    with ExitStack() as closing:
        rows_file = _Table(path, closing)
        sources_file = _Table(scratch / SOURCES, closing)
        seen = written = 0
        for batch in copies.to_batches():
            kept = batch.filter(pa.array(verdicts[seen : seen + batch.num_rows] == CopyVerdict.KEPT))
            seen += batch.num_rows
            names = [f"augmented-{number}" for number in range(written, written + kept.num_rows)]
            written += kept.num_rows
            texts = [kept.column(side) for side in sides]
            rows_file.write(Rows.of(ids=names, texts=texts[0], pairs=texts[1] if len(texts) == 2 else None).table)
            sources = {"id": pa.array(names, pa.string()), "source": ids.take(kept.column("source"))}
            sources_file.write(pa.table({**sources, "changes": kept.column("changes")}))
    return Rows.load(path)


class _Table:
    """An Arrow file that is written in parts; the first part determines its columns."""

    def __init__(self, path: Path, closing: ExitStack) -> None:
        self._path, self._closing = path, closing
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        if self._writer is None:
            sink = self._closing.enter_context(pa.OSFile(str(self._path), "wb"))
            self._writer = self._closing.enter_context(pa.ipc.new_file(sink, table.schema))
        self._writer.write_table(table)


def prepared(method: Method, rows: Rows, context: PreparationContext) -> Prepared:
    """The method, prepared to change the texts of these rows."""
    match method:
        case PosSwap():
            return pos_swap(method, rows, context)
        case WordVectors():
            return word_vectors(method, rows, context)
        case MaskedLm():
            return masked_lm(method, rows, context)
        case Pairing():
            return pairing(method, rows, context)
        case _:
            return _without_preparation(method)


def _without_preparation(method: Masking | Delete | Ngram | Swap | Exchange) -> Prepared:
    """The methods that do not depend on the rows."""
    match method:
        case Masking():
            return MaskWords(method.fraction)
        case Delete():
            return DeleteWords(method.fraction)
        case Ngram():
            return KeepNgram(method.probability, method.shortest, method.longest)
        case Swap():
            return SwapWords(method.fraction)
        case Exchange():
            return exchange(method)
        case _:
            assert_never(method)

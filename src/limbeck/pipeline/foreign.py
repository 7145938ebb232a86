"""Text that belongs to no class, to fit and to judge when a model gives no label."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.foreign import Foreign, ForeignText, Source
from limbeck.artifacts.manifest import Key, fingerprint_of
from limbeck.artifacts.rows import Rows, folded_key, joined
from limbeck.artifacts.run_folder import RunFolder
from limbeck.artifacts.transfer_text import TransferText, save_transfer_text
from limbeck.drafting.draft_transfer import GENERAL_FILE, GENERAL_WORDS
from limbeck.pipeline.keys import ExtraText, input_fingerprints
from limbeck.recipe.export import Abstain
from limbeck.recipe.files import in_package
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.transfer import Transfer
from limbeck.transfer.run import gather_transfer

NAME, TAUGHT = "foreign", "taught"
ROWS_OF = {"labelled": "the rows out of scope", "files": "the foreign texts", "general": "general text"}
MOST_ROWS = 4_000  # gathered: half to fit with, half to judge with
GENERAL_SHARE = 0.05  # of the reviews in the package
TOO_NEAR = 0.05  # of the running words: so much less of general text than of dev must be known from train


def foreign_of(recipe: Recipe, corpus: Corpus, extra: ExtraText, run: RunFolder) -> ForeignText:
    """Rows that belong to no class: to fit a threshold with, to judge it, and to teach. Empty if there are none, and
    without `[export.abstain]`.

    Rows that the corpus labels so come first, then files that the recipe names, then general text. What is taught is
    neither fitted nor judged with; if the others do not have as much as is to be taught, general text is added.
    """
    section, teach = recipe.export.abstain, recipe.distillation.teach_foreign
    if section is None:
        return ForeignText()
    if corpus.foreign:
        found = _labelled(corpus.foreign, teach=teach)
    elif section.foreign:
        rows = _gathered(_files(section, teach=teach), corpus, run).rows
        found = _shared_out(rows, "files", teach=min(teach, len(rows) // 3))
    else:
        return _general(section, corpus, extra, run, teach=teach)
    missing = teach - sum(len(part.rows) for part in found.taught)
    general = _general(section, corpus, extra, run, teach=missing) if missing > 0 else ForeignText()
    return replace(found, taught=(*found.taught, *general.taught))


def taught_of(foreign: ForeignText, run: RunFolder) -> TransferText | None:
    """What is taught, as an artifact that the trainings of all students read."""
    if not foreign.taught:
        return None
    sources = {part.source: len(part.rows) for part in foreign.taught}

    def make(out: Path, key: Key) -> None:
        with written_atomically(out, kind="transfer", key=key) as scratch:
            rows = joined([part.rows for part in foreign.taught])
            save_transfer_text(scratch, rows=rows, quality={"rows": len(rows), "sources": sources})
        said = " and ".join(f"{rows:,} of {ROWS_OF[source]}" for source, rows in sources.items())
        run.reporter.note(f"  students learn {said}, with equal probabilities for all labels")

    inputs = {str(part.source): fingerprints_of(part)["foreign rows"] for part in foreign.taught}
    return run.step(TAUGHT, kind="transfer", key=Key(section={}, inputs=inputs), load=TransferText, make=make)


def fingerprints_of(foreign: Foreign | None) -> dict[str, str]:
    """For keys: the rows that a threshold is fitted and measured with, if there are any."""
    if foreign is None:
        return {}
    return {"foreign rows": fingerprint_of(f"{foreign.source} {foreign.rows.keys.tobytes().hex()}")}


def is_near(domain: Mapping[str, Any]) -> bool:
    """Whether text has about as many words of train as dev has: then it may be text of the task."""
    return bool(domain["words_in_train"] > domain["dev_words_in_train"] - TOO_NEAR)


def _labelled(rows: Mapping[str, Rows], *, teach: int) -> ForeignText:
    """Every second row for fitting is taught instead, if any is."""
    dev, test = (Foreign(rows[split], "labelled") if split in rows else None for split in ("dev", "test"))
    if dev is None or not teach:
        return ForeignText(dev, test)
    taught = np.arange(1, len(dev.rows), 2)[:teach]
    kept = np.setdiff1d(np.arange(len(dev.rows)), taught)
    return ForeignText(replace(dev, rows=dev.rows.select(kept)), test, _parts(dev.rows.select(taught), "labelled"))


def _files(section: Abstain, *, teach: int) -> Transfer:
    most = MOST_ROWS + teach
    return Transfer(files=section.foreign, text=section.foreign_text, near_duplicates=1.0, rows=most)


def _general(section: Abstain, corpus: Corpus, extra: ExtraText, run: RunFolder, *, teach: int) -> ForeignText:
    """Sentences of general text, where there is any to have."""
    path = general_file(section, corpus)
    if path is None:
        return ForeignText()
    least, most = GENERAL_WORDS
    source = Transfer(
        files=[str(path)],
        where={"source": "imdb"},
        share=min(1.0, GENERAL_SHARE * (1 + teach / MOST_ROWS)),
        split_sentences=True,
        min_words=least,
        max_words=most,
        rows=MOST_ROWS + teach,
        seed=1,
    )
    gathered = _gathered(source, corpus, run, name=NAME if not section.foreign else f"{NAME}-general")
    if is_near(gathered.quality["domain"]):
        run.reporter.note("  general text is too much like the task's own to be foreign: it is not used")
        return ForeignText()
    rows = _new(gathered.rows, extra)
    return _shared_out(rows, "general", teach=min(teach, len(rows) // 3))


def general_file(section: Abstain, corpus: Corpus) -> Path | None:
    """Reviews of the installed package, for English tasks; none for pairs, whose texts belong together."""
    if not section.general or corpus.language != "en" or corpus.is_pair:
        return None
    try:
        return in_package(GENERAL_FILE)
    except FileNotFoundError:
        return None


def _gathered(section: Transfer, corpus: Corpus, run: RunFolder, *, name: str = NAME) -> TransferText:
    settings = section.model_dump(mode="json", exclude={"files"})
    inputs = {**input_fingerprints(section), "corpus": corpus.fingerprint}
    return run.step(
        name,
        kind="transfer",
        key=Key(section=settings, inputs=inputs),
        load=TransferText,
        make=lambda out, key: gather_transfer(section, corpus=corpus, out=out, key=key, reporter=run.reporter),
    )


def _new(rows: Rows, extra: ExtraText) -> Rows:
    """Without those that the students learn from."""
    known = {folded_key(text) for part in extra.values() for text in part.rows.texts}
    return rows.select([at for at, text in enumerate(rows.texts) if folded_key(text) not in known])


def _shared_out(rows: Rows, source: Source, *, teach: int) -> ForeignText:
    """Rows to teach, evenly spread; of the others one half to fit with and one to judge."""
    taught = np.linspace(0, len(rows) - 1, num=teach, dtype=np.int64)
    others = np.setdiff1d(np.arange(len(rows)), taught)
    halves = [rows.select(others[start::2]) for start in (0, 1)]
    dev, test = (Foreign(half, source) if len(half) else None for half in halves)
    return ForeignText(dev, test, _parts(rows.select(taught), source))


def _parts(rows: Rows, source: Source) -> tuple[Foreign, ...]:
    return (Foreign(rows, source),) if len(rows) else ()

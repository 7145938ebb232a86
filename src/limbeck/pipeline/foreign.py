"""Text that belongs to no class, to fit and to judge when a model gives no label."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.foreign import Foreign
from limbeck.artifacts.manifest import Key, fingerprint_of
from limbeck.artifacts.rows import Rows, folded_key
from limbeck.artifacts.run_folder import RunFolder
from limbeck.artifacts.transfer_text import TransferText
from limbeck.drafting.draft_transfer import GENERAL_FILE, GENERAL_WORDS
from limbeck.pipeline.keys import ExtraText, input_fingerprints
from limbeck.recipe.export import Abstain
from limbeck.recipe.files import in_package
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.transfer import Transfer
from limbeck.transfer.run import gather_transfer

NAME = "foreign"
MOST_ROWS = 4_000  # gathered: half to fit with, half to judge with
GENERAL_SHARE = 0.05  # of the reviews in the package
TOO_NEAR = 0.05  # of the running words: so much less of general text than of dev must be known from train


def foreign_of(recipe: Recipe, corpus: Corpus, extra: ExtraText, run: RunFolder) -> Mapping[str, Foreign]:
    """Rows that belong to no class: "dev" to fit a threshold with, "test" to judge it. Empty if there are none, and
    without `[export.abstain]`.

    Rows that the corpus labels so come first, then files that the recipe names, then general text.
    """
    section = recipe.export.abstain
    if section is None:
        return {}
    if corpus.foreign:
        return {split: Foreign(rows, "labelled") for split, rows in corpus.foreign.items()}
    source = _files(section) or _general(section, corpus)
    if source is None:
        return {}
    gathered = _gathered(source, corpus, run)
    if section.foreign:
        return _halves(gathered.rows, "files")
    if is_near(gathered.quality["domain"]):
        run.reporter.note("  general text is too much like the task's own to be foreign: it is not used")
        return {}
    return _halves(_new(gathered.rows, extra), "general")


def fingerprints_of(foreign: Foreign | None) -> dict[str, str]:
    """For keys: the rows that a threshold is fitted and measured with, if there are any."""
    if foreign is None:
        return {}
    return {"foreign rows": fingerprint_of(f"{foreign.source} {foreign.rows.keys.tobytes().hex()}")}


def is_near(domain: Mapping[str, Any]) -> bool:
    """Whether text has about as many words of train as dev has: then it may be text of the task."""
    return bool(domain["words_in_train"] > domain["dev_words_in_train"] - TOO_NEAR)


def _files(section: Abstain) -> Transfer | None:
    if not section.foreign:
        return None
    return Transfer(files=section.foreign, text=section.foreign_text, near_duplicates=1.0, rows=MOST_ROWS)


def _general(section: Abstain, corpus: Corpus) -> Transfer | None:
    """Sentences of general text; None where there is none to have, and for pairs, whose texts belong together."""
    if not section.general or corpus.language != "en" or corpus.is_pair:
        return None
    try:
        path = in_package(GENERAL_FILE)
    except FileNotFoundError:
        return None
    least, most = GENERAL_WORDS
    return Transfer(
        files=[str(path)],
        where={"source": "imdb"},
        share=GENERAL_SHARE,
        split_sentences=True,
        min_words=least,
        max_words=most,
        rows=MOST_ROWS,
        seed=1,
    )


def _gathered(section: Transfer, corpus: Corpus, run: RunFolder) -> TransferText:
    settings = section.model_dump(mode="json", exclude={"files"})
    inputs = {**input_fingerprints(section), "corpus": corpus.fingerprint}
    return run.step(
        NAME,
        kind="transfer",
        key=Key(section=settings, inputs=inputs),
        load=TransferText,
        make=lambda out, key: gather_transfer(section, corpus=corpus, out=out, key=key, reporter=run.reporter),
    )


def _new(rows: Rows, extra: ExtraText) -> Rows:
    """Without those that the students learn from."""
    known = {folded_key(text) for part in extra.values() for text in part.rows.texts}
    return rows.select([at for at, text in enumerate(rows.texts) if folded_key(text) not in known])


def _halves(rows: Rows, source: Any) -> dict[str, Foreign]:
    halves = {"dev": rows.select(np.arange(0, len(rows), 2)), "test": rows.select(np.arange(1, len(rows), 2))}
    return {split: Foreign(half, source) for split, half in halves.items() if len(half)}

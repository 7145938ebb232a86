"""A language model's predictions for the words of texts, kept on disk by content: no text is asked about twice.

There is one folder for each model and its settings. A row is a text: its content key, and for each masked piece the
number of the word, the predicted words or characters, the most probable first and separated by spaces, and for
characters their logits.
"""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pyarrow as pa

from limbeck.artifacts.manifest import DIGEST_BYTES, checkpoint_fingerprint, file_digest, fingerprint_of
from limbeck.artifacts.mapped import map_table
from limbeck.artifacts.rows import KEY_BYTES
from limbeck.augmentation import words
from limbeck.augmentation.method import PreparationContext
from limbeck.recipe.augmentation import MaskedLm

TEXTS_AT_ONCE = {"cpu": 256, "cuda": 4096}  # asked about together, and kept in one file
FORMAT = 1  # increase it when the way of asking the model changes
SCHEMA = pa.schema(
    [
        ("key", pa.binary(KEY_BYTES)),
        ("words", pa.list_(pa.int32())),
        ("found", pa.list_(pa.string())),
        ("logits", pa.list_(pa.list_(pa.float32()))),
    ]
)


class TextPredictions(NamedTuple):
    """The predictions for one text; the lists are by masked piece."""

    words: list[int]
    found: list[str]
    logits: list[list[float]]


def answers_to_texts(
    texts: Mapping[bytes, str], section: MaskedLm, context: PreparationContext
) -> Iterator[tuple[bytes, TextPredictions]]:
    """For each text, by content key, the model's predictions; from the store if it has them, each text once."""
    from limbeck.models.checkpoint import find_checkpoint

    checkpoint = find_checkpoint(section.checkpoint, what="language model")
    folder = context.store / f"masked_lm-{_settings_hash(checkpoint, section, language=context.language)}"
    missing = dict(texts)
    for key, answer in _stored(folder):
        if missing.pop(key, None) is not None:
            yield key, answer
    if missing:
        yield from _asked(missing, checkpoint, section, context, folder=folder)


def _settings_hash(checkpoint: Path, section: MaskedLm, *, language: str) -> str:
    """A hash of everything that predictions depend on except the text."""
    cutter = f"jieba {version('jieba')}" if language == "zh" else ""
    numbers = f"{section.max_length} {section.candidates} {words.FORMAT} {FORMAT}"
    numbers += "" if section.beside == "nothing" else f" beside {section.beside}"
    return fingerprint_of(f"{checkpoint_fingerprint(str(checkpoint))} {language} {cutter} {numbers}")


def _stored(folder: Path) -> Iterator[tuple[bytes, TextPredictions]]:
    for batch in stored_batches(folder):
        for key, *answer in zip(*(batch.column(name).to_pylist() for name in SCHEMA.names), strict=True):
            yield key, TextPredictions(*answer)


def _asked(
    texts: Mapping[bytes, str], checkpoint: Path, section: MaskedLm, context: PreparationContext, *, folder: Path
) -> Iterator[tuple[bytes, TextPredictions]]:
    """Asks in portions; each is stored as soon as it is complete."""
    from limbeck.augmentation.language_model import load_language_model
    from limbeck.augmentation.masked_predictions import answers_about

    model = load_language_model(checkpoint, name=section.checkpoint, max_length=section.max_length)
    waiting = iter(texts.items())
    with context.reporter.bar("asking the language model", total=len(texts), unit="texts") as bar:
        while portion := dict(islice(waiting, TEXTS_AT_ONCE.get(model.device.type, TEXTS_AT_ONCE["cpu"]))):
            answers = answers_about(
                list(portion.values()),
                model,
                language=context.language,
                most=section.candidates,
                with_original=section.beside == "original",
            )
            columns = [list(portion), *(list(column) for column in zip(*answers, strict=True))]
            keep(folder, pa.table(columns, schema=SCHEMA))
            bar.advance(len(portion))
            yield from zip(portion, answers, strict=True)


def stored_batches(folder: Path) -> Iterator[pa.RecordBatch]:
    """The contents of the folder; damaged files are skipped."""
    for path in sorted(folder.glob("*.arrow")):
        try:
            table = map_table(path).table if file_digest(path) == path.stem else None
        except (OSError, pa.ArrowInvalid):
            continue
        if table is not None:
            yield from table.to_batches()


def keep(folder: Path, table: pa.Table) -> None:
    """Add a file with this table."""
    folder.mkdir(parents=True, exist_ok=True)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content = sink.getvalue()
    name = blake2b(content, digest_size=DIGEST_BYTES).hexdigest()
    scratch = folder / f"{name}.{uuid4().hex}.partial"  # another run may be writing the same file at the same time
    try:
        scratch.write_bytes(content)
        scratch.replace(folder / f"{name}.arrow")
    finally:
        scratch.unlink(missing_ok=True)

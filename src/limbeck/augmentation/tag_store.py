"""Tags of texts, kept on disk by content: no text is tagged twice by the same tagger.

One folder per tagger, in it Arrow files of (content key, tags with a space between them).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from limbeck.artifacts.rows import KEY_BYTES, content_key
from limbeck.augmentation.method import Bench
from limbeck.augmentation.processes import spread, worthwhile
from limbeck.augmentation.shards import keep, stored_batches
from limbeck.augmentation.tagging import Tagger, tag_texts, tagger_id

SCHEMA = pa.schema([("key", pa.binary(KEY_BYTES)), ("tags", pa.large_string())])
TEXTS_AT_ONCE = 256  # one task
TASKS_PER_FILE = 64  # a run that is killed tags at most so many again
CHARACTERS_PER_SECOND = 150_000  # tagged by one process; about


def tags_of_texts(texts: Mapping[bytes, str], tagger: Tagger, bench: Bench) -> dict[bytes, str]:
    """For each text, by content key, the tags of its words; from the store as far as it has them."""
    folder = bench.store / tagger_id(tagger, language=bench.language)
    tags = dict(_stored(folder, texts))
    missing = [text for key, text in texts.items() if key not in tags]
    if not missing:
        return tags
    processes = worthwhile(bench.processes, seconds=sum(map(len, missing)) / CHARACTERS_PER_SECOND)
    tasks = [missing[start : start + TEXTS_AT_ONCE] for start in range(0, len(missing), TEXTS_AT_ONCE)]
    found: dict[bytes, str] = {}
    with bench.reporter.bar("tagging parts of speech", total=len(missing), unit="texts") as bar:
        results = spread(tag_texts, tasks, equipment=(tagger, bench.language), processes=processes)
        for number, (task, result) in enumerate(zip(tasks, results, strict=True), start=1):
            found.update(zip(map(content_key, task), result, strict=True))
            bar.advance(len(task))
            if number % TASKS_PER_FILE == 0 or number == len(tasks):
                keep(folder, pa.table([list(found), list(found.values())], schema=SCHEMA))
                tags |= found
                found = {}
    return tags


def _stored(folder: Path, wanted: Mapping[bytes, str]) -> Iterator[tuple[bytes, str]]:
    """What the store holds of the wanted texts."""
    for batch in stored_batches(folder):
        keys, tags = (batch.column(name).to_pylist() for name in SCHEMA.names)
        yield from ((key, found) for key, found in zip(keys, tags, strict=True) if key in wanted)

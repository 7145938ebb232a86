"""Room 4: find the labels of every row in the store, and ask the teacher for those that are missing."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels, save_teacher_labels
from limbeck.artifacts.whole import written_whole
from limbeck.errors import LabelsDoNotCover
from limbeck.labeling.store import LabelStore
from limbeck.progress import Bar, Reporter
from limbeck.recipe.labeling import Labeling


class Teacher(Protocol):
    """All this room asks of a teacher."""

    def logits(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> npt.NDArray[np.float32]:
        """(rows, classes) raw logits, in the order of the texts."""


def label(
    section: Labeling,
    *,
    rows: Rows,
    classes: int,
    fingerprint: str,
    open_teacher: Callable[[], Teacher],
    store: Path,
    out: Path,
    key: Key,
    reporter: Reporter,
) -> TeacherLabels:
    """Give every row the teacher's logits. The teacher is opened only if some text was never asked before."""
    with written_whole(out, kind="labels", key=key) as scratch:
        known = LabelStore(store, teacher=fingerprint, classes=classes)
        for shard in known.damaged:
            reporter.note(f"  label store: {shard.name} is damaged; what it held is asked again")
            shard.unlink(missing_ok=True)
        asked = _ask_missing(section, rows=rows, known=known, open_teacher=open_teacher, reporter=reporter)
        if asked:
            known = LabelStore(store, teacher=fingerprint, classes=classes)
        places = known.find(rows.keys)
        if (places < 0).any():  # the store was emptied, or damaged, while the teacher was being asked
            lost = [rows.ids[row] for row in np.flatnonzero(places < 0)]
            raise LabelsDoNotCover(labels=known.folder, missing=lost, total=len(rows))
        facts = {"teacher": fingerprint, "rows": len(rows), "distinct_texts": len(np.unique(rows.keys, axis=0))}
        save_teacher_labels(scratch, ids=rows.ids, logits=known.logits(places), facts=facts)
    reporter.note(f"  {len(rows):,} rows labelled: {asked:,} texts asked, the rest was in the label store")
    return TeacherLabels(out)


def _ask_missing(
    section: Labeling, *, rows: Rows, known: LabelStore, open_teacher: Callable[[], Teacher], reporter: Reporter
) -> int:
    """Ask for each distinct text that has no label yet, and keep the answers shard by shard."""
    missing = np.flatnonzero(known.find(rows.keys) < 0)
    _, first = np.unique(rows.keys[missing], axis=0, return_index=True)
    missing = missing[np.sort(first)]
    if not len(missing):
        return 0
    # Long texts first: rows of one shard are alike in length, and if memory runs out, it does so at once.
    sizes = np.array([_characters(rows, place) for place in missing.tolist()], dtype=np.int64)
    missing = missing[np.argsort(-sizes, kind="stable")]
    teacher = open_teacher()
    with reporter.bar("asking the teacher", total=len(missing), unit="rows") as bar:
        for start in range(0, len(missing), section.rows_per_shard):
            shard = missing[start : start + section.rows_per_shard]
            texts = [rows.texts[place] for place in shard]
            pairs = [rows.pairs[place] for place in shard] if rows.pairs is not None else None
            logits = teacher.logits(texts, pairs, tokens_per_batch=section.tokens_per_batch, bar=bar)
            known.write(rows.keys[shard], logits)
    return len(missing)


def _characters(rows: Rows, place: int) -> int:
    """Of the row's text, and of its second text if there is one."""
    return len(rows.texts[place]) + (len(rows.pairs[place]) if rows.pairs is not None else 0)

"""Checks the labels of a run: its teachers are asked again for a sample, and every shard is checked for damage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from limbeck.artifacts.rows import Rows, joined
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.labeling.combine import Combine, combined
from limbeck.labeling.source import Pooling, TeacherSource
from limbeck.labeling.store import LabelStore, Root
from limbeck.labeling.summary import chosen

# Logits may differ this much. A bf16 number has three significant digits, and the rounding of sums depends on which
# texts share a batch, so logits of the same text can differ by more than 0.1; the same holds for the int8 of exported
# models, whose scale is that of the batch.
TOLERANCES = {"fp32": 1e-3, "bf16": 0.25, "int8": 0.25}
SEED = 0


@dataclass(frozen=True)
class Verification:
    """The result of the check."""

    rows: int
    silent: int  # rows for which the teacher has no answer now
    largest_difference: float
    mean_difference: float
    agreement: float  # share of the rows whose label, or labels, are the same; of scores: those within the tolerance
    tolerance: float
    shards: int
    damaged: list[str]

    @property
    def is_same(self) -> bool:
        """Whether every row is answered as before, within the tolerance."""
        return self.largest_difference <= self.tolerance and not self.silent

    @property
    def is_sound(self) -> bool:
        """Whether every row is answered as before, and no shard is damaged."""
        return self.is_same and not self.damaged


def verify(
    labels: TeacherLabels,
    *,
    splits: Mapping[str, Rows],
    classes: int,
    multi_label: bool,
    sources: Sequence[TeacherSource],
    combine: Combine,
    precision: str,
    store: Root,
    sample: int,
    is_score: bool = False,
) -> Verification:
    """Ask the sources again for a sample of labelled rows, always the same one; check all their shards."""
    rows = _sample(labels, splits, size=sample)
    answers = [source.tempered(source.open().logits(rows.texts, rows.pairs)) for source in sources]
    weights = [source.weight for source in sources]
    now = combined(answers, weights, combine=combine, multi_label=multi_label)
    is_answer = ~np.isnan(now).any(axis=1)
    now, kept = now[is_answer], labels.for_rows(rows.ids)[is_answer]
    differences = np.abs(now - kept)
    if is_score:
        is_same = (differences <= TOLERANCES[precision]).all(axis=1)
    else:
        is_same = (chosen(now, multi_label=multi_label) == chosen(kept, multi_label=multi_label)).all(axis=1)
    stores = stores_of(labels, [source.fingerprint for source in sources], root=store, classes=classes)
    shards = [(store, shard) for store in stores for shard in store.shards()]
    return Verification(
        rows=len(rows),
        silent=int((~is_answer).sum()),
        largest_difference=float(differences.max(initial=0.0)),
        mean_difference=float(differences.mean()) if differences.size else 0.0,
        agreement=int(is_same.sum()) / len(rows) if len(rows) else 1.0,
        tolerance=TOLERANCES[precision],
        shards=len(shards),
        damaged=[str(shard) for store, shard in shards if store.open(shard) is None],
    )


def stores_of(labels: TeacherLabels, fingerprints: Sequence[str], *, root: Root, classes: int) -> list[LabelStore]:
    """The stores of these teachers' answers."""
    pooling: Pooling | None = labels.facts.get("features")
    return [LabelStore(root, teacher=teacher, classes=classes, pooling=pooling) for teacher in fingerprints]


def _sample(labels: TeacherLabels, splits: Mapping[str, Rows], *, size: int) -> Rows:
    """`size` random rows over all splits, without those that have no label."""
    total = sum(len(rows) for rows in splits.values())
    numbers = np.sort(np.random.default_rng(SEED).choice(total, size=min(size, total), replace=False))
    parts, start = [], 0
    for rows in splits.values():
        parts.append(rows.select(numbers[(numbers >= start) & (numbers < start + len(rows))] - start))
        start += len(rows)
    picked = joined(parts)
    return picked.select(np.flatnonzero(labels.covers(picked.ids)))

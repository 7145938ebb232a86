"""The corpus as an artifact: labelled splits, the classes, and what was found while reading."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.artifacts.manifest import fingerprint_of, read_json, read_manifest
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.tasks import Task, task_of

SPLITS = ("train", "dev", "test")
SLICES = "slices.json"
UNEVEN = 10  # rows of the most frequent class, divided by rows of the rarest
MIN_ROWS = 5  # training rows of a class that makes a corpus uneven: fewer may be stray labels


@dataclass(frozen=True)
class Corpus:
    """`<split>.arrow` for each split, and corpus.json: name, labels, language, pair, multi_label,
    class_weights, findings; of scores also their scale. With rows that are labelled as out of scope also
    `foreign-dev.arrow`, `foreign-test.arrow`; with a column that parts the judged rows slices.json.
    """

    folder: Path

    @property
    def fingerprint(self) -> str:
        """Of its contents."""
        return read_manifest(self.folder, kind="corpus").fingerprint

    @property
    def training_fingerprint(self) -> str:
        """Of what training depends on: train, dev, classes and weights, language, pairs. Not of test or findings."""
        files = read_manifest(self.folder, kind="corpus").files
        rows = [files[f"{split}.arrow"]["blake2b"] for split in ("train", "dev")]
        classes: list[Any] = [self.labels, self.is_multi_label, self.class_weights]
        if self.scale:
            classes.append(self.scale.as_json())
        return fingerprint_of(json.dumps([*rows, *classes, self.language, self.is_pair], ensure_ascii=False))

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The content of corpus.json."""
        facts: dict[str, Any] = read_json(self.folder / "corpus.json")
        return facts

    @property
    def labels(self) -> list[str]:
        """Class names; a row's label is a position in this list."""
        return list(self.facts["labels"])

    @property
    def unknown_labels(self) -> list[str]:
        """Labels of test rows that no training row has; the first is numbered FIRST_UNKNOWN, the others below it."""
        return list(self.facts.get("unknown_in_test") or {})

    @property
    def language(self) -> str:
        """ "en" or "zh"."""
        return str(self.facts["language"])

    @property
    def is_pair(self) -> bool:
        """Whether a row has two texts."""
        return bool(self.facts["pair"])

    @property
    def is_multi_label(self) -> bool:
        """Whether a row may have several labels, or none."""
        return bool(self.facts.get("multi_label", False))

    @property
    def task(self) -> Task:
        """What a row has: one label, several, or a score."""
        return task_of(multi_label=self.is_multi_label, is_score=self.scale is not None)

    @property
    def scale(self) -> ScoreScale | None:
        """Of its scores, which its rows hold in standard units; None for classes."""
        found = self.facts.get("scale")
        return None if found is None else ScoreScale.from_json(found)

    @property
    def class_weights(self) -> list[float] | None:
        """Weight of each class in losses on labels; None: all the same."""
        weights: list[float] | None = self.facts.get("class_weights")
        return weights

    @cached_property
    def splits(self) -> dict[str, Rows]:
        """The splits of this corpus: always train and dev, possibly test."""
        paths = {split: self.folder / f"{split}.arrow" for split in SPLITS}
        return {split: Rows.load(path) for split, path in paths.items() if path.is_file()}

    @cached_property
    def foreign(self) -> dict[str, Rows]:
        """Rows that belong to no class, without a label: "dev" to fit a threshold on, "test" to judge it; only those
        that there are."""
        paths = {split: self.folder / f"foreign-{split}.arrow" for split in ("dev", "test")}
        return {split: Rows.load(path) for split, path in paths.items() if path.is_file()}

    @cached_property
    def slice_values(self) -> Mapping[str, str]:
        """By row id the value of the column that parts the judged rows; nothing without such a column."""
        path = self.folder / SLICES
        values: dict[str, str] = read_json(path) if path.is_file() else {}
        return values

    def values_of(self, ids: Sequence[str]) -> list[str]:
        """The same for these rows; empty where there is none."""
        return [self.slice_values.get(row_id, "") for row_id in ids]

    @cached_property
    def is_uneven(self) -> bool:
        """Whether accuracy says little, because one label is far more frequent than another: then epochs and seeds are
        chosen by macro F1. Classes without dev rows, or with hardly any training rows, are ignored."""
        if self.task.name != "one_label":
            return False
        train, dev = (self._counts(split) for split in ("train", "dev"))
        counted = {str(number): count for number, count in train.items() if count >= MIN_ROWS and number in dev}
        return rarest_and_most_frequent(counted) is not None

    def _counts(self, split: str) -> dict[int, int]:
        """The rows of each class that has any."""
        rows = self.splits[split]
        numbers, counts = np.unique(rows.labels[rows.is_labelled], return_counts=True)
        return dict(zip(numbers.tolist(), counts.tolist(), strict=True))

    @property
    def judged_split(self) -> str:
        """The split that the report is about: test if the corpus has one, else dev."""
        return "test" if "test" in self.splits else "dev"


def rarest_and_most_frequent(rows_per_class: Mapping[str, int]) -> tuple[str, str] | None:
    """The rarest and the most frequent class, if the rarest has less than a tenth of the other's rows; else None.

    Classes without rows are ignored.
    """
    present = {name: count for name, count in rows_per_class.items() if count}
    if not present:
        return None
    rarest, most = min(present, key=lambda name: present[name]), max(present, key=lambda name: present[name])
    return (rarest, most) if present[rarest] * UNEVEN < present[most] else None


def save_corpus(
    folder: Path,
    *,
    splits: dict[str, Rows],
    facts: dict[str, Any],
    foreign: Mapping[str, Rows] | None = None,
    slice_values: Mapping[str, str] | None = None,
) -> None:
    """Write the files of a corpus into a scratch folder; of `foreign` only those that have rows."""
    if slice_values:
        (folder / SLICES).write_text(json.dumps(slice_values, ensure_ascii=False), encoding="utf-8")
    for split, rows in splits.items():
        rows.save(folder / f"{split}.arrow")
    for split, rows in (foreign or {}).items():
        if len(rows):
            rows.save(folder / f"foreign-{split}.arrow")
    (folder / "corpus.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False), encoding="utf-8")

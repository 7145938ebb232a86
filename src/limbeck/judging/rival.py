"""The rival: what ten lines of scikit-learn reach on the same rows, without a teacher (TF-IDF, linear classifier; for
scores: ridge regression).

A student that does not beat it is not worth its training. It is an artifact of the run: its weights, which are timed
like any other model, and its answers on dev and on the judged rows, so that a new report need not train it again.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key, read_manifest
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.models.tfidf import TfidfClassifier, fitted_classifier, load_classifier, sampled_rows
from limbeck.progress import Reporter
from limbeck.runtime.row import Row, columns_of
from limbeck.training.temperature import fitted_temperature

NAME = "tfidf"
ENGINE = "scikit-learn"
FACTS = "rival.json"

Logits = npt.NDArray[np.float32]


@dataclass(frozen=True)
class RivalFolder:
    """`rival.json`, vocabulary and weights, and the logits on `dev` and on the judged rows, as `.npy`."""

    folder: Path

    @property
    def fingerprint(self) -> str:
        """Of its contents."""
        return read_manifest(self.folder, kind="rival").fingerprint

    @cached_property
    def facts(self) -> dict[str, Any]:
        """train_rows, of_train_rows, parameters, size_mb, temperature."""
        facts: dict[str, Any] = json.loads((self.folder / FACTS).read_text(encoding="utf-8"))
        return facts

    def logits(self, split: str) -> Logits:
        """(rows, classes): margins on the labelled rows of dev, or of the judged split."""
        logits: Logits = np.load(self.folder / f"{split}.npy")
        return logits


def make_rival(corpus: Corpus, *, out: Path, key: Key, reporter: Reporter) -> RivalFolder:
    """Train it on the labels of train, calibrate it on dev, and keep its answers."""
    train, dev = (_labelled(corpus, split) for split in ("train", "dev"))
    used = train.select(sampled_rows(train.labels, train.characters, classes=len(corpus.labels)))
    rival, size = fitted_classifier(
        used.texts, used.pairs, used.labels, classes=len(corpus.labels), class_weights=corpus.class_weights
    )
    with written_atomically(out, kind="rival", key=key) as scratch:
        rival.save(scratch)
        answers = {split: _logits(rival, _labelled(corpus, split)) for split in {"dev", corpus.judged_split}}
        for split, logits in answers.items():
            np.save(scratch / f"{split}.npy", logits)
        facts = {
            "labels": corpus.labels,
            "multi_label": corpus.is_multi_label,
            "train_rows": len(used),
            "of_train_rows": len(train),
            "parameters": rival.weights.size + rival.bias.size,
            "size_mb": size / 1e6,
            "temperature": fitted_temperature(answers["dev"], dev.labels) if corpus.task.has_classes else 1.0,
            **({} if corpus.scale is None else {"scale": corpus.scale.as_json()}),
        }
        (scratch / FACTS).write_text(json.dumps(facts, indent=1, ensure_ascii=False), encoding="utf-8")
    rows = f"{len(used):,} rows" if len(used) == len(train) else f"{len(used):,} of {len(train):,} rows"
    what = "a linear classifier, trained on the labels" if corpus.task.has_classes else "ridge, fitted to the scores"
    reporter.note(f"  {NAME}: TF-IDF and {what} of {rows}; {size / 1e6:.1f} MB")
    return RivalFolder(out)


def _logits(rival: TfidfClassifier, rows: Rows) -> Logits:
    return rival.logits(rows.texts, rows.pairs)


def _labelled(corpus: Corpus, split: str) -> Rows:
    rows = corpus.splits[split]
    return rows.select(np.flatnonzero(rows.is_labelled))


def open_rival(folder: Path) -> Callable[[Sequence[Row]], list[object]]:
    """A function from rows to labels, as other models have one; for the process that times it."""
    facts = RivalFolder(folder).facts
    labels, multi_label = facts["labels"], facts["multi_label"]
    rival = load_classifier(folder, classes=len(labels))
    scale = ScoreScale.from_json(facts["scale"]) if "scale" in facts else None

    def predict(rows: Sequence[Row]) -> list[object]:
        columns = columns_of(rows)
        margins = rival.margins(columns[0], columns[1] if len(columns) > 1 else None)
        if scale is not None:
            return list(scale.scores(margins[:, 0]).tolist())
        if multi_label:
            return [[labels[number] for number in np.flatnonzero(row >= 0)] for row in margins]
        return [labels[number] for number in margins.argmax(axis=1).tolist()]

    return predict

"""What every model of a report answered, by the names of the classes, for report/predictions.parquet."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.predictions import ModelPredictions
from limbeck.artifacts.rows import FIRST_UNKNOWN, Rows
from limbeck.judging.run import Judgement


def label_names(rows: Rows, corpus: Corpus) -> list[list[str]]:
    """The names of each row's labels, also of those that only test has; or its score."""
    if corpus.scale is not None:
        return [[f"{score:.6g}"] for score in corpus.scale.scores(rows.labels, clip=False).tolist()]
    return [
        [
            corpus.labels[number] if number >= 0 else corpus.unknown_labels[FIRST_UNKNOWN - number]
            for number in _numbers_of(label)
        ]
        for label in rows.labels
    ]


def _numbers_of(label: Any) -> list[int]:
    return np.flatnonzero(label).tolist() if np.ndim(label) else [int(label)]


def predictions_of(names: Sequence[str], judged: Judgement, corpus: Corpus) -> dict[str, ModelPredictions]:
    """What each model answered, by its name; a model without a shipped copy, or without answers, is left out."""
    return {
        name: ModelPredictions(
            places=places,
            labels=[[corpus.labels[number] for number in _numbers_of(label)] for label in found.predicted[0]],
            probability=found.confidence[0],
            logits=found.logits[0],
            temperature=found.temperatures[0] if found.temperatures else 1.0,
        )
        for name, (places, found) in (
            (name, answers) for name, answers in zip(names, judged.answers, strict=True) if answers is not None
        )
    }

"""How near texts are to the corpus, by the teacher's features."""

from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels

MOST_NEIGHBOURS = 2000  # training rows that are compared with; evenly spread over train
ROWS_AT_A_TIME = 8192


def nearness(labels: TeacherLabels, *, ids: Any, corpus: Rows) -> npt.NDArray[np.float32]:
    """(ids): cosine of each text's features with those of the training row most like it.

    Features have a common direction that says nothing; the mean over the training rows is taken off first.
    """
    train = corpus.table["id"].take(np.linspace(0, len(corpus) - 1, min(MOST_NEIGHBOURS, len(corpus))).astype(np.int64))
    known = labels.features_for(train.filter(labels.covers(train))).astype(np.float32)
    middle = known.mean(axis=0)
    directions = unit(known - middle)
    found = np.empty(len(ids), dtype=np.float32)
    for start in range(0, len(ids), ROWS_AT_A_TIME):
        part = labels.features_for(ids.slice(start, ROWS_AT_A_TIME)).astype(np.float32)
        found[start : start + len(part)] = (unit(part - middle) @ directions.T).max(axis=1)
    return found


def unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Each row at length one; a row of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)

"""Parts of train, and the answers for each part by models that were trained on the other parts."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.rows import Rows, draw_order, folded_key
from limbeck.errors import TooFewRows
from limbeck.progress import Bar
from limbeck.runtime.probabilities import probabilities_of
from limbeck.training.temperature import fitted_temperature

SEED = 0
LEAST_ROWS = 4  # of train, for each part
OUTSIDE = -1  # the part of rows that are not in train

Ints = npt.NDArray[np.int64]
Logits = npt.NDArray[np.float32]
View = Callable[[Ints, Ints], Logits]
"""Trains on the rows at the first places, and gives logits for the rows at the second."""


def keys_of(rows: Rows) -> list[bytes]:
    """For every row the hash of its texts, ignoring case, white space and width."""
    pairs: Sequence[str | None] = rows.pairs if rows.pairs is not None else [None] * len(rows)
    return [folded_key(text, pair) for text, pair in zip(rows.texts, pairs, strict=True)]


def parts_of(train: Rows, *, parts: int) -> Ints:
    """(rows): the part of each row, with every label in proportion.

    Rows with the same text are in the same part: a model that has read a text with its label has trained on the row.
    """
    if len(train) < parts * LEAST_ROWS:
        raise TooFewRows(what=f"train, for a review in {parts} parts", rows=len(train), needed=parts * LEAST_ROWS)
    groups: dict[bytes, list[int]] = defaultdict(list)
    for at, key in enumerate(keys_of(train)):
        groups[key].append(at)
    labels = train.labels.tolist()
    ordered = sorted(groups.values(), key=lambda group: (labels[group[0]], draw_order(SEED, train.ids[group[0]])))
    found = np.zeros(len(train), dtype=np.int64)
    for number, group in enumerate(ordered):
        found[group] = number % parts
    return found


def out_of_fold(view: View, part: Ints, *, name: str, work: Path, bar: Bar) -> Logits:
    """(rows, classes): of a row in train by the model that has not seen its part; of others the mean of all models.

    `part` is OUTSIDE for rows that are not in train. The answers of each finished model are kept in `work`.
    """
    parts, outside = int(part.max()) + 1, np.flatnonzero(part == OUTSIDE)
    found: Logits | None = None
    for number in range(parts):
        asked = np.concatenate([np.flatnonzero(part == number), outside])
        path = work / name / f"part-{number}.npy"
        if not path.is_file():
            answers = view(np.flatnonzero((part != number) & (part != OUTSIDE)), asked)
            _keep(path, answers)
        logits: Logits = np.load(path)
        found = np.zeros((len(part), logits.shape[1]), dtype=np.float32) if found is None else found
        inside = len(asked) - len(outside)
        found[asked[:inside]] = logits[:inside]
        found[outside] += logits[inside:] / np.float32(parts)
        bar.advance()
    assert found is not None, "there are several parts"
    return found


def _keep(path: Path, answers: Logits) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".partial")
    with scratch.open("wb") as file:
        np.save(file, answers.astype(np.float32))
    scratch.replace(path)


def combined(of_view: Mapping[str, Logits], labels: Ints, *, is_train: npt.NDArray[np.bool_]) -> Logits:
    """(rows, classes): the product of the views' probabilities, each view and the product calibrated on train.

        z = (Σ over views of  log p_view) / T

    A temperature is one number, fitted on all rows of train, and changes the order of no two classes.
    """
    multi_label = labels.ndim == 2
    scaled = [
        logits / np.float32(fitted_temperature(logits[is_train], labels[is_train])) for logits in of_view.values()
    ]
    if not multi_label:
        scaled = [np.log(np.maximum(probabilities_of(one, multi_label=False), 1e-12)) for one in scaled]
    total: Logits = np.asarray(np.sum(scaled, axis=0), dtype=np.float32)
    found: Logits = total / np.float32(fitted_temperature(total[is_train], labels[is_train]))
    return found

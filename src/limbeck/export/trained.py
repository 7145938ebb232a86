"""What the trained student says, in PyTorch: each batch on one thread, several batches at once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.text.student_reader import StudentReader, has_token_types
from limbeck.training.batches import token_budget_batches
from limbeck.training.modes import evaluating

Logits = npt.NDArray[np.float32]
TOKENS_PER_BATCH = 2048  # measured with a Bi-LSTM: from 4,096 on, short rows took longer
MOST_REMEMBERED = 64  # students

_remembered: dict[tuple[str, bytes], Logits] = {}


def remembered_logits(folder: StudentFolder, student: nn.Module, reader: StudentReader, rows: Rows) -> Logits:
    """What `student_logits` says, and said of these rows before: a student is exported once for each precision.

    It is known by the fingerprint of its folder. Should its files have changed since, so has what is exported now, and
    the comparison with what it said fails.
    """
    key = folder.fingerprint, rows.keys.tobytes()
    if key not in _remembered:
        while len(_remembered) >= MOST_REMEMBERED:
            _remembered.pop(next(iter(_remembered)))
        _remembered[key] = student_logits(student, reader, rows)
    return _remembered[key]


def student_logits(student: nn.Module, reader: StudentReader, rows: Rows) -> Logits:
    """(rows, classes): what the trained student says, in eval mode; rows of similar length are read together."""
    read, with_types = reader.read(rows.texts, rows.pairs), has_token_types(getattr(student, "config", None))

    def said(places: npt.NDArray[np.int64]) -> Logits:
        batch = read.batch(places, with_types=with_types)
        with torch.inference_mode():  # which holds for one thread
            answer = student(**{name: torch.from_numpy(array) for name, array in batch.items()})
        logits: Logits = answer.logits.float().cpu().numpy()
        return logits

    batches = token_budget_batches(read.lengths, tokens_per_batch=TOKENS_PER_BATCH)
    with evaluating(student), _single_threads() as pool:
        blocks = list(pool.map(said, batches))
    return np.concatenate(blocks)[np.argsort(np.concatenate(batches))]


@contextmanager
def _single_threads() -> Iterator[ThreadPoolExecutor]:
    """As many threads as PyTorch would have used for one step.

    Measured: the steps of an LSTM are too small to share out; with two threads they took twice as long at best.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(before, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield pool
    finally:
        torch.set_num_threads(before)

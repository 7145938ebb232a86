"""Asking the network that a file was made from, on a GPU: a transformer's file would keep a CPU busy for hours."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoModelForSequenceClassification

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.progress import Bar
from limbeck.runtime.classifier import load
from limbeck.runtime.row import Row
from limbeck.text.student_reader import StudentReader, has_token_types
from limbeck.training.asking import answers_in_batches
from limbeck.training.device import training_device
from limbeck.training.modes import quiet_transformers

Logits = npt.NDArray[np.float32]

TOKENS_PER_BATCH = 65_536
ROWS_ASKED_TWICE = 64  # of the network and of the file
TOLERANCE = 1e-3  # largest difference of a logit between the two, which add up in different orders


def has_fast_network(model: ModelFolder) -> bool:
    """Whether the file is slow on a CPU, its network is at hand on a GPU, and the two say the same but for rounding."""
    facts = model.facts()
    return facts.kind == "transformer" and facts.precision == "fp32" and training_device().type == "cuda"


def network_logits(
    model: ModelFolder, student: StudentFolder, rows: Rows, asked: Sequence[Row], *, bar: Bar
) -> Logits | None:
    """(rows, classes) by the trained network. None if the file itself does not say the same of some of the rows."""
    some = np.unique(np.linspace(0, len(rows) - 1, num=min(ROWS_ASKED_TWICE, len(rows)), dtype=np.int64))
    by_file = load(model.folder).logits([asked[place] for place in some])
    network, facts = _network(student), student.facts
    reader = StudentReader.load(
        student.folder / "tokenizer.json", is_framed=facts.tokenizer == "framed", max_length=facts.max_length
    )
    found = _logits(network, reader, rows.select(some), bar=None)
    if len(some) and np.abs(found - by_file).max() > TOLERANCE:
        return None
    return _logits(network, reader, rows, bar=bar)


def _network(student: StudentFolder) -> Any:
    quiet_transformers()
    network = AutoModelForSequenceClassification.from_pretrained(
        student.folder, local_files_only=True, dtype=torch.float32
    )
    return network.to(training_device())


def _logits(network: Any, reader: StudentReader, rows: Rows, *, bar: Bar | None) -> Logits:
    found = torch.zeros((len(rows), network.config.num_labels), device=training_device())
    asked = answers_in_batches(
        network,
        reader.read(rows.texts, rows.pairs),
        with_types=has_token_types(network.config),
        tokens_per_batch=TOKENS_PER_BATCH,
        bar=bar,
    )
    for places, _, answer in asked:
        found[places] = answer.logits.float()
    logits: Logits = found.cpu().numpy()
    return logits

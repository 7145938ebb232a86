"""The gradients of every loss on one batch, by one process or by several together: what test_together.py compares."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from pydantic import TypeAdapter
from safetensors.torch import save_file
from torch.nn.parallel import DistributedDataParallel
from transformers import BertConfig, BertForSequenceClassification

from limbeck.distillation.objective import Objective
from limbeck.distillation.student_with_objective import LiveTeacher, StudentWithObjective, feature_width, shape_of
from limbeck.distillation.terms.term import Shapes
from limbeck.distillation.training_rows import TrainingRows
from limbeck.kinds import LOSS_KINDS
from limbeck.models.bilstm import bilstm
from limbeck.recipe.kinds import Loss
from limbeck.recipe.student import BiLstm
from limbeck.training.shares import share_of_group
from limbeck.training.token_rows import TokenRows

WORDS, FEATURES, ROWS = 30, 6, 9
BATCHES = {"five rows": [8, 1, 4, 0, 6], "two rows": [3, 7]}  # three processes share neither evenly, two not the first
SETTINGS: dict[str, dict[str, Any]] = {
    "crd": {"negatives": 16},
    "pkd": {"layers": "last"},
    "minilm_v2": {"relation_heads": 2},
    "custom": {"call": "tests.unit.distillation.gradients:spread", "features": True},
}
ON_LAYERS = [kind for kind, row in LOSS_KINDS.items() if row.mean_over]


def spread(student_logits: Any, student_features: Any, teacher_features: Any, **_: Any) -> Any:
    """A loss of a user that is no mean over rows."""
    return student_logits.std() + (student_features.mean() - teacher_features.mean()).square()


def find(job: Mapping[str, Any]) -> None:
    """Write gradients and terms of every loss; in a group, its first process does."""
    found: dict[str, torch.Tensor] = {}
    for name, module, rows in modules():
        for batch, places in BATCHES.items():
            found |= {f"{name}, {batch}: {key}": one for key, one in _of_one(module, rows, np.array(places)).items()}
    if share_of_group().rank == 0:
        save_file(found, str(Path(job["file"])))


def modules() -> Iterator[tuple[str, StudentWithObjective, TrainingRows]]:
    """Each loss with a small student, and rows of different lengths, of which some have no label."""
    for kind, row in LOSS_KINDS.items():
        table = {"kind": kind, **SETTINGS.get(kind, {})}
        (loss,) = TypeAdapter(list[Loss]).validate_python([table])
        for classes in [1] if row.scores == "only" else [3]:
            torch.manual_seed(1)
            student: Any = _bert(layers=2) if kind in ON_LAYERS else _bilstm(classes)
            live = LiveTeacher(_encoder(), reads_attention=True) if kind in ON_LAYERS else None
            rows = _rows(classes)
            shapes = Shapes(
                student_features=feature_width(student),
                teacher_features=FEATURES,
                student_layers=shape_of(student) if live else None,
                teacher_layers=live.shape if live else None,
                is_score=classes == 1,
                row_groups=rows.row_groups(),
            )
            yield kind, StudentWithObjective(student, Objective([loss], shapes), teacher=live), rows


def _of_one(module: StudentWithObjective, rows: TrainingRows, places: Any) -> dict[str, torch.Tensor]:
    share = share_of_group()
    module.zero_grad()
    run: Any = module if share.is_all else DistributedDataParallel(module, find_unused_parameters=True)
    (term,) = run(rows, places, 0.5).values()
    term.backward()
    value = term.detach().clone()
    if not share.is_all:
        torch.distributed.all_reduce(value)
    gradients = {name: one.grad.clone() for name, one in module.named_parameters() if one.grad is not None}
    return {**gradients, "term": value / share.processes}


def _rows(classes: int) -> TrainingRows:
    dice = torch.Generator().manual_seed(2)
    lengths = [3, 9, 1, 5, 12, 2, 7, 4, 6]
    ids = [torch.randint(2, WORDS, (length,), generator=dice).tolist() for length in lengths]
    labels = torch.tensor([0, 1, 2, -1, 1, 0, -1, 2, 0])
    return TrainingRows(
        {"input_ids": TokenRows.of([ids], device=torch.device("cpu"))},
        pad=0,
        labels=labels.float() if classes == 1 else labels,
        teacher_logits=torch.randn(ROWS, classes, generator=dice),
        teacher_features=torch.randn(ROWS, FEATURES, generator=dice).half(),
        row_numbers=torch.arange(ROWS),
    )


def _bilstm(classes: int) -> Any:
    keys = {"hidden_size": 5, "dense_size": 4, "embedding_size": 6, "dropout": 0.0}
    labels = [str(number) for number in range(classes)]
    section = BiLstm.model_validate(keys)
    network = bilstm(section, vocabulary_size=WORDS, embedding_size=6, labels=labels, pair=False)
    with torch.no_grad():  # as drawn, its logits hardly differ, and what standardises them multiplies the rounding
        for weight in network.parameters():
            weight.mul_(3.0)
    return network


def _bert(*, layers: int) -> Any:
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=8,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=12,
        max_position_embeddings=16,
        num_labels=3,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.5,
    )
    return BertForSequenceClassification(config)


def _encoder() -> Any:
    tokenizer = SimpleNamespace(model_input_names=["input_ids", "attention_mask"])
    return SimpleNamespace(model=_bert(layers=3), arithmetic="fp32", tokenizer=tokenizer)

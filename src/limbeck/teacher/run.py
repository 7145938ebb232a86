"""Room 2: fine-tune the teacher on the corpus, or its head alone."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import WORK, Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.artifacts.whole import written_whole
from limbeck.models.size import parameter_count, parameter_count_without_embeddings
from limbeck.progress import Reporter
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.teacher.checkpoint import find_checkpoint
from limbeck.teacher.encoder import Encoder, load_encoder
from limbeck.training.batches import length_batches
from limbeck.training.device import choose_arithmetic
from limbeck.training.loop import train
from limbeck.training.modes import evaluating


def prepare_teacher(
    section: EncoderTeacher, *, corpus: Corpus, out: Path, key: Key, reporter: Reporter
) -> TeacherFolder:
    """Fine-tune the checkpoint on train, keep the best epoch by dev, and save it as a Hugging Face folder."""
    torch.manual_seed(section.seed)  # the head's initial weights
    encoder = load_encoder(
        find_checkpoint(section.checkpoint),
        max_length=section.max_length,
        arithmetic=choose_arithmetic(section.precision),
        labels=corpus.labels,
    )
    if section.train == "head":
        _freeze_encoder(encoder)
    with written_whole(out, kind="teacher", key=key) as scratch:
        history = _fine_tune(encoder, section, corpus=corpus, work=scratch / WORK, reporter=reporter)
        encoder.save(scratch)
        best = max(entry["dev_accuracy"] for entry in history)
        facts = TeacherFacts(
            name=Path(section.checkpoint).name,
            labels=corpus.labels,
            max_length=encoder.max_length,
            precision=encoder.arithmetic,
            parameters=parameter_count(encoder.model),
            parameters_without_embeddings=parameter_count_without_embeddings(encoder.model),
            dev_accuracy=best,
        )
        save_teacher_facts(scratch, facts)
        (scratch / "history.json").write_text(json.dumps(history, indent=1), encoding="utf-8")
    reporter.note(f"  teacher {facts.name}: {best:.1%} on dev, {facts.parameters / 1e6:.1f}M parameters")
    return TeacherFolder(out)


def _freeze_encoder(encoder: Encoder) -> None:
    """Everything below the classification head stands still, but for what the checkpoint did not bring (a pooler)."""
    below = {id(parameter) for parameter in encoder.model.base_model.parameters()}
    for name, parameter in encoder.model.named_parameters():
        parameter.requires_grad_(id(parameter) not in below or name in encoder.fresh)


def _fine_tune(
    encoder: Encoder, section: EncoderTeacher, *, corpus: Corpus, work: Path, reporter: Reporter
) -> list[dict[str, Any]]:
    rows = corpus.splits["train"]
    tokens = encoder.tokenise(rows.texts, rows.pairs)
    lengths = np.array([len(row["input_ids"]) for row in tokens], dtype=np.int64)
    labels = torch.from_numpy(rows.labels)

    def batches(epoch: int) -> list[npt.NDArray[np.int64]]:
        return length_batches(lengths, batch_size=section.batch_size, seed=section.seed, epoch=epoch)

    def losses(model: nn.Module, places: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        logits = model(**encoder.batch([tokens[place] for place in places])).logits
        return {"hard_labels": F.cross_entropy(logits.float(), labels[places].to(logits.device))}

    def validate(model: nn.Module) -> dict[str, float]:
        with evaluating(model):
            return _judge(encoder, corpus.splits["dev"])

    progress = train(
        encoder.model,
        section,
        arithmetic=encoder.arithmetic,
        batches=batches,
        losses=losses,
        validate=validate,
        work=work,
        reporter=reporter,
        what=f"fine-tuning {Path(section.checkpoint).name} ({encoder.arithmetic})",
    )
    return progress.history


def _judge(encoder: Encoder, rows: Rows) -> dict[str, float]:
    logits = torch.from_numpy(encoder.logits(rows.texts, rows.pairs))
    labels = torch.from_numpy(rows.labels)
    return {
        "dev_accuracy": float((logits.argmax(dim=1) == labels).float().mean()),
        "dev_loss": float(F.cross_entropy(logits, labels)),
    }

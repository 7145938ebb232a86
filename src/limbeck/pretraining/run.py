"""Continued pretraining: trains the encoder further on masked words of the task's texts; saves it with its head."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import WORK, Key
from limbeck.artifacts.pretrained_folder import PretrainedFolder
from limbeck.artifacts.rows import Rows
from limbeck.models.checkpoint import find_checkpoint
from limbeck.pretraining.loading import MaskedLM, PretrainingImpossible, load_masked_lm, masked_lm_tokenizer
from limbeck.pretraining.masked_lm import TRAINING, evaluate_masked_lm, masked_lm_loss, masked_texts
from limbeck.pretraining.texts import Places, TextRows, chosen_texts, token_rows
from limbeck.progress import Reporter
from limbeck.recipe.teacher import AnyTeacher, EncoderTeacher, Pretraining, each_teacher
from limbeck.training.batches import length_batches
from limbeck.training.device import choose_arithmetic, training_device
from limbeck.training.loop import train
from limbeck.training.masking import MaskingVocabulary
from limbeck.training.tracks import NO_TRACKS, Tracks

__all__ = ["pretrain"]

KEPT = ("epoch", "loss", "held_back_loss", "held_back_accuracy")
History = list[dict[str, Any]]


def pretrain(
    section: Pretraining,
    *,
    checkpoint: str,
    max_length: int,
    parts: Sequence[Rows],
    out: Path,
    key: Key,
    reporter: Reporter,
    tracks: Tracks = NO_TRACKS,
) -> PretrainedFolder:
    """The checkpoint after training on masked words in the texts of all parts.

    `max_length` is the teacher's, used if the section has none. A run that was killed continues from its last
    checkpoint, and arrives at the same weights.
    """
    torch.manual_seed(section.seed)
    folder = find_checkpoint(checkpoint)
    masked_lm = load_masked_lm(folder, name=checkpoint, max_length=section.max_length or max_length)
    texts = _texts(section, parts, masked_lm, checkpoint=checkpoint, reporter=reporter)
    with written_atomically(out, kind="pretrained", key=key) as scratch:
        what = f"pretraining {Path(checkpoint).name}"
        history = _train(masked_lm, section, texts, work=scratch / WORK, reporter=reporter, tracks=tracks, what=what)
        masked_lm.save(scratch)
        (scratch / "history.json").write_text(json.dumps(history, indent=1), encoding="utf-8")
    _report(history, texts, masked_lm, what=what, reporter=reporter)
    return PretrainedFolder(out)


def _texts(
    section: Pretraining, parts: Sequence[Rows], masked_lm: MaskedLM, *, checkpoint: str, reporter: Reporter
) -> TextRows:
    rows = chosen_texts(parts, max_rows=section.max_rows, seed=section.seed)
    texts = token_rows(rows, masked_lm.tokenizer, max_length=masked_lm.max_length, seed=section.seed, reporter=reporter)
    if not len(texts.read):
        raise PretrainingImpossible(
            checkpoint=checkpoint,
            reason=f"of {len(rows):,} texts, {len(texts.held_back):,} have a word in its vocabulary",
            advice="Give more text, or name a checkpoint that was trained on this language.",
        )
    return texts


def _train(
    masked_lm: MaskedLM,
    section: Pretraining,
    texts: TextRows,
    *,
    work: Path,
    reporter: Reporter,
    tracks: Tracks,
    what: str,
) -> History:
    """Leave the weights of the last epoch in the model; returns the evaluation before training and after each epoch."""
    tokens, arithmetic, device = (
        MaskingVocabulary.of(masked_lm.tokenizer),
        choose_arithmetic(section.precision),
        training_device(),
    )
    lengths = texts.lengths[texts.read]

    def batches(epoch: int) -> list[Places]:
        """Numbers unique to the epoch: text and mask follow from them, so a killed run continues with the same ones."""
        own = length_batches(lengths, batch_size=section.batch_size, seed=section.seed, epoch=epoch)
        return [places + epoch * len(lengths) for places in own]

    def losses(model: Any, numbers: Places, _done: float) -> dict[str, Tensor]:
        inputs, targets = masked_texts(
            texts,
            texts.read[numbers % len(lengths)],
            tokens,
            fraction=section.masked_fraction,
            seed=[section.seed, TRAINING, int(numbers[0])],
            device=device,
        )
        return {"masked_words": masked_lm_loss(model, inputs, targets)}

    def judge(model: Any) -> dict[str, float]:
        found = evaluate_masked_lm(
            model, texts, tokens, fraction=section.masked_fraction, seed=section.seed, arithmetic=arithmetic
        )
        return {
            **found,
            "dev_loss": found["held_back_loss"],
        }  # the key that the training loop reads; here it is not of dev

    before = judge(masked_lm.model.to(device))
    progress = train(
        masked_lm.model,
        section,
        arithmetic=arithmetic,
        batches=batches,
        losses=losses,
        validate=judge,
        work_folder=work,
        reporter=reporter,
        what=f"{what} ({arithmetic})",
        tracks=tracks,
        keep="last",
    )
    return [{key: entry[key] for key in KEPT if key in entry} for entry in [{"epoch": 0, **before}, *progress.history]]


def _report(history: History, texts: TextRows, masked_lm: MaskedLM, *, what: str, reporter: Reporter) -> None:
    before, after = history[0], history[-1]
    new_head = (
        "; the checkpoint has no head for masked words, so a new one was initialised" if masked_lm.has_new_head else ""
    )
    reporter.note(
        f"  {what}: {len(texts.read):,} texts read; in {len(texts.held_back):,} held back the loss was "
        f"{before['held_back_loss']:.3f} before and is {after['held_back_loss']:.3f} after, with "
        f"{before['held_back_accuracy']:.1%} and {after['held_back_accuracy']:.1%} predicted right{new_head}"
    )


def refuse_pretraining(teacher: AnyTeacher) -> None:
    """Raise before any data is read if a checkpoint cannot be pretrained on masked words."""
    encoders = [
        member
        for member in each_teacher(teacher)
        if isinstance(member, EncoderTeacher) and member.pretraining is not None
    ]
    for checkpoint in dict.fromkeys(encoder.checkpoint for encoder in encoders):
        masked_lm_tokenizer(find_checkpoint(checkpoint), name=checkpoint)

"""Continued pretraining: the encoder goes on guessing masked words, in the texts of its task; saved with its head."""

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
from limbeck.pretraining.guessing import TRAINING, guessing_loss, judge_guesses, masked_texts
from limbeck.pretraining.loading import Guesser, PretrainingImpossible, guessing_tokenizer, load_guesser
from limbeck.pretraining.masking import MaskingVocabulary
from limbeck.pretraining.texts import Places, TextRows, chosen_texts, token_rows
from limbeck.progress import Reporter
from limbeck.recipe.teacher import AnyTeacher, EncoderTeacher, Pretraining, each_teacher
from limbeck.training.batches import length_batches
from limbeck.training.device import choose_arithmetic, training_device
from limbeck.training.loop import train
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
    """The checkpoint after so many epochs of guessing masked words in the texts of all parts.

    `max_length` is the teacher's, which counts where the section has none. What is killed goes on from its last
    checkpoint, and comes to the same weights.
    """
    torch.manual_seed(section.seed)
    folder = find_checkpoint(checkpoint)
    guesser = load_guesser(folder, name=checkpoint, max_length=section.max_length or max_length)
    texts = _texts(section, parts, guesser, checkpoint=checkpoint, reporter=reporter)
    with written_atomically(out, kind="pretrained", key=key) as scratch:
        what = f"pretraining {Path(checkpoint).name}"
        history = _go_on(guesser, section, texts, work=scratch / WORK, reporter=reporter, tracks=tracks, what=what)
        guesser.save(scratch)
        (scratch / "history.json").write_text(json.dumps(history, indent=1), encoding="utf-8")
    _tell(history, texts, guesser, what=what, reporter=reporter)
    return PretrainedFolder(out)


def _texts(
    section: Pretraining, parts: Sequence[Rows], guesser: Guesser, *, checkpoint: str, reporter: Reporter
) -> TextRows:
    rows = chosen_texts(parts, max_rows=section.max_rows, seed=section.seed)
    texts = token_rows(rows, guesser.tokenizer, max_length=guesser.max_length, seed=section.seed, reporter=reporter)
    if not len(texts.read):
        raise PretrainingImpossible(
            checkpoint=checkpoint,
            reason=f"of {len(rows):,} texts, {len(texts.held_back):,} have a word that its tokenizer knows",
            advice="Give more text, or name a checkpoint that was made for this language.",
        )
    return texts


def _go_on(
    guesser: Guesser,
    section: Pretraining,
    texts: TextRows,
    *,
    work: Path,
    reporter: Reporter,
    tracks: Tracks,
    what: str,
) -> History:
    """Leave the weights of the last epoch in the model; returns what was found before, and after every epoch."""
    tokens, arithmetic, device = (
        MaskingVocabulary.of(guesser.tokenizer),
        choose_arithmetic(section.precision),
        training_device(),
    )
    lengths = texts.lengths[texts.read]

    def batches(epoch: int) -> list[Places]:
        """Numbers that no other epoch has: mask and text of each follow from it, wherever a killed training goes on."""
        own = length_batches(lengths, batch_size=section.batch_size, seed=section.seed, epoch=epoch)
        return [places + epoch * len(lengths) for places in own]

    def losses(model: Any, numbers: Places, _done: float) -> dict[str, Tensor]:
        inputs, guesses = masked_texts(
            texts,
            texts.read[numbers % len(lengths)],
            tokens,
            fraction=section.masked_fraction,
            seed=[section.seed, TRAINING, int(numbers[0])],
            device=device,
        )
        return {"masked_words": guessing_loss(model, inputs, guesses)}

    def judge(model: Any) -> dict[str, float]:
        found = judge_guesses(
            model, texts, tokens, fraction=section.masked_fraction, seed=section.seed, arithmetic=arithmetic
        )
        return {**found, "dev_loss": found["held_back_loss"]}  # which the loop looks at, and which is not of dev here

    before = judge(guesser.model.to(device))
    progress = train(
        guesser.model,
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


def _tell(history: History, texts: TextRows, guesser: Guesser, *, what: str, reporter: Reporter) -> None:
    before, after = history[0], history[-1]
    fresh = "; the checkpoint has no head for masked words, so one started fresh" if guesser.has_fresh_head else ""
    reporter.note(
        f"  {what}: {len(texts.read):,} texts read; in {len(texts.held_back):,} held back the loss was "
        f"{before['held_back_loss']:.3f} before and is {after['held_back_loss']:.3f} after, with "
        f"{before['held_back_accuracy']:.1%} and {after['held_back_accuracy']:.1%} guessed right{fresh}"
    )


def refuse_pretraining(teacher: AnyTeacher) -> None:
    """Raise what pretraining would raise after the data was read: not every checkpoint can guess masked words."""
    encoders = [
        member
        for member in each_teacher(teacher)
        if isinstance(member, EncoderTeacher) and member.pretraining is not None
    ]
    for checkpoint in dict.fromkeys(encoder.checkpoint for encoder in encoders):
        guessing_tokenizer(find_checkpoint(checkpoint), name=checkpoint)

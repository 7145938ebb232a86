"""Room 5: train one student, for one seed; distilled from the teacher, or alone as the baseline."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import WORK, Key
from limbeck.artifacts.rows import Rows, joined
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder, save_student_facts
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.artifacts.whole import written_whole
from limbeck.distillation.losses.objective import Objective
from limbeck.models.bilstm import PAD, BiLstmForSequenceClassification, bilstm
from limbeck.models.size import parameter_count, parameter_count_without_embeddings
from limbeck.progress import Reporter
from limbeck.recipe.distillation import Distillation, HardLabels, Loss
from limbeck.recipe.student import BiLstm
from limbeck.text.student_tokenizer import StudentTokenizer
from limbeck.training.batches import length_batches, token_budget_batches
from limbeck.training.device import choose_arithmetic, sent, training_device
from limbeck.training.loop import Progress, train
from limbeck.training.modes import evaluating, quiet_transformers
from limbeck.training.skill import judged
from limbeck.training.token_rows import TokenRows
from limbeck.training.tracks import NO_TRACKS, Tracks

Role = Literal["student", "baseline"]
TOKENS_PER_BATCH = 16384  # for the judging on dev
ROWS_AT_ONCE = 65_536  # whose texts are in memory while they are tokenised


@dataclass(frozen=True)
class Lessons:
    """What a student is trained on: rows as tokens, their labels, and what the teacher said (nothing, if alone)."""

    texts: TokenRows
    pairs: TokenRows | None
    labels: Tensor  # (rows), or (rows, classes) with several labels a row; -1 where there is none
    teacher_logits: Tensor  # (rows, classes)

    def inputs(self, places: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        """The model's inputs for these rows."""
        ids, mask = self.texts.batch(places, pad=PAD)
        if self.pairs is None:
            return {"input_ids": ids, "attention_mask": mask}
        pair_ids, pair_mask = self.pairs.batch(places, pad=PAD)
        return {"input_ids": ids, "attention_mask": mask, "pair_ids": pair_ids, "pair_mask": pair_mask}

    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each row; of a pair, those of the longer text."""
        return self.texts.lengths if self.pairs is None else np.maximum(self.texts.lengths, self.pairs.lengths)


def train_student(
    section: Distillation,
    *,
    student: BiLstm,
    role: Role,
    seed: int,
    corpus: Corpus,
    extra: Sequence[Rows],
    labels: TeacherLabels | None,
    vocabulary: VocabularyFolder,
    out: Path,
    key: Key,
    reporter: Reporter,
    tracks: Tracks = NO_TRACKS,
) -> StudentFolder:
    """Train a student for one seed, on train and `extra` rows, and keep its best epoch by dev.

    The baseline sees the labelled rows and their labels, and nothing that comes from the teacher: word vectors
    that the teacher made are replaced by random ones, which learn in any case: random ones that stand still would
    make the gain look larger than it is. Rows that the teacher has said nothing of are left out of distillation.
    """
    quiet_transformers()
    device = training_device()
    tokenizer = StudentTokenizer.load(vocabulary.tokenizer)
    name = student.kind if role == "student" else f"{student.kind}-alone"
    torch.manual_seed(seed)
    model = _fresh_student(student, role=role, vocabulary=vocabulary, corpus=corpus)
    rows = _rows_of(corpus, extra, labels)
    lessons = _lessons(rows, labels, corpus=corpus, student=student, tokenizer=tokenizer, device=device)
    dev = _lessons(corpus.splits["dev"], None, corpus=corpus, student=student, tokenizer=tokenizer, device=device)
    with written_whole(out, kind="student", key=key) as scratch:
        progress = _learn(
            model,
            section,
            objective=_objective(section, corpus=corpus, alone=labels is None, device=device),
            lessons=lessons,
            dev=dev,
            seed=seed,
            work=scratch / WORK,
            reporter=reporter,
            name=name,
            tracks=tracks,
        )
        model.cpu().save_pretrained(scratch)
        shutil.copyfile(vocabulary.tokenizer, scratch / "tokenizer.json")
        facts = StudentFacts(
            name=name,
            kind=student.kind,
            role=role,
            seed=seed,
            labels=corpus.labels,
            language=corpus.language,
            pair=corpus.is_pair,
            max_length=student.max_length,
            parameters=parameter_count(model),
            parameters_without_embeddings=parameter_count_without_embeddings(model),
            best_epoch=progress.best_epoch + 1,
            dev_accuracy=progress.history[progress.best_epoch]["dev_accuracy"],
            multi_label=corpus.is_multi_label,
            dev_score=progress.history[progress.best_epoch]["dev_score"],
        )
        save_student_facts(scratch, facts, history=progress.history)
    reporter.note(f"  {name}, seed {seed}: {facts.dev_accuracy:.1%} on dev after epoch {facts.best_epoch}")
    return StudentFolder(out)


def _fresh_student(
    student: BiLstm, *, role: Role, vocabulary: VocabularyFolder, corpus: Corpus
) -> BiLstmForSequenceClassification:
    facts, vectors = vocabulary.facts, vocabulary.vectors()
    if role == "baseline" and student.word_vectors == "teacher":
        student, vectors = student.model_copy(update={"tune_vectors": True}), None
    model = bilstm(
        student,
        vocabulary_size=facts["tokens"],
        embedding_size=facts["width"],
        labels=corpus.labels,
        pair=corpus.is_pair,
        multi_label=corpus.is_multi_label,
    )
    if vectors is not None:
        with torch.no_grad():
            model.embeddings.weight.copy_(torch.from_numpy(vectors))
    return model


def _rows_of(corpus: Corpus, extra: Sequence[Rows], labels: TeacherLabels | None) -> Rows:
    """What the student is trained on: alone the labelled rows, else all rows that the teacher has spoken about."""
    if labels is None:
        return corpus.splits["train"]
    rows = joined([corpus.splits["train"], *extra])
    if not any(labels.facts.get("uncovered", {}).values()):
        return rows
    return rows.select(np.flatnonzero(labels.covers(rows.ids)))


def _objective(section: Distillation, *, corpus: Corpus, alone: bool, device: torch.device) -> Objective:
    weights = None if corpus.class_weights is None else torch.tensor(corpus.class_weights, device=device)
    losses: list[Loss] = [HardLabels(kind="hard_labels")] if alone else list(section.losses)
    return Objective(losses, multi_label=corpus.is_multi_label, class_weights=weights)


def _lessons(
    rows: Rows,
    labels: TeacherLabels | None,
    *,
    corpus: Corpus,
    student: BiLstm,
    tokenizer: StudentTokenizer,
    device: torch.device,
) -> Lessons:
    def tokens(column: Literal["texts", "pairs"]) -> TokenRows:
        blocks = (getattr(block, column) for block in rows.slices(ROWS_AT_ONCE))
        return TokenRows.of((tokenizer.encode(block, max_length=student.max_length) for block in blocks), device=device)

    said: npt.NDArray[Any] = (
        labels.for_rows(rows.ids) if labels else np.zeros((len(rows), len(corpus.labels)), dtype=np.float32)
    )
    return Lessons(
        texts=tokens("texts"),
        pairs=tokens("pairs") if rows.is_pair else None,
        labels=torch.from_numpy(rows.labels.copy()).to(device),
        teacher_logits=torch.from_numpy(said).to(device),
    )


def _learn(
    model: nn.Module,
    section: Distillation,
    *,
    objective: Objective,
    lessons: Lessons,
    dev: Lessons,
    seed: int,
    work: Path,
    reporter: Reporter,
    name: str,
    tracks: Tracks,
) -> Progress:
    lengths = lessons.lengths()

    def batches(epoch: int) -> list[npt.NDArray[np.int64]]:
        return length_batches(lengths, batch_size=section.batch_size, seed=seed, epoch=epoch)

    def losses(model: nn.Module, places: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        chosen = sent(torch.from_numpy(places), lessons.labels.device)
        return objective.terms(
            student_logits=model(**lessons.inputs(places)).logits,
            teacher_logits=lessons.teacher_logits[chosen],
            labels=lessons.labels[chosen],
        )

    return train(
        model,
        section,
        arithmetic=choose_arithmetic(section.precision),
        batches=batches,
        losses=losses,
        validate=lambda model: _judge(model, dev),
        work=work,
        reporter=reporter,
        what=f"training {name}, seed {seed}",
        tracks=tracks,
    )


def _judge(model: nn.Module, dev: Lessons) -> dict[str, float]:
    logits = torch.zeros_like(dev.teacher_logits)
    with evaluating(model):
        for places in token_budget_batches(dev.lengths(), tokens_per_batch=TOKENS_PER_BATCH):
            chosen = sent(torch.from_numpy(places), logits.device)
            logits[chosen] = model(**dev.inputs(places)).logits.float()
    return judged(logits.cpu().numpy(), dev.labels.cpu().numpy())

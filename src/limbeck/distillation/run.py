"""Room 5: train one student, for one seed; distilled from the teacher, or alone as the baseline."""

import json
import shutil
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.general_folder import GeneralFolder
from limbeck.artifacts.manifest import WORK, Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder, save_student_facts
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.distillation.attempts import Attempt, train_until_learned
from limbeck.distillation.checkpoint_start import what_is_taken
from limbeck.distillation.new_student import is_finished_at_start, new_student, not_taken_over
from limbeck.distillation.objective import Objective, weak_terms
from limbeck.distillation.pruning import Pruner, share_of_zeros
from limbeck.distillation.stages import Training, own_settings, trainings_of
from limbeck.distillation.student_files import Role, facts_of, history_of, write_tokenizer_config
from limbeck.distillation.student_with_objective import (
    LiveTeacher,
    StudentWithObjective,
    can_be_captured,
    feature_width,
    inputs_of,
    shape_of,
    train_paraphrasers,
)
from limbeck.distillation.terms.term import Shapes
from limbeck.distillation.training_rows import Places, TrainingRows, rows_to_train_on, training_rows_of
from limbeck.kinds import STUDENT_KINDS
from limbeck.models.folding import folded
from limbeck.models.size import position_count
from limbeck.progress import Reporter
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.losses import LayerLoss, needs_of
from limbeck.recipe.student import AnyStudent, Ngrams, Transformer, WordStudent
from limbeck.training.batches import length_batches, mixed_batches, token_budget_batches
from limbeck.training.cuda_graphs import Slots
from limbeck.training.device import choose_arithmetic, refuse_bf16_recurrence, training_device
from limbeck.training.epochs import Progress, on_dev
from limbeck.training.loop import train
from limbeck.training.modes import evaluating, quiet_transformers
from limbeck.training.shares import from_first_process, share_of_group, wait_for_first_process
from limbeck.training.skill import guessing, judged
from limbeck.training.tracks import NO_TRACKS, Tracks

TOKENS_PER_BATCH = 16384  # for the evaluation on dev


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that a transformer starts from in the place of its teacher."""

    name: str
    open: Callable[[], tuple[Any, Collection[str]]]  # a classifier, and the names of weights that are not in its files


@dataclass(frozen=True)
class Origins:
    """Encoders that a student may start from, or that run during its training; each is opened only when needed."""

    start_from: Callable[[], Any] | None = None  # a transformers classifier that a transformer is initialised from
    checkpoint: Checkpoint | None = None  # instead
    teacher: Callable[[], Any] | None = None  # the encoder itself, for losses on its layers
    general: GeneralFolder | None = None  # that a student of words starts from


NO_ORIGINS = Origins()


def train_student(
    section: Distillation,
    *,
    student: AnyStudent,
    role: Role,
    seed: int,
    corpus: Corpus,
    extra: Sequence[Rows],
    labels: TeacherLabels | None,
    vocabulary: VocabularyFolder,
    out: Path,
    key: Key,
    reporter: Reporter,
    foreign: Sequence[Rows] = (),
    tracks: Tracks = NO_TRACKS,
    origins: Origins = NO_ORIGINS,
) -> StudentFolder:
    """Train a student for one seed, on train and `extra` rows, and keep its best epoch on dev.

    The baseline is trained on the labelled rows and their labels, and on nothing that comes from the teacher. Rows
    without the teacher's labels are not used for distillation. `foreign` rows have equal probabilities for all labels.
    In a group of processes (limbeck.training.processes) all train it together, and the first one writes it.
    """
    quiet_transformers()
    device = training_device()
    alone, name = role == "baseline", student.kind if role == "student" else f"{student.kind}-alone"
    new = partial(_seeded_student, student, seed, alone=alone, vocabulary=vocabulary, corpus=corpus, origins=origins)
    model = new(reporter=reporter)
    is_fitted = is_finished_at_start(student, vocabulary)
    max_length = min(student.max_length, position_count(model) or student.max_length)
    tokenise = partial(
        training_rows_of,
        tokenizer=vocabulary.tokenizer,
        kind=STUDENT_KINDS[student.kind].tokenizer,
        classes=len(corpus.labels),
        max_length=max_length,
        with_features=not alone and "features" in section.needs,
        with_numbers=not alone and "rows" in section.needs,
        device=device,
    )
    setup = TrainingSetup(
        training_rows=tokenise(rows_to_train_on(corpus, extra, labels), labels, foreign=foreign),
        dev=tokenise(corpus.splits["dev"], None),
        corpus=corpus,
        teacher=origins.teacher,
        seed=seed,
        name=name,
        reporter=reporter,
        tracks=tracks,
        may_keep_start=isinstance(student, Ngrams),
        start_share=student.start_share if isinstance(student, Ngrams) and is_fitted and has_one_mean(section) else 0.0,
    )
    if origins.general is not None and isinstance(student, WordStudent):
        _note_start(student, origins.general, reporter, name=name)
    is_written_here = share_of_group().rank == 0
    with written_atomically(out, kind="student", key=key, is_ours=is_written_here) as scratch:
        trainings = trainings_of(section.model_copy(update=own_settings(student)), alone=alone, is_fitted=is_fitted)

        def train_with(factor: float, folder: str) -> Attempt:
            return setup.attempt(
                new() if folder else model, trainings, factor=factor, work_folder=scratch / WORK / folder
            )

        wait_for_first_process()  # which makes the folder
        kept, attempts = train_until_learned(
            train_with, name=f"{name}, seed {seed}", reporter=reporter, has_rate=not (alone and is_fitted)
        )
        if not is_written_here:
            return StudentFolder(out)
        finished, trained = kept.finished, folded(kept.model.cpu())
        trained.save_pretrained(scratch)
        shutil.copyfile(vocabulary.tokenizer, scratch / "tokenizer.json")
        if not isinstance(student, Ngrams):  # transformers cannot read its tokenizer.json
            write_tokenizer_config(scratch, trained, max_length=max_length)
        facts = facts_of(
            trained, student, role=role, seed=seed, name=name, corpus=corpus, max_length=max_length, finished=finished
        )
        tried = [
            one.facts
            for one in attempts
            if len(attempts) > 1 or kept.learning_rate != trainings[-1].settings.learning_rate
        ]
        zeros = None if section.pruning is None else share_of_zeros(trained)
        facts = replace(facts, near_chance=kept.problem, attempts=tried, sparsity=zeros)
        save_student_facts(scratch, facts, history=history_of(finished))
        (scratch / "losses.json").write_text(json.dumps([progress.points for progress in finished]), encoding="utf-8")
    start = ", as it was fitted" if alone and is_fitted else " at the start, and no epoch was better"
    after = f" after epoch {facts.best_epoch}" if facts.best_epoch else start
    reporter.note(f"  {name}, seed {seed}: {on_dev(kept.best, after=after)}")
    for note in [] if alone else weak_terms(history_of(finished)):
        reporter.note(f"  {note}")
    return StudentFolder(out)


def _note_start(student: WordStudent, general: GeneralFolder, reporter: Reporter, *, name: str) -> None:
    """Whether the body of the general student is taken over, and if not, why."""
    start = f"the general student {general.facts.name}"
    if why_not := not_taken_over(student, general):
        text = f"{name} has the words of {start} alone, and not its body, as it has {', '.join(why_not)}"
        reporter.note(f"  warning: {text}", style="warning")
    else:
        reporter.note(f"  {name} starts with the body of {start}")


def _seeded_student(
    student: AnyStudent,
    seed: int,
    *,
    alone: bool,
    vocabulary: VocabularyFolder,
    corpus: Corpus,
    origins: Origins,
    reporter: Reporter | None = None,
) -> Any:
    """The new student; everything random from here on depends on the seed. With a reporter it says what it took."""
    start_from = origins.start_from() if origins.start_from else None
    if origins.checkpoint is not None:
        torch.manual_seed(seed)  # what its files lack, such as a head, is drawn while it is opened
        start_from, new_parts = origins.checkpoint.open()
        assert isinstance(student, Transformer), "only transformers start from checkpoints"
        if reporter is not None:
            own_name = f"{student.kind}-alone" if alone else student.kind
            text = what_is_taken(student, start_from, new_parts=new_parts, labels=corpus.labels)
            reporter.note(f"  {own_name} starts from {origins.checkpoint.name}: {text}")
    torch.manual_seed(seed)  # only now: opening a checkpoint draws random numbers, or sets its own seed
    return new_student(
        student,
        alone=alone,
        vocabulary=vocabulary,
        corpus=corpus,
        start_from=start_from,
        general=origins.general,
    )


def has_one_mean(section: Distillation) -> bool:
    """Whether a mean with the start is well defined: no other mean is asked for, and no stage comes after it."""
    return section.average is None and not section.stages


@dataclass(frozen=True)
class TrainingSetup:
    """What all trainings of one student have in common."""

    training_rows: TrainingRows
    dev: TrainingRows
    corpus: Corpus
    teacher: Callable[[], Any] | None
    seed: int
    name: str
    reporter: Reporter
    tracks: Tracks
    may_keep_start: bool = False
    start_share: float = 0.0  # of the start in the weights that are kept

    def attempt(self, model: Any, trainings: Sequence[Training], *, factor: float, work_folder: Path) -> Attempt:
        """Run all trainings with `factor` times their learning rates."""
        rates = [training.settings.learning_rate * factor for training in trainings]
        finished = [
            self.train(
                model,
                training.at_rate(rate),
                work_folder=work_folder / training.folder,
                may_keep_start=self.may_keep_start and training.judged_by_dev,
            )
            for training, rate in zip(trainings, rates, strict=True)
        ]
        problem = ""
        if trainings[-1].judged_by_dev:
            problem = from_first_process(
                lambda: guessing(dev_logits(model, self.dev), self.dev.labels.cpu().numpy(), names=self.corpus.labels)
            )
        return Attempt(model, finished, rates[-1], problem)

    def train(self, model: Any, training: Training, *, work_folder: Path, may_keep_start: bool = False) -> Progress:
        """Run one training; its best or last weights are then in the model."""
        device, section = self.training_rows.labels.device, training.settings
        work_folder.mkdir(parents=True, exist_ok=True)
        trained = self._student_with_objective(model, training).to(device)
        lengths = self.training_rows.lengths()

        def batches(epoch: int) -> list[npt.NDArray[np.int64]]:
            size = {"batch_size": section.batch_size, "seed": self.seed, "epoch": epoch}
            if section.batches == "mixed":
                return mixed_batches(len(lengths), **size)
            return length_batches(lengths, **size)

        def losses(trained: nn.Module, places: Places | Slots, done: float) -> dict[str, Tensor]:
            terms: dict[str, Tensor] = trained(self.training_rows, places, done)
            return terms

        arithmetic = choose_arithmetic(section.precision)
        is_recurrent = any(isinstance(layer, nn.RNNBase) for layer in model.modules())
        refuse_bf16_recurrence(arithmetic, is_recurrent=is_recurrent)

        def judge_here() -> dict[str, float]:
            return judge(model, self.dev, by_macro_f1=self.corpus.is_uneven)

        def validate(trained: nn.Module) -> dict[str, float]:
            if not isinstance(trained, StudentWithObjective) or trained.pruner is None:
                return judge_here()
            trained.pruner.after_step(model)
            return {**judge_here(), "sparsity": trained.pruner.sparsity}

        return train(
            trained,
            section,
            arithmetic=arithmetic,
            batches=batches,
            losses=losses,
            validate=validate,
            work_folder=work_folder,
            reporter=self.reporter,
            what=f"training {self.name}, seed {self.seed}{training.title}",
            tracks=self.tracks,
            keep=section.keep if training.judged_by_dev else "last",
            average=section.average,
            start_share=self.start_share,
            widths=self.training_rows.all_widths()
            if can_be_captured(model, training.losses) and not section.pruning
            else None,
            judge_start=judge_here if may_keep_start else None,
            optimizer=section.optimizer,
            losses_share=True,
        )

    def _student_with_objective(self, model: Any, training: Training) -> StudentWithObjective:
        needs = frozenset().union(*(needs_of(loss) for loss in training.losses))
        attention = any(isinstance(loss, LayerLoss) and loss.reads_attention for loss in training.losses)
        live = LiveTeacher(self.teacher(), reads_attention=attention) if "layers" in needs and self.teacher else None
        features = self.training_rows.teacher_features
        weights = self.corpus.class_weights
        shapes = Shapes(
            student_features=feature_width(model),
            teacher_features=None if features is None else features.shape[1],
            student_layers=shape_of(model) if live else None,
            teacher_layers=live.shape if live else None,
            multi_label=self.corpus.is_multi_label,
            is_score=not self.corpus.task.has_classes,
            class_weights=None if weights is None else torch.tensor(weights),
            row_groups=self.training_rows.row_groups(),
        )
        objective = Objective(training.losses, shapes)
        if features is not None:
            train_paraphrasers(objective, features, seed=self.seed, reporter=self.reporter)
        return StudentWithObjective(model, objective, teacher=live, pruner=self._pruner(model, training.settings))

    def _pruner(self, model: Any, section: Distillation) -> Pruner | None:
        if section.pruning is None:
            return None
        steps = section.epochs * ceil(ceil(len(self.training_rows) / section.batch_size) / section.accumulation_steps)
        return Pruner(section.pruning, model, steps=steps)


def judge(model: Any, dev: TrainingRows, *, by_macro_f1: bool = False) -> dict[str, float]:
    """The student's metrics on dev."""
    return judged(dev_logits(model, dev), dev.labels.cpu().numpy(), by_macro_f1=by_macro_f1)


def dev_logits(model: Any, dev: TrainingRows) -> npt.NDArray[np.float32]:
    """(rows, classes) of the student."""
    logits = torch.zeros_like(dev.teacher_logits)
    with evaluating(model):
        for places in token_budget_batches(dev.lengths(), tokens_per_batch=TOKENS_PER_BATCH):
            slots = dev.slots(places)
            logits[slots.chosen] = model(**inputs_of(model, dev.inputs(slots))).logits.float()
    found: npt.NDArray[np.float32] = logits.cpu().numpy()
    return found

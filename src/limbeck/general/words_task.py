"""The training of a general student of words: what it reads, what it is compared with, and who trains it."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from pydantic import TypeAdapter
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from limbeck.general.clock import Clock
from limbeck.general.losses import neighbour_kl, vector_cosine
from limbeck.models.students import word_student
from limbeck.models.word_student import PAD
from limbeck.progress import Reporter, TerminalReporter
from limbeck.recipe.general import General
from limbeck.recipe.kinds import WordStudentOfKind
from limbeck.recipe.student import WordStudent
from limbeck.training.batches import length_batches, token_budget_batches
from limbeck.training.checkpoints import best_of, progress_of
from limbeck.training.device import (
    Arithmetic,
    Bf16Missing,
    choose_arithmetic,
    refuse_bf16_recurrence,
    training_device,
)
from limbeck.training.loop import train
from limbeck.training.modes import evaluating
from limbeck.training.processes import process_count, reporter_of_member, run_together
from limbeck.training.shares import share_of_group
from limbeck.training.token_rows import TokenRows

Places = npt.NDArray[np.int64]
TOKENS_PER_BATCH = 65_536  # of held-back sentences
LABELS = ["0", "1"]  # of a head that is not trained, and not kept
HANDED_OVER = "together.safetensors"  # what a group of processes reads, in the work folder


class Taught(nn.Module):
    """The student without its head, and a projection of its features to the vectors of each encoder."""

    def __init__(
        self, student: WordStudent, *, words: int, vectors: npt.NDArray[np.float32], widths: Sequence[int]
    ) -> None:
        super().__init__()
        plain = student.model_copy(update={"tune_vectors": True, "dense_size": 0})
        self.body = word_student(
            plain, vocabulary_size=words, embedding_size=vectors.shape[1], labels=LABELS, pair=False
        )
        self.body.start_vectors(torch.from_numpy(vectors))
        self.projections = nn.ModuleList(nn.Linear(self.body.features, width) for width in widths)

    def forward(self, ids: Tensor, mask: Tensor) -> list[Tensor]:
        """(sentences, width) for each encoder."""
        features = self.body.dropout(self.body(ids, attention_mask=mask).features)
        return [projection(features).float() for projection in self.projections]


@dataclass(frozen=True)
class WordsTask:
    """The sentences; the first ones are held back."""

    section: General
    rows: TokenRows
    targets: Sequence[Tensor]

    @property
    def held_back(self) -> int:
        return min(self.section.held_back, max(1, len(self.rows) // 10))

    def losses(self, model: Any, places: Places) -> dict[str, Tensor]:
        """The two losses, each the mean over the encoders. In a group of processes, each runs the model on its share of
        these sentences, and compares those of all."""
        share = share_of_group()
        chosen = torch.from_numpy(places).to(self.rows.flat.device)
        own = model(*self.rows.batch(share.own(places), pad=PAD))
        answers = [share.whole(one, rows=len(places)) for one in own]
        wanted = [target[chosen].float() for target in self.targets]
        pairs = list(zip(answers, wanted, strict=True))
        terms = {"cosine": torch.stack([vector_cosine(*pair) for pair in pairs]).mean()}
        if self.section.neighbours:
            temperature = self.section.temperature
            near = torch.stack([neighbour_kl(*pair, temperature=temperature) for pair in pairs]).mean()
            terms["neighbours"] = self.section.neighbours * near
        return terms

    def judge(self, model: nn.Module) -> dict[str, float]:
        """The mean cosine to each encoder on the sentences that are held back."""
        sums = torch.zeros(len(self.targets), device=self.rows.flat.device)
        with evaluating(model):
            lengths = self.rows.lengths[: self.held_back]
            for places in token_budget_batches(lengths, tokens_per_batch=TOKENS_PER_BATCH):
                chosen = torch.from_numpy(places).to(self.rows.flat.device)
                answers = model(*self.rows.batch(places, pad=PAD))
                cosines = [
                    nn.functional.cosine_similarity(answer, target[chosen].float(), dim=-1).sum()
                    for answer, target in zip(answers, self.targets, strict=True)
                ]
                sums += torch.stack(cosines)
        means: list[float] = (sums / self.held_back).tolist()
        return {"dev_loss": 1 - float(np.mean(means)), **{f"cosine_{at}": mean for at, mean in enumerate(means)}}


def taught(
    student: WordStudent, vectors: npt.NDArray[np.float32], task: WordsTask, clock: Clock, *, reporter: Reporter
) -> tuple[Taught, list[dict[str, Any]]]:
    """The student after its training, by this process or by several, and what was found after every epoch."""
    model, work = _new(student, vectors, task), clock.file.parent
    processes = process_count(task.section.processes, default=1)
    if processes == 1:
        history = _train(model, task, clock, reporter=reporter)
    else:
        reporter.note(f"  {task.section.name}: taught by {processes} processes together")
        _hand_over(work, vectors, task)
        job = {
            "section": task.section.model_dump(mode="json"),
            "student": student.model_dump(mode="json"),
            "work": str(work.resolve()),
            "seconds": clock.seconds,
            "prints": isinstance(reporter, TerminalReporter),
        }
        run_together("limbeck.general.words_task:teach_as_member", job, processes=processes)
        model.load_state_dict(best_of(work))
        history = progress_of(work)["history"]
    shutil.rmtree(work, ignore_errors=True)
    return model, history


def teach_as_member(job: Mapping[str, Any]) -> None:
    """One process of a group: the same student in each, for the sentences and vectors that the first process found."""
    work, device = Path(job["work"]), training_device()
    found = load_file(str(work / HANDED_OVER))
    student: WordStudent = TypeAdapter(WordStudentOfKind).validate_python(job["student"])
    rows = TokenRows.of_arrays([(found["ids"].numpy(), found["lengths"].numpy())], device=device)
    targets = [found[f"target_{number}"].to(device) for number in range(len(found) - 3)]
    task = WordsTask(General.model_validate(job["section"]), rows, targets)
    clock = Clock(Clock.found(work).file, job["seconds"], time.monotonic())
    model = _new(student, found["vectors"].numpy(), task)
    _train(model, task, clock, reporter=reporter_of_member(prints=job["prints"]))


def _hand_over(work: Path, vectors: npt.NDArray[np.float32], task: WordsTask) -> None:
    work.mkdir(parents=True, exist_ok=True)
    rows = {"ids": task.rows.flat.cpu(), "lengths": torch.from_numpy(task.rows.lengths)}
    targets = {f"target_{number}": target.cpu() for number, target in enumerate(task.targets)}
    save_file({**rows, "vectors": torch.from_numpy(vectors), **targets}, str(work / HANDED_OVER))


def _new(student: WordStudent, vectors: npt.NDArray[np.float32], task: WordsTask) -> Taught:
    torch.manual_seed(task.section.seed)  # only now: opening an encoder draws random numbers
    return Taught(student, words=len(vectors), vectors=vectors, widths=[one.shape[1] for one in task.targets])


def _train(model: Taught, task: WordsTask, clock: Clock, *, reporter: Reporter) -> list[dict[str, Any]]:
    section, held_back, work = task.section, task.held_back, clock.file.parent
    lengths = task.rows.lengths[held_back:]
    arithmetic = _arithmetic(section, is_recurrent=any(isinstance(layer, nn.RNNBase) for layer in model.modules()))
    work.mkdir(parents=True, exist_ok=True)

    def batches(epoch: int) -> list[Places]:
        found = length_batches(lengths, batch_size=section.batch_size, seed=section.seed, epoch=epoch)
        return [places + held_back for places in found]

    def judge(trained: nn.Module) -> dict[str, float]:
        clock.keep()
        return task.judge(trained)

    progress = train(
        model.to(training_device()),
        section,
        arithmetic=arithmetic,
        batches=batches,
        losses=lambda trained, places, _done: task.losses(trained, places),
        validate=judge,
        work_folder=work,
        reporter=reporter,
        what=f"teaching {section.name} ({arithmetic})",
        keep="last",
        losses_share=True,
    )
    return progress.history


def _arithmetic(section: General, *, is_recurrent: bool) -> Arithmetic:
    """The one that was asked for; "auto" is fp32 where bf16 cannot train a recurrent layer."""
    arithmetic = choose_arithmetic(section.precision)
    try:
        refuse_bf16_recurrence(arithmetic, is_recurrent=is_recurrent)
    except Bf16Missing:
        if section.precision != "auto":
            raise
        return "fp32"
    return arithmetic

"""Room 2: a teacher of whatever kind, ready to be asked."""

import json
from pathlib import Path
from typing import Any, Protocol, assert_never

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import WORK, Key
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.models.size import parameter_count, parameter_count_without_embeddings
from limbeck.progress import Reporter
from limbeck.recipe.teacher import AnyMember, EncoderTeacher, FileTeacher, StudentTeacher
from limbeck.teacher.answers_file import open_answers, read_file_teacher
from limbeck.teacher.checkpoint import find_checkpoint
from limbeck.teacher.encoder import Encoder
from limbeck.teacher.fine_tune import fine_tune, judge, start_encoder
from limbeck.teacher.loading import load_ready, open_teacher
from limbeck.teacher.student_asking import open_student_teacher
from limbeck.teacher.student_teacher import prepare_student_teacher
from limbeck.training.device import training_device
from limbeck.training.tracks import NO_TRACKS, Tracks

__all__ = ["OpenTeacher", "opened", "prepare_teacher"]


class OpenTeacher(Protocol):
    """A teacher that can be asked."""

    def logits(
        self, texts: Any, pairs: Any, *, tokens_per_batch: Any = None, bar: Any = None
    ) -> npt.NDArray[np.float32]:
        """(rows, classes); NaN where it has no answer."""


def prepare_teacher(
    section: AnyMember,
    *,
    corpus: Corpus,
    out: Path,
    key: Key,
    reporter: Reporter,
    tracks: Tracks = NO_TRACKS,
    pretrained: Path | None = None,
) -> TeacherFolder:
    """The teacher that the section asks for: fine-tuned, taken as it is, read from a file, or another run's student.

    `pretrained` is the folder of an encoder's checkpoint after it was pretrained, where it was.
    """
    match section:
        case FileTeacher():
            return read_file_teacher(section, corpus=corpus, out=out, key=key, reporter=reporter)
        case StudentTeacher():
            return prepare_student_teacher(section, corpus=corpus, out=out, key=key, reporter=reporter)
        case EncoderTeacher():
            start = str(pretrained or section.checkpoint)
            return _prepare_encoder(
                section, start=start, corpus=corpus, out=out, key=key, reporter=reporter, tracks=tracks
            )
        case _:
            assert_never(section)


def opened(teacher: TeacherFolder) -> OpenTeacher:
    """A prepared encoder, file or student, ready to be asked; of an ensemble it is the members that are asked."""
    match teacher.facts.kind:
        case "encoder":
            return open_teacher(teacher)
        case "file":
            return open_answers(teacher)
        case "student":
            return open_student_teacher(teacher)
        case kind:
            raise ValueError(f"an {kind} is not asked by itself")


def _prepare_encoder(
    section: EncoderTeacher, *, start: str, corpus: Corpus, out: Path, key: Key, reporter: Reporter, tracks: Tracks
) -> TeacherFolder:
    """Save it as a Hugging Face folder, after fine-tuning it unless it is taken as it is."""
    started = section.model_copy(update={"checkpoint": start})
    encoder = _ready(section, corpus=corpus) if section.train == "none" else start_encoder(started, corpus=corpus)
    if encoder.note:
        reporter.note(f"  {encoder.note}")
    if encoder.max_length < section.max_length:
        reporter.note(f"  it reads {encoder.max_length:,} tokens at most, not max_length = {section.max_length:,}")
    with written_atomically(out, kind="teacher", key=key) as scratch:
        if section.train == "none":
            history = [{"epoch": 0, **judge(encoder, corpus.splits["dev"])}]
        else:
            checkpoint = Path(section.checkpoint).name
            history = fine_tune(
                encoder,
                started,
                corpus=corpus,
                work=scratch / WORK,
                reporter=reporter,
                tracks=tracks,
                name=checkpoint if out.name == "teacher" else out.name,  # members of an ensemble go by their own
            )
        encoder.save(scratch)
        facts = _facts(encoder, section, corpus=corpus, history=history)
        save_teacher_facts(scratch, facts)
        (scratch / "history.json").write_text(json.dumps(history, indent=1), encoding="utf-8")
    size = (facts.parameters or 0) / 1e6
    reporter.note(f"  teacher {facts.name}: {facts.dev_accuracy:.1%} on dev, {size:.1f}M parameters")
    return TeacherFolder(out)


def _ready(section: EncoderTeacher, *, corpus: Corpus) -> Encoder:
    folder = find_checkpoint(section.checkpoint)
    encoder = load_ready(folder, section=section, labels=corpus.labels, multi_label=corpus.is_multi_label)
    encoder.model.to(training_device())
    return encoder


def _facts(encoder: Encoder, section: EncoderTeacher, *, corpus: Corpus, history: list[dict[str, Any]]) -> TeacherFacts:
    best = max(history, key=lambda entry: (entry["dev_score"], -entry["dev_loss"]))
    return TeacherFacts(
        name=Path(section.checkpoint).name,
        kind="encoder",
        labels=corpus.labels,
        multi_label=corpus.is_multi_label,
        dev_accuracy=best["dev_accuracy"],
        dev_skill=best.get("dev_skill"),
        dev_rows=int(corpus.splits["dev"].is_labelled.sum()),
        max_length=encoder.max_length,
        long_texts=section.long_texts,
        head_share=section.head_share,
        precision=encoder.arithmetic,
        parameters=parameter_count(encoder.model),
        parameters_without_embeddings=parameter_count_without_embeddings(encoder.model),
    )

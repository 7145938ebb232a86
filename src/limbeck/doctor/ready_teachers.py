"""The teachers of a recipe before a run: where they are, how they read, and what those say that are ready."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from huggingface_hub import snapshot_download

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.doctor.known import Asked, AskedTwice, NotThere
from limbeck.doctor.tokens import TeacherReading, sample, weights_in
from limbeck.labeling.verification import TOLERANCES
from limbeck.progress import Reporter
from limbeck.recipe.files import why_no_hub
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.teacher import AnyMember, EncoderTeacher, EnsembleTeacher, FileTeacher, StudentTeacher
from limbeck.teacher.answers_file import open_answers, read_file_teacher
from limbeck.teacher.checkpoint import OFFLINE_PACKAGES, find_checkpoint
from limbeck.teacher.loading import load_ready
from limbeck.teacher.student_asking import open_student
from limbeck.teacher.student_source import find_student
from limbeck.teacher.student_teacher import refuse_other_task
from limbeck.training.device import training_device

ROWS_ASKED = 128  # of dev


@dataclass(frozen=True)
class _Open:
    """A ready teacher."""

    name: str
    section: AnyMember
    answering: Any  # has a method `logits`
    precision: str


@dataclass(frozen=True)
class ReadyTeachers:
    """All teachers of a recipe; each of its properties raises NotThere where no teacher has it."""

    recipe: Recipe
    corpus: Corpus
    scratch: Path
    asks: bool
    reporter: Reporter

    @property
    def members(self) -> Sequence[AnyMember]:
        """The members of an ensemble, or the one teacher."""
        teacher = self.recipe.teacher
        return teacher.members if isinstance(teacher, EnsembleTeacher) else [teacher]

    @cached_property
    def _folders(self) -> list[tuple[EncoderTeacher, Path]]:
        """The encoders, and where each is."""
        encoders = [member for member in self.members if isinstance(member, EncoderTeacher)]
        if not encoders:
            raise NotThere("the teacher is no encoder")
        return [(encoder, checkpoint_here(encoder.checkpoint)) for encoder in encoders]

    @property
    def teacher_readings(self) -> list[TeacherReading]:
        """How the encoders cut texts into tokens."""
        return [
            TeacherReading.load(
                _tokenizer_in(folder),
                name=Path(encoder.checkpoint).name,
                max_length=encoder.max_length,
                long_texts=encoder.long_texts,
            )
            for encoder, folder in self._folders
        ]

    @property
    def first_tokenizer(self) -> Path:
        """The tokenizer.json of the first encoder."""
        return _tokenizer_in(self._folders[0][1])

    @property
    def teacher_parameters(self) -> int:
        """How many numbers all of them hold together."""
        sizes = [self._size(member) for member in self.members]
        if None in sizes:
            raise NotThere("a teacher that is a file has no size")
        return sum(size for size in sizes if size is not None)

    def _size(self, member: AnyMember) -> int | None:
        match member:
            case EncoderTeacher():
                return weights_in(checkpoint_here(member.checkpoint))
            case StudentTeacher():
                return find_student(member.path).facts.parameters
            case _:
                return None

    @cached_property
    def _ready(self) -> list[_Open]:
        if not self.asks:
            raise NotThere("the teacher was not to be asked")
        opened = [one for number, member in enumerate(self.members) for one in self._opened(member, number)]
        if not opened:
            raise NotThere("the teacher is yet to be fine-tuned")
        return opened

    def _opened(self, member: AnyMember, number: int) -> Iterator[_Open]:
        """The teacher, if it is taken as it is. Raises what a run would raise of classes that do not fit."""
        corpus = self.corpus
        match member:
            case FileTeacher():
                out = self.scratch / f"teacher-{number}"
                key = Key(section={}, inputs={})
                folder = read_file_teacher(member, corpus=corpus, out=out, key=key, reporter=self.reporter)
                yield _Open(folder.facts.name, member, open_answers(folder), "fp32")
            case StudentTeacher():
                found = find_student(member.path)
                refuse_other_task(found, corpus)
                precision = getattr(found.facts, "precision", "fp32")
                yield _Open(found.name, member, open_student(found.folder, labels=corpus.labels), precision)
            case EncoderTeacher() if member.train == "none":
                encoder = load_ready(
                    checkpoint_here(member.checkpoint),
                    section=member,
                    labels=corpus.labels,
                    multi_label=corpus.is_multi_label,
                )
                encoder.model.to(training_device())
                yield _Open(Path(member.checkpoint).name, member, encoder, encoder.arithmetic)

    @cached_property
    def asked(self) -> list[Asked]:
        """What those that are ready say of some dev rows; a file is asked for all of them."""
        return [_asked(one, self._rows(one)) for one in self._ready]

    @property
    def asked_twice(self) -> list[AskedTwice]:
        """The same once more. A file is read, not asked."""
        computing = [(one, said) for one, said in zip(self._ready, self.asked, strict=True) if said.kind != "file"]
        if not computing:
            raise NotThere("the teacher is a file, which always says the same")
        return [_again(one, said) for one, said in computing]

    def _rows(self, one: _Open) -> Rows:
        dev = self.corpus.splits["dev"]
        rows = dev.select(np.flatnonzero(dev.is_labelled))
        return rows if isinstance(one.section, FileTeacher) else sample(rows, most=ROWS_ASKED)


def _asked(one: _Open, rows: Rows) -> Asked:
    logits = one.answering.logits(rows.texts, rows.pairs)
    known = np.flatnonzero(~np.isnan(logits).any(axis=1))
    return Asked(one.name, one.section.kind, rows.select(known), logits[known])


def _again(one: _Open, before: Asked) -> AskedTwice:
    logits = one.answering.logits(before.rows.texts, before.rows.pairs)
    between = float(np.abs(logits - before.logits).max(initial=0.0))
    return AskedTwice(one.name, len(before.rows), between, from_kept=None, tolerance=TOLERANCES[one.precision])


def checkpoint_here(checkpoint: str) -> Path:
    """The folder of a checkpoint; raises NotThere rather than fetch it from the hub."""
    name = checkpoint.removeprefix("sentence-transformers/")
    if Path(checkpoint).expanduser().is_dir() or name in OFFLINE_PACKAGES or why_no_hub() is not None:
        return find_checkpoint(checkpoint)
    try:
        return Path(snapshot_download(checkpoint, local_files_only=True))
    except Exception:  # the hub's client raises a dozen kinds, and all mean: not fetched yet
        raise NotThere(f"the checkpoint {checkpoint} is not fetched from the hub yet") from None


def _tokenizer_in(folder: Path) -> Path:
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise NotThere(f"the checkpoint {folder.name} has no tokenizer.json")
    return path

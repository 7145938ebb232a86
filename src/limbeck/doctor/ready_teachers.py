"""The teachers of a recipe before a run: where they are, how they tokenize, and the answers of those that are ready."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from huggingface_hub import snapshot_download

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows
from limbeck.doctor.known import NO_TEACHER, Asked, AskedTwice, NotThere
from limbeck.doctor.tokens import TeacherReading, sample
from limbeck.labeling.verification import TOLERANCES
from limbeck.progress import Reporter
from limbeck.recipe.files import why_no_hub
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.teacher import AnyMember, EncoderTeacher, each_teacher
from limbeck.teacher.checkpoint import OFFLINE_PACKAGES, find_checkpoint
from limbeck.teacher.kinds import kind_of
from limbeck.teacher.preparation import BeforeRun, ReadyTeacher, labelled

ROWS_ASKED = 128  # of dev


@dataclass(frozen=True)
class ReadyTeachers:
    """All teachers of a recipe; each property raises NotThere if it is not available."""

    recipe: Recipe
    corpus: Corpus
    scratch: Path
    asks: bool
    reporter: Reporter

    @property
    def members(self) -> Sequence[AnyMember]:
        """The members of an ensemble, or the one teacher."""
        members = each_teacher(self.recipe.teacher)
        if not members:
            raise NotThere(NO_TEACHER)
        return members

    @cached_property
    def _folders(self) -> list[tuple[EncoderTeacher, Path]]:
        """The encoders, each with its folder."""
        encoders = [member for member in self.members if isinstance(member, EncoderTeacher)]
        if not encoders:
            raise NotThere("the teacher is not an encoder")
        return [(encoder, checkpoint_here(encoder.checkpoint)) for encoder in encoders]

    @property
    def teacher_readings(self) -> list[TeacherReading]:
        """How the encoders tokenize texts."""
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
        """The parameters of all members together."""
        sizes = [kind_of(member).parameters(member, self._look(number)) for number, member in enumerate(self.members)]
        if None in sizes:
            raise NotThere("the size of the teacher is not known")
        return sum(size for size in sizes if size is not None)

    def _look(self, number: int) -> BeforeRun:
        return BeforeRun(self.corpus, self.scratch / f"teacher-{number}", checkpoint_here, self.reporter)

    @cached_property
    def _ready(self) -> list[tuple[AnyMember, ReadyTeacher]]:
        """The teachers that are used as they are. Raises the same error as a run if classes do not match."""
        if not self.asks:
            raise NotThere("asking the teacher is switched off")
        if any(kind_of(member).problems(member) for member in self.members):
            raise NotThere("the teacher cannot be used")  # another finding says why
        looked = [
            (member, kind_of(member).ready(member, self._look(number))) for number, member in enumerate(self.members)
        ]
        ready = [(member, one) for member, one in looked if one is not None]
        if not ready and any(member.kind == "endpoint" for member in self.members):
            raise NotThere("asking the teacher costs money: limbeck label RECIPE --dry-run says how much")
        if not ready:
            raise NotThere("the teacher is not fine-tuned yet")
        return ready

    @cached_property
    def asked(self) -> list[Asked]:
        """The answers of the ready teachers on a sample of dev; of a file, on all of dev."""
        dev = labelled(self.corpus.splits["dev"])
        return [
            _asked(one, member, sample(dev, most=ROWS_ASKED) if member.traits.answers_new_texts else dev)
            for member, one in self._ready
        ]

    @property
    def asked_twice(self) -> list[AskedTwice]:
        """The ready teachers asked again. Files are not asked: they do not compute."""
        both = zip(self._ready, self.asked, strict=True)
        computing = [(one, asked) for (member, one), asked in both if member.traits.answers_new_texts]
        if not computing:
            raise NotThere("the teacher is a file, whose answers do not change")
        return [_again(one, asked) for one, asked in computing]


def _asked(one: ReadyTeacher, member: AnyMember, rows: Rows) -> Asked:
    logits = one.answering.logits(rows.texts, rows.pairs)
    known = np.flatnonzero(~np.isnan(logits).any(axis=1))
    return Asked(one.name, member.kind, rows.select(known), logits[known])


def _again(one: ReadyTeacher, before: Asked) -> AskedTwice:
    logits = one.answering.logits(before.rows.texts, before.rows.pairs)
    between = float(np.abs(logits - before.logits).max(initial=0.0))
    return AskedTwice(one.name, len(before.rows), between, from_kept=None, tolerance=TOLERANCES[one.precision])


def checkpoint_here(checkpoint: str) -> Path:
    """The folder of a checkpoint; raises NotThere instead of downloading it from the hub."""
    name = checkpoint.removeprefix("sentence-transformers/")
    if Path(checkpoint).expanduser().is_dir() or name in OFFLINE_PACKAGES or why_no_hub() is not None:
        return find_checkpoint(checkpoint)
    try:
        return Path(snapshot_download(checkpoint, local_files_only=True))
    except Exception:  # the hub's client raises a dozen kinds, and all mean: not downloaded yet
        raise NotThere(f"the checkpoint {checkpoint} is not downloaded from the hub yet") from None


def _tokenizer_in(folder: Path) -> Path:
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise NotThere(f"the checkpoint {folder.name} has no tokenizer.json")
    return path

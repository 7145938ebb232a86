"""Pretraining of encoders on the task's own text before fine-tuning; each encoder is pretrained once."""

from dataclasses import dataclass

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key, read_manifest
from limbeck.artifacts.pretrained_folder import PretrainedFolder
from limbeck.artifacts.run_folder import RunFolder
from limbeck.pipeline.keys import ExtraText
from limbeck.pretraining.run import pretrain
from limbeck.recipe.decisions import settings
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.teacher import AnyMember, EncoderTeacher, Pretraining, each_teacher
from limbeck.teacher.checkpoint import checkpoint_fingerprint
from limbeck.teacher.run import member_names
from limbeck.training.tracks import Tracks

PLACE = "pretrained"


@dataclass(frozen=True)
class Pretrained:
    """The pretrained encoders of a run. Members of an ensemble with the same settings share one."""

    asked: list[EncoderTeacher]
    made: list[PretrainedFolder]

    def of(self, section: AnyMember) -> PretrainedFolder | None:
        """The pretrained encoder that this teacher starts from; None if it starts from its checkpoint."""
        asked = _asked(section)
        return None if asked is None else self.made[self.asked.index(asked)]


def pretrained_of(recipe: Recipe, corpus: Corpus, gathered: ExtraText, run: RunFolder, *, tracks: Tracks) -> Pretrained:
    """Pretrain every encoder that has a table `pretraining`, or reuse it."""
    asked: list[EncoderTeacher] = []
    for section in map(_asked, each_teacher(recipe.teacher)):
        if section is not None and section not in asked:
            asked.append(section)
    names = member_names(asked)  # of the checkpoints, in the order of the recipe
    made = [
        _pretrained(section, f"{PLACE}/{name}", corpus, gathered, run, tracks=tracks)
        for name, section in zip(names, asked, strict=True)
    ]
    return Pretrained(asked, made)


def _asked(section: AnyMember) -> EncoderTeacher | None:
    """A teacher's table, reduced to what determines its pretrained encoder; None without pretraining."""
    if not isinstance(section, EncoderTeacher) or section.pretraining is None:
        return None
    max_length = section.pretraining.max_length or section.max_length
    pretraining = section.pretraining.model_copy(update={"max_length": max_length})
    return EncoderTeacher(checkpoint=section.checkpoint, pretraining=pretraining)


def _pretrained(
    section: EncoderTeacher, name: str, corpus: Corpus, gathered: ExtraText, run: RunFolder, *, tracks: Tracks
) -> PretrainedFolder:
    asked = section.pretraining or Pretraining()
    train = read_manifest(corpus.folder, kind="corpus").files["train.arrow"]["blake2b"]  # neither dev nor test is read
    return run.step(
        name,
        kind="pretrained",
        key=Key(
            section={"teacher": {"pretraining": settings(asked, "pretrained")}},
            inputs={
                "checkpoint": checkpoint_fingerprint(section.checkpoint),
                "train": str(train),
                **{part: text.training_fingerprint for part, text in gathered.items()},
            },
        ),
        load=PretrainedFolder,
        make=lambda out, key: pretrain(
            asked,
            checkpoint=section.checkpoint,
            max_length=section.max_length,
            parts=[corpus.splits["train"], *(text.rows for text in gathered.values())],
            out=out,
            key=key,
            reporter=run.reporter,
            tracks=tracks,
        ),
    )

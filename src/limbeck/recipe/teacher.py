"""`[teacher]`: the model the student learns from: an encoder, a file of answers, a student, a function, several."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from limbeck.recipe.base import Locate, Section
from limbeck.recipe.corpus import Column, FileFormat
from limbeck.recipe.decisions import by_content, decides, decides_nothing, fields_marked, has_effect_if
from limbeck.recipe.endpoint import EndpointTeacher
from limbeck.recipe.files import is_dir
from limbeck.recipe.no_teacher import NONE, NoTeacher
from limbeck.recipe.traits import NearChance, TeacherTraits

Precision = Literal["auto", "fp32", "bf16"]
LongTexts = Literal["head", "head_and_tail"]
ReadingOfPairs = Literal["together", "apart"]
Head = Literal["own", "mean"]
Keep = Literal["best", "latest"]
FINE_TUNING = has_effect_if('train is not "none"')
TAIL_IS_READ = has_effect_if('long_texts = "head_and_tail"')


class Pretraining(Section):
    """The encoder is pretrained further on masked words of the training rows and the transfer text before it is
    fine-tuned (Gururangan et al. 2020, arXiv:2004.10964). An empty table is enough to switch it on."""

    epochs: int = Field(default=3, ge=1)
    """Passes over the texts, each with other words masked; the last epoch is kept."""
    batch_size: int = Field(default=64, ge=1)
    """Texts per batch."""
    accumulation_steps: int = Field(default=1, ge=1)
    """Batches whose gradients are accumulated for one step: with 4, four times the texts in the same memory."""
    learning_rate: float = Field(default=1e-4, gt=0)
    """Peak learning rate; it warms up, then falls linearly to zero."""
    warmup_fraction: float = Field(default=0.06, ge=0, lt=1)
    """Share of the steps in which the learning rate rises."""
    weight_decay: float = Field(default=0.01, ge=0)
    """AdamW's weight decay; not applied to biases and norms."""
    clip_norm: float = Field(default=1.0, gt=0)
    """Gradients are scaled down to this norm."""
    masked_fraction: float = Field(default=0.15, gt=0, lt=1)
    """Share of the tokens of a text that are masked and predicted, at least one (Devlin et al. 2019)."""
    max_length: int | None = Field(default=None, ge=4)
    """Longest text in tokens, special tokens included; longer texts are truncated. Default: the teacher's."""
    max_rows: int | None = Field(default=None, ge=2)
    """Maximum number of texts to read: training rows first, the others drawn at random. Default: all."""
    precision: Precision = "auto"
    """Arithmetic. "auto" is bf16 if the hardware supports it, else fp32."""
    seed: int = Field(default=0, ge=0)
    """Seed of the masks, the order of texts, dropout, and of a head that the checkpoint does not have."""

    @property
    def patience(self) -> None:
        """Always None: the last epoch is kept."""


class EncoderTeacher(Section):
    """Any encoder, or decoder, that transformers supports as a sequence classifier: fine-tuned on the corpus, or used
    as it is."""

    traits: ClassVar = TeacherTraits(has_tokens=True, has_features=True, answers_new_texts=True)

    kind: Literal["encoder"] = "encoder"
    """The kind of teacher."""
    checkpoint: Annotated[str, by_content("teacher", "pretrained", "baseline")] = "bert-base-uncased"
    """A Hugging Face folder, an installed offline package ("all-MiniLM-L6-v2"), or a name on the hub. A local folder,
    or one under LIMBECK_DATA, is preferred to the hub; for "sentence-transformers/all-mpnet-base-v2" also a folder with
    the name "all-mpnet-base-v2"."""
    train: Literal["all", "head", "none"] = "all"
    """What is fine-tuned: all weights, only the classification head, or nothing, for a checkpoint that is already a
    classifier."""
    label_names: dict[str, str] = {}
    """What the checkpoint's classes are called in the corpus: {"LABEL_0" = "negative", "LABEL_1" = "positive"}. Needed
    with `train = "none"` if its names, or their order, differ from the corpus's."""
    head: Annotated[Head, FINE_TUNING] = "own"
    """What classifies: "own" is the head that transformers has for the family, with random weights at first; "mean" is
    a linear layer on the mean of the last states. That one is fitted by logistic regression before anything else
    changes, and fine-tuning starts from there (Kumar et al. 2022, arXiv:2202.10054): better with few rows, many classes
    or few epochs. If no epoch is better on dev than this start (or, with `keep = "latest"`, none is as good within two
    standard errors), the start is kept. Transformer students need "own"."""
    epochs: Annotated[int, FINE_TUNING] = Field(default=3, ge=1)
    """Passes over the training rows; `keep` says which one's weights are kept."""
    keep: Annotated[Keep, FINE_TUNING] = "best"
    """Which epoch is kept: the "best" on dev, or the "latest" that is not worse than the best by more than two
    standard errors. With few rows in dev, the best of several epochs is mostly a lucky one: see docs/teacher.md. The
    fitted head of `head = "mean"` counts as the first of them."""
    patience: Annotated[int | None, FINE_TUNING] = Field(default=None, ge=1)
    """Stop after this many epochs in a row that are not kept. Default: run all epochs."""
    fine_tunings: Annotated[int, FINE_TUNING] = Field(default=1, ge=1, le=10)
    """Fine-tune so many times from the fitted head, each with another order of rows and dropout; the mean of their
    weights is the teacher (Wortsman et al. 2022, arXiv:2203.05482), which costs no more to ask than one. Needs
    `head = "mean"`: heads that start at random have no mean."""
    max_rows: Annotated[int | None, FINE_TUNING] = Field(default=None, ge=2)
    """Fine-tune on at most this many training rows, drawn at random, but a few of every class. The student still learns
    from all rows. Default: all."""
    batch_size: Annotated[int, FINE_TUNING] = Field(default=32, ge=1)
    """Rows per batch."""
    accumulation_steps: Annotated[int, FINE_TUNING] = Field(default=1, ge=1)
    """Batches whose gradients are accumulated for one step: with 4, a step uses 4 × batch_size rows in a quarter of the
    memory."""
    learning_rate: Annotated[float, FINE_TUNING] = Field(default=3e-5, gt=0)
    """Peak learning rate; it warms up, then falls linearly to zero."""
    warmup_fraction: Annotated[float, FINE_TUNING] = Field(default=0.1, ge=0, lt=1)
    """Share of the steps in which the learning rate rises."""
    weight_decay: Annotated[float, FINE_TUNING] = Field(default=0.01, ge=0)
    """AdamW's weight decay; not applied to biases and norms."""
    clip_norm: Annotated[float, FINE_TUNING] = Field(default=1.0, gt=0)
    """Gradients are scaled down to this norm."""
    pretraining: Annotated[Pretraining | None, decides("pretrained")] = None
    """Pretraining on the task's own text. Default: none."""
    max_length: int = Field(default=128, ge=4)
    """Longest input in the teacher's tokens, special tokens included; see `long_texts`."""
    long_texts: LongTexts = "head"
    """What is kept of a text that is too long: its beginning, or its beginning and its end (Sun et al. 2019,
    arXiv:1905.05583)."""
    head_share: Annotated[float, TAIL_IS_READ] = Field(default=0.25, gt=0, lt=1)
    """With "head_and_tail": share of the tokens that come from the beginning."""
    pairs: Annotated[ReadingOfPairs, FINE_TUNING] = "together"
    """How it reads the two texts of a pair: "together" as one input, or "apart", each separately, as sentence encoders
    are trained (Reimers and Gurevych 2019, arXiv:1908.10084), with a head that compares the two vectors."""
    precision: Precision = "auto"
    """Arithmetic. "auto" is bf16 if the hardware supports it, else fp32."""
    compile: Annotated[bool, decides_nothing()] = False
    """Whether the model is compiled with torch.compile for fine-tuning. Measure whether it helps: see
    docs/teacher.md."""
    processes: Annotated[int | None, decides_nothing()] = Field(default=None, ge=1)
    """Number of processes that fine-tune together, one per GPU. Default: the number of GPUs."""
    seed: Annotated[int, FINE_TUNING] = Field(default=0, ge=0)
    """Seed of the head's initial weights, the order of rows and dropout."""
    seeds: Annotated[list[Annotated[int, Field(ge=0)]] | None, decides_nothing()] = Field(default=None, min_length=2)
    """Several seeds instead of `seed`, for an ensemble of teachers that differ only in their seed; their logits are
    averaged. Default: one teacher."""
    near_chance: Annotated[NearChance, decides_nothing()] = "stop"
    """What to do if the teacher is hardly better on dev than guessing: stop the run, or only warn."""

    @model_validator(mode="after")
    def _seeds_make_a_difference(self) -> Self:
        if self.seeds is not None and len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds should all be different (found {self.seeds})")
        if self.seeds is not None and self.train == "none":
            raise ValueError(
                'seeds have no effect on a teacher that is not fine-tuned (train = "none"): remove them, or set '
                'train = "all"'
            )
        return self

    @model_validator(mode="after")
    def _pretrained_to_be_trained(self) -> Self:
        if self.pretraining is not None and self.train == "none":
            raise ValueError(
                'pretraining changes the encoder below its classifier, but train = "none" does not fine-tune it: set '
                'train = "all", or remove the table pretraining'
            )
        return self

    @model_validator(mode="after")
    def _new_head_to_be_trained(self) -> Self:
        if self.head == "mean" and self.train == "none":
            raise ValueError(
                'head = "mean" gives an encoder another head, and train = "none" takes it as it is: set train = "all", '
                "or remove the key head"
            )
        if self.head == "mean" and self.pairs == "apart":
            raise ValueError('pairs = "apart" has a head of its own: remove head = "mean"')
        if self.head != "mean" and self.fine_tunings > 1:
            raise ValueError('the mean of several fine_tunings needs head = "mean", which gives them one start')
        return self

    @model_validator(mode="after")
    def _apart_to_be_trained(self) -> Self:
        if self.pairs == "apart" and self.train == "none":
            raise ValueError(
                'pairs = "apart" gives an encoder a new head, but train = "none" does not fine-tune it: set '
                'train = "all", or remove the key pairs'
            )
        return self

    @property
    def fields_without_effect(self) -> frozenset[str]:
        """The settings of fine-tuning without fine-tuning; `head_share` if only the beginning is read."""
        unmet = [FINE_TUNING] if self.train == "none" else []
        unmet += [TAIL_IS_READ] if self.long_texts == "head" else []
        return frozenset().union(*(fields_marked(type(self), marker) for marker in unmet))

    def located(self, locate: Locate) -> Self:
        """With the checkpoint as an absolute path if it is a local folder, or if a local folder has the last part of
        the hub name; otherwise unchanged, for the room `teacher` to find."""
        for name in (self.checkpoint, PurePosixPath(self.checkpoint).name):
            folder = Path(locate(name, required=False))
            if is_dir(folder) and (name == self.checkpoint or (folder / "config.json").is_file()):
                return self.model_copy(update={"checkpoint": str(folder)})
        return self


class FileTeacher(Section):
    """A file of probabilities or logits for each text: from a language model, an API, or an ensemble run elsewhere."""

    traits: ClassVar = TeacherTraits(has_tokens=False, has_features=False, answers_new_texts=False)

    kind: Literal["file"]
    """The kind of teacher."""
    path: Annotated[str, by_content()]
    """The file: csv, tsv, txt, jsonl or parquet, each also as .gz."""
    name: str | None = None
    """Name of this teacher in the report. Default: the file's name."""
    text: Column = "text"
    """Column of the text."""
    pair: Column | None = None
    """Column of the second text, for tasks about two texts."""
    columns: dict[str, Column] = {}
    """The column of each class: {"negative" = "p_neg"}. Default: columns with the names of the classes, or
    `probability_` or `logit_` and the class; in JSON lines also inside an object `probabilities` or `logits`. A field
    of an object is written "object.field"."""
    values: Literal["auto", "probabilities", "logits"] = "auto"
    """What the columns contain; "auto": probabilities if every row is a distribution, else logits."""
    least_probability: float = Field(default=1e-3, gt=0, lt=0.5)
    """Probabilities are clipped to this distance from 0 and 1, whose logits are infinite. Lower it for many classes."""
    uncovered: Annotated[Literal["stop", "skip"], decides("labels")] = "stop"
    """What to do with rows that the file does not have: stop the run, or skip them and report how many."""
    format: FileFormat = "auto"
    """File format; "auto" depends on the file's extension (.txt is read like .tsv)."""
    header: bool = True
    """Whether the first line of csv and tsv files names the columns."""
    quoting: Literal["auto"] | bool = "auto"
    """Whether " quotes fields that contain delimiters. "auto": yes in csv, no in tsv."""
    encoding: str = "utf-8"
    """Encoding of text files. A byte order mark is skipped."""
    near_chance: Annotated[NearChance, decides_nothing()] = "stop"
    """What to do if the teacher is hardly better on dev than guessing: stop the run, or only warn."""

    def located(self, locate: Locate) -> Self:
        """With the file as an absolute path."""
        return self.model_copy(update={"path": locate(self.path)})


class StudentTeacher(Section):
    """A student of another run, as a teacher assistant for a smaller one (Mirzadeh et al. 2020,
    arXiv:1902.03393). Short form, at the top of the recipe: `teacher = "runs/big/students/bilstm"`."""

    traits: ClassVar = TeacherTraits(has_tokens=False, has_features=True, answers_new_texts=True)

    kind: Literal["student"]
    """The kind of teacher."""
    path: Annotated[str, by_content()] = Field(min_length=1)
    """The folder of a student (runs/big/students/bilstm/0), of its seeds (runs/big/students/bilstm: the best one on dev
    is used), or of an exported model (runs/big/models/bilstm-int8)."""
    near_chance: Annotated[NearChance, decides_nothing()] = "stop"
    """What to do if the teacher is hardly better on dev than guessing: stop the run, or only warn."""

    def located(self, locate: Locate) -> Self:
        """With the folder as an absolute path."""
        instead = '; an encoder has its own key: [teacher] checkpoint = "…"'
        return self.model_copy(update={"path": locate(self.path, what="folder of a student", instead=instead)})


class CustomTeacher(Section):
    """Your own function: anything that classifies texts. `call = "my_package.teachers:tfidf"`.

    It is called once with `labels`, the class names, and with `options`, and returns a function that maps a list of
    texts, or of (text, second text), to an array (rows, classes). docs/teacher.md has an example.
    """

    traits: ClassVar = TeacherTraits(has_tokens=False, has_features=False, answers_new_texts=True)

    kind: Literal["custom"]
    """The kind of teacher."""
    call: str = Field(pattern=r"^[\w.]+:[\w.]+$")
    """Module and function."""
    options: dict[str, Any] = {}
    """Further arguments of the function."""
    name: str | None = None
    """Name of this teacher in the report. Default: the function's name."""
    answers: Literal["probabilities", "logits"] = "probabilities"
    """What it returns. Logits read as probabilities cause an error; probabilities read as logits would go unnoticed,
    hence the default."""
    least_probability: float = Field(default=1e-3, gt=0, lt=0.5)
    """Probabilities are clipped to this distance from 0 and 1, whose logits are infinite. Lower it for many classes."""
    texts_per_call: int = Field(default=64, ge=1)
    """Maximum number of texts in one call. The answers of a call are on disk before the next call."""
    near_chance: Annotated[NearChance, decides_nothing()] = "stop"
    """What to do if the teacher is hardly better on dev than guessing: stop the run, or only warn."""

    @model_validator(mode="after")
    def _options_can_be_kept(self) -> Self:
        """They are part of the key of its answers, so they must be JSON."""
        if "labels" in self.options:
            raise ValueError("options has a key `labels`, but the function gets the class names by it: rename it")
        try:
            json.dumps(self.options, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError("options should contain only texts, numbers, true or false, lists and tables") from None
        return self

    @property
    def function_name(self) -> str:
        """The function's own name, without its module."""
        return self.call.rpartition(":")[2]


class LinearTeacher(Section):
    """TF-IDF with a linear classifier, trained on the labels in seconds: for when no encoder is at hand."""

    traits: ClassVar = TeacherTraits(has_tokens=False, has_features=False, answers_new_texts=True)

    kind: Literal["linear"]
    """The kind of teacher."""
    near_chance: Annotated[NearChance, decides_nothing()] = "stop"
    """What to do if the teacher is hardly better on dev than guessing: stop the run, or only warn."""


def _with_kind(given: Any) -> Any:
    """A `[teacher]` table without `kind` describes an encoder; a text instead of a table is the path of a student, or
    "none"."""
    if isinstance(given, str):
        return {"kind": NONE} if given == NONE else {"kind": "student", "path": given}
    return {"kind": "encoder", **given} if isinstance(given, Mapping) else given


AnyMember = EncoderTeacher | FileTeacher | StudentTeacher | CustomTeacher | LinearTeacher | EndpointTeacher
Member = Annotated[AnyMember, Field(discriminator="kind"), BeforeValidator(_with_kind)]


class EnsembleTeacher(Section):
    """Several teachers, each with its own tokenizer and label store, whose answers are combined."""

    traits: ClassVar = TeacherTraits(has_tokens=False, has_features=False, answers_new_texts=True)

    kind: Literal["ensemble"]
    """The kind of teacher."""
    combine: Literal["mean_logits", "mean_probabilities", "weighted"] = "mean_probabilities"
    """How answers are combined: mean of the logits, mean of the probabilities, or mean of the probabilities with each
    member weighted by its accuracy on dev."""
    members: Annotated[list[Member], decides("members")] = Field(min_length=2)
    """The teachers: `[[teacher.members]]` tables, each as `[teacher]` would be."""
    near_chance: Annotated[NearChance, decides_nothing()] = "stop"
    """What to do if the members together are hardly better on dev than guessing. Each member also has its own key."""

    @model_validator(mode="after")
    def _one_seed_each(self) -> Self:
        if any(isinstance(member, EncoderTeacher) and member.seeds for member in self.members):
            raise ValueError("a member has one seed: give each seed its own [[teacher.members]] table")
        return self

    @model_validator(mode="after")
    def _same_rows(self) -> Self:
        """A row that is missing in two files cannot both stop the run and be skipped."""
        rules = {member.uncovered for member in self.members if isinstance(member, FileTeacher | EndpointTeacher)}
        if len(rules) > 1:
            raise ValueError("the members that are files or endpoints must agree on `uncovered`")
        return self

    @property
    def is_of_seeds(self) -> bool:
        """Whether the members differ only in their seed, as with `teacher.seeds`."""
        settings = {member.model_dump_json(exclude={"seed"}) for member in self.members}
        return len(settings) == 1 and isinstance(self.members[0], EncoderTeacher)

    @property
    def one_with_seeds(self) -> EncoderTeacher | None:
        """The encoder with several seeds that is equivalent to this ensemble; None if there is none."""
        first = self.members[0]
        if not isinstance(first, EncoderTeacher) or not self.is_of_seeds:
            return None
        seeds = [member.seed for member in self.members if isinstance(member, EncoderTeacher)]
        if first.train == "none" or len(set(seeds)) < len(seeds):
            return None
        one = first.model_copy(update={"seeds": seeds})
        return one if _one_for_each_seed(one) == self else None

    def located(self, locate: Locate) -> Self:
        """With the paths of all members made absolute."""
        return self.model_copy(update={"members": [member.located(locate) for member in self.members]})


AnyTeacher = AnyMember | EnsembleTeacher | NoTeacher


def each_teacher(teacher: AnyTeacher) -> Sequence[AnyMember]:
    """The members of an ensemble, or the one teacher; none of a run without a teacher."""
    if isinstance(teacher, NoTeacher):
        return []
    return teacher.members if isinstance(teacher, EnsembleTeacher) else [teacher]


def _one_for_each_seed(given: AnyTeacher) -> AnyTeacher:
    """An encoder with several seeds as an ensemble."""
    if not isinstance(given, EncoderTeacher) or given.seeds is None:
        return given
    members: list[AnyMember] = [given.model_copy(update={"seed": seed, "seeds": None}) for seed in given.seeds]
    return EnsembleTeacher(kind="ensemble", combine="mean_logits", members=members, near_chance=given.near_chance)


Teacher = Annotated[
    AnyTeacher, Field(discriminator="kind"), BeforeValidator(_with_kind), AfterValidator(_one_for_each_seed)
]

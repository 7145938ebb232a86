"""Transformer students: standard transformers models, smaller than their teacher and initialised from it."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import (
    AlbertConfig,
    AutoModelForSequenceClassification,
    BertConfig,
    DistilBertConfig,
    PreTrainedConfig,
    PreTrainedModel,
)

from limbeck.errors import StudentError
from limbeck.models.size import position_count
from limbeck.models.transformer_start import start_from_teacher
from limbeck.recipe.student import LAYERS, Transformer

# Families whose layers can be dropped one by one and exported. ALBERT has one layer that it uses many times: fewer of
# these uses are a smaller ALBERT.
STUDENT_FAMILIES = ("bert", "roberta", "xlm-roberta", "electra", "distilbert", "mpnet", "albert")
COUNTED_FROM_PADDING = ("roberta", "xlm-roberta")  # their positions begin after the id of padding
WIDTH, HEADS, INNER_SIZE = 312, 12, 1200  # TinyBERT-4's, used if there is no teacher to copy from
HEAD_WIDTH = 64
POSITIONS = 512
NARROW = 128  # ALBERT's word vectors, at most
DROPOUTS = (
    *("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"),
    *("dropout", "attention_dropout", "seq_classif_dropout"),  # DistilBERT's
    "classifier_dropout_prob",  # ALBERT's
)


class StudentFamilyUnsupported(StudentError):
    """A transformer student cannot have the layers of its teacher's family."""

    def __init__(self, *, family: str, known: Sequence[str]) -> None:
        self.family = family
        super().__init__(
            f"a transformer student cannot be of its teacher's family: {family}",
            found=f"known: {', '.join(known)}",
            advice='Set student.family = "bert", or "distilbert".',
        )


class HeadsUnfit(StudentError):
    """The width of a transformer is not divisible by its number of heads."""

    def __init__(self, *, width: int, heads: int) -> None:
        divisors = ", ".join(str(number) for number in range(1, 33) if width % number == 0)
        super().__init__(
            f"a transformer student of width {width} cannot have {heads} heads: they must divide the width",
            advice=f"Set student.heads to one of {divisors}, or remove it.",
        )


@dataclass(frozen=True)
class Shape:
    """Sizes of a student, and of its layers."""

    layers: int
    width: int
    heads: int
    inner_size: int


def transformer_student(
    section: Transformer,
    *,
    teacher: Any | None,
    vocabulary: Sequence[int] | None,
    vocabulary_size: int,
    pad_token_id: int,
    labels: list[str],
    problem_type: str | None = None,
) -> PreTrainedModel:
    """A classifier that transformers itself can load; what is not initialised from the teacher is random.

    `teacher` is a sequence classifier of transformers, which may be the checkpoint of `section.start`; or None for a
    teacher without weights: the family is then BERT. `vocabulary` has for each of the student's tokens the id of the
    teacher's token (−1: no such token); None: the student has the teacher's tokens. The number of positions is the
    teacher's.

    Raises StudentFamilyUnsupported, HeadsUnfit or TeacherLayersMissing.
    """
    config = student_config(section, teacher, vocabulary_size=vocabulary_size, pad_token_id=pad_token_id)
    if vocabulary is not None:
        config.bos_token_id = config.eos_token_id = None  # they would be ids of the teacher's tokens
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: number for number, label in enumerate(labels)}
    config.problem_type = problem_type
    student = AutoModelForSequenceClassification.from_config(config, dtype=torch.float32)
    if teacher is not None and section.start != "random":
        start_from_teacher(student, teacher, teacher_layers=section.teacher_layers, vocabulary=vocabulary)
    return student


def refuse_family(section: Transformer, *, model_type: str | None) -> None:
    """A student of the teacher's family needs independent layers; `model_type` None: the teacher has no layers."""
    if section.family == "teacher" and model_type is not None and model_type not in STUDENT_FAMILIES:
        raise StudentFamilyUnsupported(family=model_type, known=STUDENT_FAMILIES)


def student_family(section: Transformer, *, model_type: str | None) -> str:
    """The model_type of the student, given that of the teacher, which may be None."""
    return section.family if section.family != "teacher" else model_type or "bert"


def student_config(
    section: Transformer, teacher: Any | None, *, vocabulary_size: int, pad_token_id: int
) -> PreTrainedConfig:
    """The config of a student, before it knows its classes. Raises StudentFamilyUnsupported or HeadsUnfit."""
    refuse_family(section, model_type=teacher.config.model_type if teacher is not None else None)
    theirs = teacher.config if teacher is not None else None
    shape = shape_for(section, theirs)
    tokens = {"vocab_size": vocabulary_size, "pad_token_id": pad_token_id}
    family = student_family(section, model_type=theirs.model_type if theirs is not None else None)
    if theirs is not None and theirs.model_type == family:
        return _like_teacher(theirs, section, shape, **tokens)
    tokens["max_position_embeddings"] = (position_count(teacher) if teacher is not None else None) or POSITIONS
    activation = getattr(theirs, "hidden_act", getattr(theirs, "activation", "gelu"))
    if family == "distilbert":
        return DistilBertConfig(
            **tokens,
            dim=shape.width,
            n_layers=shape.layers,
            n_heads=shape.heads,
            hidden_dim=shape.inner_size,
            activation=activation,
            dropout=section.dropout,
            attention_dropout=section.dropout,
            seq_classif_dropout=section.dropout,
        )
    sizes = {
        **tokens,
        "hidden_size": shape.width,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.inner_size,
        "hidden_act": activation,
        "hidden_dropout_prob": section.dropout,
        "attention_probs_dropout_prob": section.dropout,
        "layer_norm_eps": getattr(theirs, "layer_norm_eps", 1e-12),
    }
    if family != "albert":
        return BertConfig(**sizes)
    return AlbertConfig(
        **sizes,
        embedding_size=section.embedding_size or min(NARROW, shape.width),
        num_hidden_groups=section.layer_groups,
        classifier_dropout_prob=section.dropout,
    )


def _like_teacher(
    theirs: PreTrainedConfig, section: Transformer, shape: Shape, *, vocab_size: int, pad_token_id: int
) -> PreTrainedConfig:
    """The teacher's config with other sizes; everything else (activations, relative positions …) stays."""
    config = copy.deepcopy(theirs)
    config.name_or_path = ""
    if config.model_type in COUNTED_FROM_PADDING:
        config.max_position_embeddings += pad_token_id - theirs.pad_token_id
    if getattr(theirs, "embedding_size", None) == theirs.hidden_size:
        config.embedding_size = shape.width
    if config.model_type == "albert":
        config.embedding_size = section.embedding_size or theirs.embedding_size
        groups = section.layer_groups if section.shares_layers else theirs.num_hidden_groups
        config.num_hidden_groups = min(groups, shape.layers)
    config.vocab_size, config.pad_token_id = vocab_size, pad_token_id
    config.num_hidden_layers, config.num_attention_heads = shape.layers, shape.heads
    config.hidden_size = shape.width
    setattr(config, _name_of_inner(config), shape.inner_size)
    for name in DROPOUTS:
        if getattr(config, name, None) is not None:
            setattr(config, name, section.dropout)
    return config


def shape_for(section: Transformer, theirs: PreTrainedConfig | None) -> Shape:
    """The sizes in the recipe; default: the teacher's, as far as they fit the width. Only a student that starts from a
    checkpoint, which is then `theirs`, may have no number of layers of its own."""
    their_width, their_heads = (theirs.hidden_size, theirs.num_attention_heads) if theirs else (WIDTH, HEADS)
    width = section.width or their_width
    heads = section.heads or (their_heads if width % their_heads == 0 else _heads_of(width))
    if width % heads:
        raise HeadsUnfit(width=width, heads=heads)
    their_inner = getattr(theirs, _name_of_inner(theirs), None) if theirs else INNER_SIZE
    inner_size = section.inner_size or (their_inner if width == their_width else None) or 4 * width
    layers = section.layers or (int(theirs.num_hidden_layers) if theirs else LAYERS)
    return Shape(layers, width, heads, inner_size)


def _heads_of(width: int) -> int:
    """The number of heads of width 64 that fit, or the next smaller number that divides the width."""
    return next(heads for heads in range(max(1, width // HEAD_WIDTH), 0, -1) if width % heads == 0)


def _name_of_inner(config: PreTrainedConfig) -> str:
    return "hidden_dim" if config.model_type == "distilbert" else "intermediate_size"

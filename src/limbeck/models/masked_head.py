"""A transformer student with a head for masked words, started from a teacher that has one."""

from typing import Any

import torch
from torch import nn
from transformers import AutoModelForMaskedLM, PreTrainedModel

from limbeck.models.layer_parts import module_at
from limbeck.models.transformer import student_config
from limbeck.models.transformer_start import start_from_teacher
from limbeck.recipe.student import Transformer

# For each model_type the parts of its head: a layer, its norm, and what holds the bias of each word.
BERT = ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions")
ROBERTA = ("lm_head.dense", "lm_head.layer_norm", "lm_head")
HEADS = {
    "bert": BERT,
    "ernie": BERT,
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA,
    "camembert": ROBERTA,
    "mpnet": ROBERTA,
    "electra": ("generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head"),
    "distilbert": ("vocab_transform", "vocab_layer_norm", "vocab_projector"),
}


def masked_lm_student(section: Transformer, *, teacher: Any) -> PreTrainedModel:
    """A student with its teacher's tokens and a head for masked words, whose table is that of its embeddings.

    `teacher` is a masked language model of transformers. With the same width the student starts from its layers and
    its head; otherwise from its embeddings, reduced. Raises StudentFamilyUnsupported, HeadsUnfit, TeacherLayersMissing.
    """
    tokens = teacher.get_input_embeddings().num_embeddings
    config = student_config(section, teacher, vocabulary_size=tokens, pad_token_id=teacher.config.pad_token_id)
    config.tie_word_embeddings = True
    config.architectures = None
    student: PreTrainedModel = AutoModelForMaskedLM.from_config(config, dtype=torch.float32)
    if section.start == "teacher":
        start_from_teacher(student, teacher, teacher_layers=section.teacher_layers, vocabulary=None)
        _start_head(student, teacher)
    return student


def _start_head(student: Any, teacher: Any) -> None:
    """Copy the parts of the head whose shapes are the same; its table is tied to the embeddings."""
    pairs = zip(*(HEADS.get(model.config.model_type, ()) for model in (student, teacher)), strict=False)
    with torch.no_grad():
        for own, theirs in pairs:
            _copy(module_at(student, own), module_at(teacher, theirs))


def _copy(own: nn.Module | None, theirs: nn.Module | None) -> None:
    for name in ("weight", "bias"):
        weight, other = getattr(own, name, None), getattr(theirs, name, None)
        if weight is not None and other is not None and weight.shape == other.shape:
            weight.copy_(other)

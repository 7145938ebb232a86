"""Loads a masked language model; a checkpoint without a trained masked-language-model head is refused."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import MODEL_FOR_MASKED_LM_MAPPING, AutoConfig, AutoModelForMaskedLM

from limbeck.augmentation.piece_words import PieceWords, vocabulary_of
from limbeck.errors import CheckpointDamaged, TeacherError, some
from limbeck.models.checkpoint import damage_as_user_errors, from_folder, model_from_folder
from limbeck.models.size import position_count
from limbeck.models.tokenizer import load_tokenizer, refuse_tokens_without_rows
from limbeck.training.device import Arithmetic, choose_arithmetic, training_device
from limbeck.training.modes import quiet_transformers

WHAT = "language model"


class LanguageModelUnfit(TeacherError):
    """The checkpoint for masked words was not trained to predict them, or cannot be used for it."""

    def __init__(self, *, checkpoint: str, reason: str) -> None:
        super().__init__(
            f"'{checkpoint}' cannot predict masked words",
            found=reason,
            advice="Set `checkpoint` of masked_lm in [augmentation] to a model with a trained masked-language-model "
            "head, such as bert-base-uncased or bert-base-chinese.",
        )


@dataclass(frozen=True)
class LanguageModel:
    """A model with its tokenizer, and the settings to run it with."""

    model: Any  # of transformers, with a head for masked language modelling
    tokenizer: Any
    vocabulary: PieceWords
    max_length: int
    arithmetic: Arithmetic

    @property
    def device(self) -> torch.device:
        """The device of its weights."""
        device: torch.device = next(iter(self.model.parameters())).device
        return device


def load_language_model(folder: Path, *, name: str, max_length: int) -> LanguageModel:
    """Loads a Hugging Face folder, which the recipe calls `name`; to the GPU if there is one.

    Raises LanguageModelUnfit for a checkpoint without a trained head, since its predictions would be random, and
    TokenizerTooLarge for one whose tokenizer does not belong to its model.
    """
    quiet_transformers()
    with damage_as_user_errors(folder, what=WHAT):
        config = from_folder(AutoConfig, folder)
        if type(config) not in MODEL_FOR_MASKED_LM_MAPPING:
            raise LanguageModelUnfit(checkpoint=name, reason=f"a {config.model_type} has no such head")
        tokenizer = load_tokenizer(folder, config)
        _refuse_tokenizer(tokenizer, name=name)
        model, loading = model_from_folder(AutoModelForMaskedLM, folder, dtype=torch.float32, output_loading_info=True)
    _refuse_random_weights(model, missing=loading["missing_keys"], folder=folder, name=name)
    refuse_tokens_without_rows(tokenizer, model, folder=folder)
    model.to(training_device()).eval()
    return LanguageModel(
        model=model,
        tokenizer=tokenizer,
        vocabulary=vocabulary_of(tokenizer, size=model.config.vocab_size),
        max_length=min(max_length, position_count(model) or max_length),
        arithmetic=choose_arithmetic("auto"),
    )


def _refuse_tokenizer(tokenizer: Any, *, name: str) -> None:
    if not tokenizer.is_fast:
        reason = "its tokenizer has no fast form, which is needed to know the characters of a token"
        raise LanguageModelUnfit(checkpoint=name, reason=reason)
    if tokenizer.mask_token_id is None:
        raise LanguageModelUnfit(checkpoint=name, reason="its tokenizer has no mask token")


def _refuse_random_weights(model: Any, *, missing: Collection[str], folder: Path, name: str) -> None:
    """Transformers initialises missing weights at random. Those that the head shares with the body are not missing."""
    lost = [weight for weight, _ in model.named_parameters() if weight in missing]
    of_body = [weight for weight in lost if weight.startswith(f"{model.base_model_prefix}.")]
    if of_body:
        reason = f"{len(of_body)} weights of its config are not in its files: {some(of_body)}"
        raise CheckpointDamaged(path=folder, reason=reason, what=WHAT)
    if lost:
        reason = f"its files have no trained head, so its predictions would be random; missing: {some(lost)}"
        raise LanguageModelUnfit(checkpoint=name, reason=reason)

"""Loads an encoder as a masked language model, with its own head or a newly initialised one."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import (
    MODEL_FOR_MASKED_LM_MAPPING,
    AutoConfig,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
)

from limbeck.errors import CheckpointDamaged, TeacherError, some
from limbeck.models.checkpoint import damage_as_user_errors, from_folder, model_from_folder
from limbeck.models.size import position_count
from limbeck.models.tokenizer import load_tokenizer, refuse_tokens_without_rows
from limbeck.training.modes import quiet_transformers

ADVICE = "Remove the table `pretraining` from [teacher], or name a checkpoint that was pretrained on masked words."


class PretrainingImpossible(TeacherError):
    """An encoder cannot be pretrained further on masked words, or there are no words to mask."""

    def __init__(self, *, checkpoint: str, reason: str, advice: str) -> None:
        super().__init__(f"cannot pretrain '{checkpoint}'", found=reason, advice=advice)


@dataclass(frozen=True)
class MaskedLM:
    """A model with a head for masked words, and its tokenizer."""

    model: Any  # of transformers, for masked language modelling
    tokenizer: Any
    max_length: int
    other_weights: dict[str, Tensor]  # weights of the checkpoint that the model does not have: a pooler, a classifier
    has_new_head: bool

    def save(self, folder: Path) -> None:
        """Write a Hugging Face folder, with the other weights of the checkpoint: a teacher starts from all of them."""
        self.model.to("cpu")  # where the other weights are
        self.model.save_pretrained(folder, state_dict={**self.model.state_dict(), **self.other_weights})
        self.tokenizer.save_pretrained(folder)


def load_masked_lm(folder: Path, *, name: str, max_length: int) -> MaskedLM:
    """From a Hugging Face folder, which the recipe calls `name`. A missing head is initialised at random.

    Raises PretrainingImpossible for a model that has no such head, or whose tokenizer has no mask.
    """
    with damage_as_user_errors(folder):
        tokenizer = masked_lm_tokenizer(folder, name=name)
        model, loading = _with_head(folder)
        other_weights = _other_weights(folder, model) if loading["unexpected_keys"] else {}
    _refuse_missing_weights(model, loading, folder=folder)
    refuse_tokens_without_rows(tokenizer, model, folder=folder)
    trained = [name for name, _ in model.named_parameters()]
    return MaskedLM(
        model=model,
        tokenizer=tokenizer,
        max_length=min(max_length, position_count(model) or max_length),
        other_weights=other_weights,
        has_new_head=any(not _is_of_body(name, model) for name in trained if name in loading["missing_keys"]),
    )


def masked_lm_tokenizer(folder: Path, *, name: str) -> Any:
    """The tokenizer of a masked language model. Cheap: no weight is read.

    Raises PretrainingImpossible for any other.
    """
    quiet_transformers()
    with damage_as_user_errors(folder):
        config = from_folder(AutoConfig, folder)
        if type(config) not in MODEL_FOR_MASKED_LM_MAPPING:
            reason = f"a {config.model_type} has no head for masked words"
            raise PretrainingImpossible(checkpoint=name, reason=reason, advice=ADVICE)
        tokenizer = load_tokenizer(folder, config)
        if tokenizer.mask_token_id is None:
            raise PretrainingImpossible(checkpoint=name, reason="its tokenizer has no mask token", advice=ADVICE)
    return tokenizer


def _with_head(folder: Path) -> tuple[Any, Any]:
    """The model, and the loading info. A decoder that is missing is tied to the word embeddings."""
    model, loading = _loaded(AutoModelForMaskedLM, folder)
    decoder = model.get_output_embeddings()
    is_tied = decoder is not None and decoder.weight is model.get_input_embeddings().weight
    names = {id(weight): weight_name for weight_name, weight in model.named_parameters()}
    if decoder is None or is_tied or names.get(id(decoder.weight)) not in loading["missing_keys"]:
        return model, loading
    return _loaded(AutoModelForMaskedLM, folder, tie_word_embeddings=True)


def _loaded(kind: Any, folder: Path, **changes: Any) -> tuple[Any, Any]:
    model, loading = model_from_folder(
        kind,
        folder,
        dtype=torch.float32,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # those of the body are refused below
        **changes,
    )
    return model, loading


def _other_weights(folder: Path, model: Any) -> dict[str, Tensor]:
    """The classifier weights of the checkpoint that are not in the model, by their names in a classifier."""
    if type(model.config) not in AutoModelForSequenceClassification._model_mapping:
        return {}
    classifier, loading = _loaded(AutoModelForSequenceClassification, folder)
    unread = {*loading["missing_keys"], *_names(loading["mismatched_keys"]), *model.state_dict()}
    return {name: weight for name, weight in classifier.state_dict().items() if name not in unread}


def _names(mismatched: Collection[Any]) -> list[str]:
    return [entry if isinstance(entry, str) else entry[0] for entry in mismatched]


def _refuse_missing_weights(model: Any, loading: Any, *, folder: Path) -> None:
    """Raise if weights of the encoder are missing or misshapen: transformers would initialise them at random."""
    body = [name for name, _ in model.named_parameters() if _is_of_body(name, model)]
    if misshapen := sorted(name for name in _names(loading["mismatched_keys"]) if name in body):
        reason = f"weights with another shape than in its config.json: {some(misshapen)}"
        raise CheckpointDamaged(path=folder, reason=reason)
    lost = [name for name in body if name in loading["missing_keys"]]
    if 2 * len(lost) > len(body):
        reason = f"{len(lost)} of the {len(body)} weights of its config are not in its files: {some(lost)}"
        raise CheckpointDamaged(path=folder, reason=reason)


def _is_of_body(name: str, model: Any) -> bool:
    return name.startswith(f"{model.base_model_prefix}.")

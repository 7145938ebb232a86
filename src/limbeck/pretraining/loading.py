"""Loading an encoder that is to guess masked words, with a head of its own or a fresh one."""

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
from limbeck.models.checkpoint import damage_as_user_errors
from limbeck.models.size import position_count
from limbeck.models.tokenizer import load_tokenizer, refuse_tokens_without_rows
from limbeck.training.modes import quiet_transformers

ADVICE = "Take the table `pretraining` out of [teacher], or name another checkpoint: one that has guessed masked words."


class PretrainingImpossible(TeacherError):
    """An encoder that is to go on guessing masked words cannot, or finds none to guess."""

    def __init__(self, *, checkpoint: str, reason: str, advice: str) -> None:
        super().__init__(f"cannot pretrain '{checkpoint}'", found=reason, advice=advice)


@dataclass(frozen=True)
class Guesser:
    """A model with a head for masked words, and its tokenizer."""

    model: Any  # of transformers, for masked language modelling
    tokenizer: Any
    max_length: int
    beside: dict[str, Tensor]  # what the checkpoint has besides: a pooler, a classifier
    has_fresh_head: bool

    def save(self, folder: Path) -> None:
        """As a Hugging Face folder, with what else the checkpoint had: a teacher starts from all of it."""
        self.model.to("cpu")  # where what lies beside it is
        self.model.save_pretrained(folder, state_dict={**self.model.state_dict(), **self.beside})
        self.tokenizer.save_pretrained(folder)


def load_guesser(folder: Path, *, name: str, max_length: int) -> Guesser:
    """From a Hugging Face folder that the recipe calls so. A head that is missing starts at random.

    Raises PretrainingImpossible for a model that has no such head, or whose tokenizer has no mask.
    """
    with damage_as_user_errors(folder):
        tokenizer = guessing_tokenizer(folder, name=name)
        model, loading = _with_head(folder)
        beside = _beside(folder, model) if loading["unexpected_keys"] else {}
    _refuse_strange_weights(model, loading, folder=folder)
    refuse_tokens_without_rows(tokenizer, model, folder=folder)
    trained = [name for name, _ in model.named_parameters()]
    return Guesser(
        model=model,
        tokenizer=tokenizer,
        max_length=min(max_length, position_count(model) or max_length),
        beside=beside,
        has_fresh_head=any(not _is_of_body(name, model) for name in trained if name in loading["missing_keys"]),
    )


def guessing_tokenizer(folder: Path, *, name: str) -> Any:
    """The tokenizer of a checkpoint that can guess masked words. Cheap: no weight is read.

    Raises PretrainingImpossible for any other.
    """
    quiet_transformers()
    with damage_as_user_errors(folder):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        if type(config) not in MODEL_FOR_MASKED_LM_MAPPING:
            reason = f"a {config.model_type} has no head for masked words"
            raise PretrainingImpossible(checkpoint=name, reason=reason, advice=ADVICE)
        tokenizer = load_tokenizer(folder, config)
        if tokenizer.mask_token_id is None:
            raise PretrainingImpossible(checkpoint=name, reason="its tokenizer has no mask token", advice=ADVICE)
    return tokenizer


def _with_head(folder: Path) -> tuple[Any, Any]:
    """The model, and what was found while loading. A decoder that starts at random is the table of word vectors."""
    model, loading = _loaded(AutoModelForMaskedLM, folder)
    decoder = model.get_output_embeddings()
    is_tied = decoder is not None and decoder.weight is model.get_input_embeddings().weight
    names = {id(weight): weight_name for weight_name, weight in model.named_parameters()}
    if decoder is None or is_tied or names.get(id(decoder.weight)) not in loading["missing_keys"]:
        return model, loading
    return _loaded(AutoModelForMaskedLM, folder, tie_word_embeddings=True)


def _loaded(kind: Any, folder: Path, **changes: Any) -> tuple[Any, Any]:
    model, loading = kind.from_pretrained(
        folder,
        use_safetensors=True,
        dtype=torch.float32,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # of the body they are refused below
        trust_remote_code=False,
        **changes,
    )
    return model, loading


def _beside(folder: Path, model: Any) -> dict[str, Tensor]:
    """The weights of a classifier that are in the checkpoint and not in the model, as a classifier names them."""
    if type(model.config) not in AutoModelForSequenceClassification._model_mapping:
        return {}
    classifier, loading = _loaded(AutoModelForSequenceClassification, folder)
    unread = {*loading["missing_keys"], *_names(loading["mismatched_keys"]), *model.state_dict()}
    return {name: weight for name, weight in classifier.state_dict().items() if name not in unread}


def _names(mismatched: Collection[Any]) -> list[str]:
    return [entry if isinstance(entry, str) else entry[0] for entry in mismatched]


def _refuse_strange_weights(model: Any, loading: Any, *, folder: Path) -> None:
    """Transformers starts what it does not find, or finds in another shape, at random. An encoder may not start so."""
    body = [name for name, _ in model.named_parameters() if _is_of_body(name, model)]
    if misshapen := sorted(name for name in _names(loading["mismatched_keys"]) if name in body):
        reason = f"weights of another shape than its config.json says: {some(misshapen)}"
        raise CheckpointDamaged(path=folder, reason=reason)
    lost = [name for name in body if name in loading["missing_keys"]]
    if 2 * len(lost) > len(body):
        reason = f"{len(lost)} of the {len(body)} weights of its config are not in its files: {some(lost)}"
        raise CheckpointDamaged(path=folder, reason=reason)


def _is_of_body(name: str, model: Any) -> bool:
    return name.startswith(f"{model.base_model_prefix}.")

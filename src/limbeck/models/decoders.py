"""Decoders as classifiers: GPT-2, Llama, Qwen and others, whose classifier reads the last token of a row.

Rows are padded on the right, whatever the checkpoint's tokenizer says: attention looks only to the left, so padding on
the right changes nothing. On the left it would shift the positions that GPT-2 counts from the first token.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import processors
from torch import Tensor
from transformers import CONFIG_MAPPING, MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING
from transformers.modeling_layers import GenericForSequenceClassification

from limbeck.errors import CheckpointDamaged

# Older families, whose classifiers are classes of their own; all others inherit one from transformers.
OLDER = {
    *("biogpt", "bloom", "falcon", "gpt2", "gpt_bigcode", "gpt_neo", "gpt_neox", "gptj"),
    *("modernbert-decoder", "mpt", "openai-gpt", "opt", "zamba", "zamba2"),
}


def is_decoder(config: Any) -> bool:
    """Whether the classifier of this family reads the last token that is not padding; also with a head on the mean."""
    inside = getattr(config, "encoder", None)  # of a config that wraps another one
    family = inside.get("model_type") if isinstance(inside, dict) else config.model_type
    if family in OLDER:
        return True
    network = MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING.get(CONFIG_MAPPING[family], None) if _is_known(family) else None
    return isinstance(network, type) and issubclass(network, GenericForSequenceClassification)


def _is_known(family: Any) -> bool:
    return family in CONFIG_MAPPING


def give_padding(tokenizer: Any, config: Any, *, folder: Path) -> None:
    """A token to pad with, where the tokenizer has none: the one that the config names, else the end of a text.

    Which one it is matters to nobody: attention does not see it, and the classifier skips it.
    """
    if tokenizer.pad_token_id is not None:
        return
    named = getattr(config, "pad_token_id", None)
    known = tokenizer.convert_ids_to_tokens(named) if isinstance(named, int) and 0 <= named < len(tokenizer) else None
    token = known or tokenizer.eos_token or tokenizer.bos_token or tokenizer.unk_token
    if token is None:
        reason = "its tokenizer has no token to pad with, nor one for the end of a text"
        raise CheckpointDamaged(path=folder, reason=reason)
    tokenizer.pad_token = token


def separate_pairs(tokenizer: Any) -> None:
    """Put the token for the end of a text between the two of a pair, where nothing is between them.

    For decoders that are fine-tuned; a ready one was trained with what it has.
    """
    backend, end = tokenizer.backend_tokenizer, tokenizer.eos_token
    if end is None or backend.num_special_tokens_to_add(is_pair=True):
        return
    between = processors.TemplateProcessing(
        single="$A", pair=f"$A {end} $B:1", special_tokens=[(end, tokenizer.eos_token_id)]
    )
    own = backend.post_processor
    backend.post_processor = between if own is None else processors.Sequence([own, between])


def prepare_decoder(model: Any, tokenizer: Any) -> None:
    """The model skips what its tokenizer pads with, and keeps no states of a text for another one to be written."""
    config = model.config.get_text_config()
    config.pad_token_id, config.use_cache = tokenizer.pad_token_id, False
    inside = getattr(getattr(model, "encoder", None), "config", None)  # of a model with a head on the mean
    if inside is not None:
        inside.pad_token_id, inside.use_cache = tokenizer.pad_token_id, False


def token_of_empty_texts(tokenizer: Any) -> int:
    """What replaces a text without any token, which many decoders make of an empty one."""
    first: Sequence[Any] = (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id)
    return int(next(token for token in first if token is not None))


def place_read(ids: Tensor, *, padding: int) -> Tensor:
    """(rows): the place of the last token that is not padding, which the classifier reads; 0 where there is none."""
    numbers = torch.arange(ids.shape[1], device=ids.device)
    return (numbers * (ids != padding)).argmax(dim=1)

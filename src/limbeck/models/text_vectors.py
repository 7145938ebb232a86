"""The vectors that an encoder gives whole texts: the mean of its last states, of length 1."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoConfig, AutoModel

from limbeck.models.checkpoint import damage_as_user_errors, find_checkpoint, from_folder, model_from_folder
from limbeck.models.size import position_count
from limbeck.models.tokenizer import load_tokenizer, refuse_tokens_without_rows

WHAT, MOST_TOKENS, TEXTS_AT_ONCE = "encoder", 128, 64


def text_vectors(
    checkpoint: str, texts: Sequence[str], *, read: Callable[[int], None] = lambda _texts: None
) -> npt.NDArray[np.float32]:
    """(texts, width), read as sentence encoders are trained to be read (Reimers and Gurevych 2019, arXiv:1908.10084).

    `read` is called with the number of texts of each batch. Raises what a checkpoint raises that is missing or damaged.
    """
    folder = find_checkpoint(checkpoint, what=WHAT)
    with damage_as_user_errors(folder, what=WHAT):
        tokenizer = load_tokenizer(folder, from_folder(AutoConfig, folder))
        encoder = model_from_folder(AutoModel, folder, dtype=torch.float32)
    refuse_tokens_without_rows(tokenizer, encoder, folder=folder)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    encoder.to(device).eval()
    most = min(MOST_TOKENS, position_count(encoder) or MOST_TOKENS)
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    vectors = np.zeros((len(texts), encoder.config.hidden_size), dtype=np.float32)
    for start in range(0, len(order), TEXTS_AT_ONCE):
        places = order[start : start + TEXTS_AT_ONCE]
        vectors[places] = _means(encoder, tokenizer, [texts[place] for place in places], most=most, device=device)
        read(len(places))
    return vectors


def _means(
    encoder: Any, tokenizer: Any, texts: list[str], *, most: int, device: torch.device
) -> npt.NDArray[np.float32]:
    inputs = tokenizer(texts, truncation=True, max_length=most, padding=True, return_tensors="pt").to(device)
    with torch.inference_mode():
        states = encoder(**inputs).last_hidden_state
    inside = inputs["attention_mask"][..., None].to(states.dtype)
    means = torch.nn.functional.normalize((states * inside).sum(dim=1) / inside.sum(dim=1).clamp(min=1), dim=1)
    found: npt.NDArray[np.float32] = means.cpu().numpy()
    return found

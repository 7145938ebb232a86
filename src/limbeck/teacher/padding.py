"""Rows of tokens as tensors of one width. What tokenizers' own `pad` does, without its Python step for every row."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from limbeck.teacher.tokens import IDS, TYPES, Numbers, Tokens


def padded_batch(rows: Sequence[Mapping[str, list[int]]], tokenizer: Any) -> dict[str, Tensor]:
    """The rows as `padded` makes them; each has as many values in all of its columns."""
    return padded(Tokens.of(rows), np.arange(len(rows)), tokenizer)


def padded(tokens: Tokens, chosen: Numbers, tokenizer: Any) -> dict[str, Tensor]:
    """(rows, tokens) for each column of the chosen rows, filled up on the side and with the values the tokenizer says.

    There is a mask of attention, whether or not rows bring one.
    """
    lengths = tokens.lengths[chosen]
    width = int(lengths.max(initial=0))
    first = np.zeros_like(lengths) if tokenizer.padding_side == "right" else width - lengths
    places = np.arange(width)[None, :] - first[:, None]  # in the row
    inside = (places >= 0) & (places < lengths[:, None])
    taken = (tokens.starts[chosen][:, None] + places)[inside]
    values = padding_values(tokenizer)
    found = {"attention_mask": torch.from_numpy(inside.astype(np.int64))}
    for name, column in tokens.columns.items():
        block = np.full(inside.shape, values.get(name, 0), dtype=np.int64)
        block[inside] = column[taken]
        found[name] = torch.from_numpy(block)
    return found


def padding_values(tokenizer: Any) -> dict[str, int]:
    """What stands in a column where there is no token; in others than these 0."""
    return {IDS: tokenizer.pad_token_id, TYPES: tokenizer.pad_token_type_id}

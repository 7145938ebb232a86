"""Which tokens are masked, what the model sees in their place, and what it predicts there."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limbeck.training.device import sent

# Devlin et al. 2019 (arXiv:1810.04805), section 3.1: of the tokens to predict, the share replaced by the mask token and
# the share replaced by a random token; the rest are unchanged, since a classifier never sees a mask token.
SEEN_AS_MASK, SEEN_AS_ANOTHER = 0.8, 0.1

Ids = npt.NDArray[np.int64]


class MaskingVocabulary(NamedTuple):
    """The parts of a vocabulary that masking needs."""

    mask: int
    ordinary: Ids  # the ids of all tokens that are not special
    is_ordinary: npt.NDArray[np.bool_]  # the same as a table over ids

    @classmethod
    def of(cls, tokenizer: Any) -> "MaskingVocabulary":
        """Of a tokenizer with a mask token. The unknown token is special too: it is not worth predicting."""
        known = np.array(sorted(tokenizer.get_vocab().values()), dtype=np.int64)
        is_ordinary = np.zeros(int(known.max()) + 1, dtype=np.bool_)
        is_ordinary[known] = True
        is_ordinary[np.array(tokenizer.all_special_ids, dtype=np.int64)] = False
        return cls(int(tokenizer.mask_token_id), np.flatnonzero(is_ordinary), is_ordinary)


class Masked(NamedTuple):
    """A batch as the model sees it, and the tokens that it has to predict."""

    ids: Ids  # (rows, tokens)
    rows: Ids  # (masked): their positions
    columns: Ids  # (masked)
    answers: Ids  # (masked): the original tokens


def masked(
    ids: Ids, inside: npt.NDArray[np.bool_], tokens: MaskingVocabulary, *, fraction: float, seed: list[int]
) -> Masked:
    """Masks max(1, round(fraction · n)) of the n ordinary tokens of a row; none in a row without any.

    `ids` are (rows, tokens), and `inside` is False for padding. The same seed masks the same tokens.
    """
    generator = np.random.default_rng(seed)
    candidates = inside & tokens.is_ordinary[ids]
    counts = candidates.sum(axis=1)
    wanted = np.minimum(np.maximum(np.rint(fraction * counts), 1), counts)
    drawn = np.where(candidates, generator.random(ids.shape), 2.0)
    ranks = drawn.argsort(axis=1).argsort(axis=1)  # 0 for the lowest number drawn in a row
    rows, columns = np.nonzero(ranks < wanted[:, None])
    answers = ids[rows, columns]
    draw = generator.random(len(answers))
    others = generator.choice(tokens.ordinary, size=len(answers))
    seen = np.where(draw < SEEN_AS_MASK, tokens.mask, np.where(draw < SEEN_AS_MASK + SEEN_AS_ANOTHER, others, answers))
    covered = ids.copy()
    covered[rows, columns] = seen
    return Masked(covered, rows, columns, answers)


def part_of(targets: Masked, places: Ids) -> Masked:
    """The same for some rows of the batch, which are numbered again."""
    number = np.full(len(targets.ids), -1)
    number[places] = np.arange(len(places))
    inside = number[targets.rows] >= 0
    return Masked(targets.ids[places], number[targets.rows[inside]], targets.columns[inside], targets.answers[inside])


def logits_at(model: Any, inputs: dict[str, Tensor], targets: Masked) -> Tensor:
    """(masked, vocabulary): the logits of a masked language model at the masked tokens only."""
    logits: Tensor = output_at(model, inputs, targets).logits[0]
    return logits


def output_at(model: Any, inputs: Mapping[str, Tensor], targets: Masked, **options: bool) -> Any:
    """The output of a masked language model, whose logits are (1, masked, vocabulary): those of the masked tokens only.

    Its head reads every token by itself, so it gets the states of these tokens as if they were one row. With one token
    in seven masked, that is a seventh of the computation and of the memory of the largest tensor. Hidden states, if
    `options` ask for them, are those of all tokens.
    """
    device = inputs["input_ids"].device
    rows, columns = (sent(torch.from_numpy(place), device) for place in (targets.rows, targets.columns))

    def keep_masked(_module: Any, _inputs: Any, states: Any) -> Any:
        states.last_hidden_state = states.last_hidden_state[rows, columns][None]
        return states

    handle = model.base_model.register_forward_hook(keep_masked)
    try:
        return model(**inputs, **options)
    finally:
        handle.remove()

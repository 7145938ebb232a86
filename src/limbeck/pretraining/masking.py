"""Which tokens are masked, and what the model sees in their place."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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

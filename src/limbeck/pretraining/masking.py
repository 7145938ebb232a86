"""Which tokens are to be guessed, and what the model sees in their places."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

# Devlin et al. 2019 (arXiv:1810.04805), section 3.1: the share of the tokens to be guessed that is seen as a mask, and
# the share that is seen as another token; the rest stand as they are, since a classifier will never see a mask.
SEEN_AS_MASK, SEEN_AS_ANOTHER = 0.8, 0.1

Ids = npt.NDArray[np.int64]


class MaskingVocabulary(NamedTuple):
    """What of a vocabulary masking goes by."""

    mask: int
    ordinary: Ids  # the ids of all tokens that are not special
    is_ordinary: npt.NDArray[np.bool_]  # the same as a table, id by id

    @classmethod
    def of(cls, tokenizer: Any) -> "MaskingVocabulary":
        """Of a tokenizer with a mask. The unknown token is special too: that a word is unknown is nothing to learn."""
        known = np.array(sorted(tokenizer.get_vocab().values()), dtype=np.int64)
        is_ordinary = np.zeros(int(known.max()) + 1, dtype=np.bool_)
        is_ordinary[known] = True
        is_ordinary[np.array(tokenizer.all_special_ids, dtype=np.int64)] = False
        return cls(int(tokenizer.mask_token_id), np.flatnonzero(is_ordinary), is_ordinary)


class Masked(NamedTuple):
    """A batch as the model sees it, and what it is to guess."""

    ids: Ids  # (rows, tokens)
    rows: Ids  # (guesses): where they are
    columns: Ids  # (guesses)
    answers: Ids  # (guesses): the tokens that stood there


def masked(
    ids: Ids, inside: npt.NDArray[np.bool_], tokens: MaskingVocabulary, *, fraction: float, seed: list[int]
) -> Masked:
    """Of n ordinary tokens of a row, max(1, round(fraction · n)) are to be guessed; of a row without any, none.

    `ids` are (rows, tokens), and `inside` says which of them are no padding. The same seed masks the same tokens.
    """
    dice = np.random.default_rng(seed)
    may_be = inside & tokens.is_ordinary[ids]
    there = may_be.sum(axis=1)
    wanted = np.minimum(np.maximum(np.rint(fraction * there), 1), there)
    drawn = np.where(may_be, dice.random(ids.shape), 2.0)
    ranks = drawn.argsort(axis=1).argsort(axis=1)  # 0 for the lowest number drawn in a row
    rows, columns = np.nonzero(ranks < wanted[:, None])
    answers = ids[rows, columns]
    fate = dice.random(len(answers))
    others = dice.choice(tokens.ordinary, size=len(answers))
    seen = np.where(fate < SEEN_AS_MASK, tokens.mask, np.where(fate < SEEN_AS_MASK + SEEN_AS_ANOTHER, others, answers))
    covered = ids.copy()
    covered[rows, columns] = seen
    return Masked(covered, rows, columns, answers)

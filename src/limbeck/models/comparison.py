"""Two texts compared word by word: each word of one beside those of the other that are most like it."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from limbeck.models.multiply_adds import Config, chain

LAST_SPECIAL = 2  # the ids up to this one are padding, unknown words and masks: nobody knows whether they are the same
SAME_WORD = 5.0  # added to the relevance of an equal word, and a learned number
OVERLAPS = 2  # features of a text that say how many of its words are in the other one


class TextStates(NamedTuple):
    """One text of each row, as a comparison reads it."""

    ids: Tensor  # (rows, tokens)
    inside: Tensor  # (rows, tokens): true on the tokens of a row
    states: Tensor  # (rows, tokens, width)


class Comparison(nn.Module):
    """Soft alignment of two texts, as in the decomposable attention model (Parikh et al. 2016, arXiv:1606.01933) and in
    ESIM (Chen et al. 2017, arXiv:1609.06038), with the words that both texts have.

        a = relu(P · state + c)                      of each word of one text; b of the other
        eᵢⱼ = aᵢ·bⱼ / √size + (5 + s) · [word i = word j]
        āᵢ = Σⱼ softmaxⱼ(eᵢⱼ) · bⱼ                   what the other text says to word i, and likewise for each bⱼ
        vᵢ = relu(Q · [aᵢ; āᵢ; |aᵢ − āᵢ|; aᵢ ⊙ āᵢ; mᵢ] + d)      mᵢ = 1 if the other text has word i, else 0
        f = [Σ gᵢ·vᵢ; maxᵢ vᵢ; Σ gᵢ·mᵢ; mean of mᵢ]  with g the softmax of a learned number per word

    The numbers per word start as if the vocabulary followed Zipf's law: the inverse frequency of its k-th word then
    grows as ln k. Padding has no weight in either direction.
    """

    def __init__(self, *, width: int, size: int, words: int, dropout: float) -> None:
        super().__init__()
        self.project = nn.Linear(width, size)
        self.join = nn.Linear(4 * size + 1, size)
        self.same_word = nn.Parameter(torch.zeros(()))
        self.word_weights = nn.Embedding(words, 1)
        self.dropout = nn.Dropout(dropout)

    def start_weights(self) -> None:
        """ln ln of the word's place in the vocabulary, whose most frequent words come first."""
        with torch.no_grad():
            places = torch.arange(self.word_weights.num_embeddings, device=self.word_weights.weight.device)
            self.word_weights.weight[:, 0] = (places + 2.0).log().log()

    def forward(
        self, one: TextStates, other: TextStates, *, compose: Callable[[Tensor, Tensor], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """(rows, features) of each text; `compose` turns the comparisons of a text's words, given what is inside of
        it, into states that know of each other."""
        same = (one.ids[:, :, None] == other.ids[:, None, :]) & (one.ids > LAST_SPECIAL)[:, :, None]
        same = (same & one.inside[:, :, None] & other.inside[:, None, :]).to(one.states.dtype)
        a, b = (torch.relu(self.project(self.dropout(text.states))) for text in (one, other))
        likeness = a @ b.transpose(1, 2) / math.sqrt(a.shape[-1])  # (rows, tokens, others)
        relevance = likeness + (SAME_WORD + self.same_word) * same
        of_one = relevance.masked_fill(~other.inside[:, None, :], float("-inf")).softmax(dim=2) @ b
        back = relevance.transpose(1, 2).masked_fill(~one.inside[:, None, :], float("-inf"))
        of_other = back.softmax(dim=2) @ a
        return (
            self._features(one, a, of_one, same.amax(dim=2), compose),
            self._features(other, b, of_other, same.amax(dim=1), compose),
        )

    def _features(
        self,
        text: TextStates,
        own: Tensor,
        aligned: Tensor,
        matches: Tensor,
        compose: Callable[[Tensor, Tensor], Tensor],
    ) -> Tensor:
        both = torch.cat([own, aligned, (own - aligned).abs(), own * aligned, matches[..., None]], dim=-1)
        states = compose(torch.relu(self.join(self.dropout(both))), text.inside)  # (rows, tokens, width)
        logarithms = self.word_weights(text.ids).squeeze(-1).masked_fill(~text.inside, float("-inf"))
        shares = logarithms.softmax(dim=1)
        mean = torch.einsum("rt,rtw->rw", shares, states)
        largest = states.masked_fill(~text.inside[..., None], float("-inf")).amax(dim=1)
        overlap = torch.stack([(shares * matches).sum(dim=1), matches.sum(dim=1) / text.inside.sum(dim=1)], dim=1)
        return torch.cat([mean, largest, overlap], dim=1)


def compared_size(states: int) -> int:
    """Features of a text whose words have states of this width after the comparison."""
    return 2 * states + OVERLAPS


def comparison_multiply_adds(config: Config, *, tokens: tuple[int, int], width: int, states: int) -> int:
    """(n + m)·(width·s + (4s+1)·s), three times n·m·s for relevance and both alignments, and the weighted mean."""
    size, (one, other) = int(config["compare_size"]), tokens
    of_words = (one + other) * (chain(width, size) + chain(4 * size + 1, size) + states)
    return of_words + 3 * one * other * size

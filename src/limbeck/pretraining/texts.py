"""The texts to train on: each once, as rows of tokens; a small part is held back for evaluation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from limbeck.artifacts.rows import Rows, joined
from limbeck.progress import Bar, Reporter
from limbeck.training.masking import MaskingVocabulary
from limbeck.training.token_rows import TokenRows

HELD_BACK_SHARE, MOST_HELD_BACK = 0.02, 2_000
TEXTS_AT_A_TIME = 4_096
TYPES = "token_type_ids"

Places = npt.NDArray[np.int64]
Inputs = dict[str, npt.NDArray[np.int64]]  # (rows, tokens): input_ids, attention_mask and what else the model reads


@dataclass(frozen=True)
class TextRows:
    """Every text as tokens, special tokens included, and which texts are trained on and which are held back."""

    columns: dict[str, TokenRows]  # input_ids, and token types if the model distinguishes two texts by them
    padding: dict[str, int]
    read: Places
    held_back: Places

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """(texts): number of tokens, special tokens included."""
        return self.columns["input_ids"].lengths

    def batch(self, places: Places) -> Inputs:
        """These texts, padded to one length."""
        inputs: Inputs = {}
        for name, rows in self.columns.items():
            column, inside = rows.batch(places, pad=self.padding[name])
            inputs |= {name: column.numpy(), "attention_mask": inside.numpy()}
        return inputs


def chosen_texts(parts: Sequence[Rows], *, max_rows: int | None, seed: int) -> Rows:
    """The rows of all parts, without duplicates; if there are too many, parts in order, the last of them at random."""
    rows = joined(parts)
    _, first = np.unique(rows.keys, axis=0, return_index=True)
    if max_rows is None or len(first) <= max_rows:
        return rows.select(np.sort(first))
    part = np.repeat(np.arange(len(parts)), [len(rows) for rows in parts])[first]
    drawn = np.random.default_rng(seed).permutation(len(first))
    return rows.select(np.sort(first[np.lexsort((drawn, part))[:max_rows]]))


def token_rows(rows: Rows, tokenizer: Any, *, max_length: int, seed: int, reporter: Reporter) -> TextRows:
    """The texts as a teacher reads them, truncated at the end; without those that have no token to mask."""
    names = ["input_ids", *([TYPES] if rows.is_pair and TYPES in tokenizer.model_input_names else [])]
    with reporter.bar("tokenising texts", total=len(rows), unit="texts") as bar:
        blocks = _blocks(rows, tokenizer, names, max_length=max_length, bar=bar)
        columns = TokenRows.together(blocks, columns=len(names), device=torch.device("cpu"))
    values = {"input_ids": tokenizer.pad_token_id or 0, TYPES: tokenizer.pad_token_type_id}
    order = np.random.default_rng(seed).permutation(len(columns[0]))
    count = min(max(round(HELD_BACK_SHARE * len(order)), 1), MOST_HELD_BACK)
    return TextRows(
        columns=dict(zip(names, columns, strict=True)),
        padding={name: values[name] for name in names},
        read=np.sort(order[count:]),
        held_back=np.sort(order[:count]),
    )


def _blocks(
    rows: Rows, tokenizer: Any, names: Sequence[str], *, max_length: int, bar: Bar
) -> Iterator[list[list[list[int]]]]:
    """Some thousand texts at a time: for each name, the numbers of every text that has an ordinary token."""
    is_ordinary = MaskingVocabulary.of(tokenizer).is_ordinary
    for part in rows.slices(TEXTS_AT_A_TIME):
        found = tokenizer(part.texts, part.pairs, truncation=True, max_length=max_length, verbose=False)
        kept = [place for place, ids in enumerate(found["input_ids"]) if is_ordinary[ids].any()]
        yield [[found[name][place] for place in kept] for name in names]
        bar.advance(len(part))

"""The rows that a teacher is fine-tuned on as tokens on its device, where batches of any width are cut of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from limbeck.teacher.padding import padding_values
from limbeck.teacher.tokens import MASK, Tokens
from limbeck.training.recording import Slots
from limbeck.training.token_rows import TokenRows


@dataclass(frozen=True)
class TokenTable:
    """All that a step of fine-tuning reads of its rows."""

    columns: dict[str, TokenRows]
    padding: dict[str, int]
    labels: Tensor

    @classmethod
    def of(cls, tokens: Tokens, labels: Tensor, *, tokenizer: Any, device: torch.device) -> "TokenTable":
        """For tokenizers that pad behind the text."""
        bounds = torch.from_numpy(np.append(tokens.starts, tokens.lengths.sum())).to(device)
        columns = {
            name: TokenRows(torch.from_numpy(column.astype(np.int32)).to(device), bounds, tokens.lengths)
            for name, column in tokens.columns.items()
        }
        return cls(columns, padding_values(tokenizer), labels.to(device))

    def inputs(self, slots: Slots) -> dict[str, Tensor]:
        """What the model reads; as limbeck.teacher.padding makes it, but for the width."""
        (width,) = slots.widths
        found: dict[str, Tensor] = {}
        for name, column in self.columns.items():
            found[name], inside = column.padded(slots.chosen, width=width, pad=self.padding.get(name, 0))
        return {MASK: inside, **found}

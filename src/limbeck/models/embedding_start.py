"""Where the embeddings of a transformer student start: its teacher's tables, or their principal axes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from limbeck.models.layer_parts import EMBEDDING_NORM, POSITIONS, TYPES, module_at

# What leads from word vectors to states that are wider: of ELECTRA, ALBERT and DeBERTa.
PROJECTIONS = ("embeddings_project", "encoder.embedding_hidden_mapping_in", "embeddings.embed_proj")


@dataclass(frozen=True)
class Tables:
    """The weights themselves, or what has been made of them."""

    words: Tensor  # (tokens, width)
    positions: Tensor | None  # (positions, width), from that of the first token on
    types: Tensor | None  # (types, width)
    norm: nn.Module | None  # of their sum; None where it is one for others

    @classmethod
    def of(cls, model: Any) -> Self:
        """Those of a model; XLNet and most DeBERTas have no positions."""
        base = model.base_model
        positions, types = module_at(base, POSITIONS), module_at(base, TYPES)
        return cls(
            words=model.get_input_embeddings().weight,
            positions=None if positions is None else _from_first_token(positions),
            types=None if types is None or not len(types.weight) else types.weight,
            norm=module_at(base, EMBEDDING_NORM),
        )

    @property
    def width(self) -> int:
        """Of all tables."""
        return self.words.shape[1]

    def changed(self, change: Callable[[Tensor], Tensor]) -> "Tables":
        """With each table changed by a function, which the norm does not know of."""
        positions = None if self.positions is None else change(self.positions)
        return Tables(change(self.words), positions, None if self.types is None else change(self.types), norm=None)


def start_embeddings(student: Any, teacher: Any, *, vocabulary: Sequence[int] | None) -> None:
    """Give the student's tables the teacher's rows: for token i that of the teacher's token `vocabulary[i]`.

    A student without token types takes the type of first texts into its positions, so that it reads single texts as
    the teacher does. Where a student tells more types apart than its teacher, all start as the first one.
    """
    own, theirs = Tables.of(student), Tables.of(teacher)
    if theirs.width != own.width:
        theirs = _projected(theirs, teacher)
    ids = torch.arange(len(own.words)) if vocabulary is None else torch.tensor(list(vocabulary), dtype=torch.long)
    known = ids >= 0
    rows = theirs.words[ids[known].to(theirs.words.device)]
    theirs = replace(theirs, words=rows)
    if theirs.width != own.width:
        theirs = _cut(theirs, width=own.width)
    own.words[known, : theirs.width] = theirs.words.to(own.words)
    _start_positions(own, theirs)
    _start_types(own, theirs)
    if isinstance(own.norm, nn.LayerNorm) and theirs.norm is not None:
        own.norm.load_state_dict(theirs.norm.state_dict())


def _start_positions(own: Tables, theirs: Tables) -> None:
    if own.positions is None or theirs.positions is None:
        return
    rows = min(len(own.positions), len(theirs.positions))
    first_type = theirs.types[0] if own.types is None and theirs.types is not None else 0.0
    own.positions[:rows, : theirs.width] = (theirs.positions[:rows] + first_type).to(own.positions)


def _start_types(own: Tables, theirs: Tables) -> None:
    if own.types is None:
        return
    if theirs.types is None:
        own.types.zero_()
        return
    for number, row in enumerate(own.types):
        row[: theirs.width] = theirs.types[number if number < len(theirs.types) else 0]


def _from_first_token(positions: nn.Embedding) -> Tensor:
    """RoBERTa and MPNet count from behind the padding's id."""
    return positions.weight if positions.padding_idx is None else positions.weight[positions.padding_idx + 1 :]


def _projected(tables: Tables, model: Any) -> Tables:
    """The tables as the layers see them, where their width is another one than that of the states."""
    found = (module_at(model.base_model, name) for name in PROJECTIONS)
    projection = next((part for part in found if isinstance(part, nn.Linear)), None)
    if projection is None:
        return tables
    weight, bias = projection.weight, projection.bias
    projected = tables.changed(lambda table: table @ weight.T)
    return projected if bias is None else replace(projected, words=projected.words + bias)


def _cut(tables: Tables, *, width: int) -> Tables:
    """All tables on the principal axes of the words, so many of them, with the words' root mean square as before.

    The axes are the right singular vectors of the table of words. A student that is wider gets all of them.
    """
    words = tables.words.float()
    _, axes = torch.linalg.eigh((words.T @ words).double())
    axes = axes.flip(1)[:, :width].to(words.dtype)  # the largest first
    largest = axes.abs().argmax(dim=0)
    axes = axes * axes.gather(0, largest[None, :]).sign()  # an axis has no direction: the same one each time
    scale = words.square().mean().sqrt() / (words @ axes).square().mean().sqrt().clamp(min=1e-12)
    return tables.changed(lambda table: table.float() @ axes * scale)

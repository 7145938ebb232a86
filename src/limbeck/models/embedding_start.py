"""Initial embeddings of a transformer student: its teacher's tables, or their principal axes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from limbeck.models.layer_parts import EMBEDDING_NORM, POSITIONS, TYPES, module_at

# Projections from word vectors to wider states, in ELECTRA, ALBERT and DeBERTa.
PROJECTIONS = ("embeddings_project", "encoder.embedding_hidden_mapping_in", "embeddings.embed_proj")


@dataclass(frozen=True)
class Tables:
    """The embedding tables of a model, or tables computed from them."""

    words: Tensor  # (tokens, width)
    positions: Tensor | None  # (positions, width), beginning with that of the first token
    types: Tensor | None  # (types, width)
    norm: nn.Module | None  # of their sum; None if it does not fit these tables

    @classmethod
    def of(cls, model: Any) -> Self:
        """The tables of a model; XLNet and most DeBERTas have no positions."""
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
        """The width of all tables."""
        return self.words.shape[1]

    def changed(self, change: Callable[[Tensor], Tensor]) -> "Tables":
        """The tables with a function applied to each; without the norm, which no longer fits."""
        positions = None if self.positions is None else change(self.positions)
        return Tables(change(self.words), positions, None if self.types is None else change(self.types), norm=None)


def start_embeddings(student: Any, teacher: Any, *, vocabulary: Sequence[int] | None) -> None:
    """Copy the teacher's rows into the student's tables: token i gets the row of the teacher's token `vocabulary[i]`.

    A student without token types adds the type of first texts to its positions, so that it reads single texts as the
    teacher does. If a student has more types than its teacher, the additional ones start as the first one.
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
    """The table without the rows up to the padding id: RoBERTa and MPNet count positions from there."""
    return positions.weight if positions.padding_idx is None else positions.weight[positions.padding_idx + 1 :]


def _projected(tables: Tables, model: Any) -> Tables:
    """The tables after the model's projection to the width of its states, if it has one."""
    found = (module_at(model.base_model, name) for name in PROJECTIONS)
    projection = next((part for part in found if isinstance(part, nn.Linear)), None)
    if projection is None:
        return tables
    weight, bias = projection.weight, projection.bias
    projected = tables.changed(lambda table: table @ weight.T)
    return projected if bias is None else replace(projected, words=projected.words + bias)


def _cut(tables: Tables, *, width: int) -> Tables:
    """All tables on the first `width` principal axes of the words, scaled so that the words' root mean square stays.

    The axes are the right singular vectors of the table of words. A wider student gets all of them.
    """
    words = tables.words.float()
    _, axes = torch.linalg.eigh((words.T @ words).double())
    axes = axes.flip(1)[:, :width].to(words.dtype)  # the largest first
    largest = axes.abs().argmax(dim=0)
    axes = axes * axes.gather(0, largest[None, :]).sign()  # the sign of an axis is arbitrary: fixed here
    scale = words.square().mean().sqrt() / (words @ axes).square().mean().sqrt().clamp(min=1e-12)
    return tables.changed(lambda table: table.float() @ axes * scale)

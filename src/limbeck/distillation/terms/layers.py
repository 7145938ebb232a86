"""Terms on inner layers: the teacher runs on every batch during the student's training."""

from collections.abc import Sequence
from typing import Literal, assert_never

import torch
from torch import Tensor, nn

from limbeck.distillation.losses.layers import (
    attention_scores,
    fsp,
    hidden_mse,
    minilm,
    minilm_v2,
    nst,
    pkd,
)
from limbeck.distillation.terms.term import Batch, LayerShape, Shapes, Term, formula_of, projection
from limbeck.errors import StudentError
from limbeck.models.layer_states import LayerStates
from limbeck.recipe.losses import (
    AddedLoss,
    AttentionKl,
    AttentionMse,
    EmbeddingMse,
    Fsp,
    HiddenCosine,
    HiddenMse,
    MappedLoss,
    MiniLm,
    MiniLmV2,
    Nst,
    Pkd,
)


class LayerMapImpossible(StudentError):
    """The layers of student and teacher cannot be paired as requested."""

    def __init__(self, *, asked: str, reason: str, student_layers: int, teacher_layers: int, to_do: str) -> None:
        self.asked, self.reason = asked, reason
        self.student_layers, self.teacher_layers = student_layers, teacher_layers
        super().__init__(
            f"layers of student and teacher cannot be paired by {asked}: {reason}",
            found=f"layers of the student: {student_layers}; of the teacher: {teacher_layers}",
            advice=to_do,
        )


class LayerWeightsDiffer(StudentError):
    """There are not as many weights of layers as pairs of layers."""

    def __init__(self, *, loss: str, weights: int, pairs: Sequence[str]) -> None:
        self.loss = loss
        super().__init__(
            f"{loss} compares {len(pairs)} pairs of layers, and its layer_weights are {weights}",
            found="pairs of student and teacher: " + ", ".join(pairs),
            advice='Give a weight for each pair, or layer_weights = "mean" or "sum".',
        )


class HeadsDiffer(StudentError):
    """A loss compares attention head by head, and the two models have different numbers of heads."""

    def __init__(self, *, loss: str, student: int, teacher: int) -> None:
        self.loss = loss
        super().__init__(
            f"{loss} compares attention head by head, and the student has {student} heads, the teacher {teacher}",
            advice=f"Set student.heads = {teacher}, or use minilm_v2, which splits both into its own relation heads.",
        )


class RelationHeadsImpossible(StudentError):
    """The vectors of a layer cannot be split into this number of equal heads."""

    def __init__(self, *, heads: int, student_width: int, teacher_width: int) -> None:
        common = [number for number in range(1, 97) if student_width % number == 0 and teacher_width % number == 0]
        super().__init__(
            f"minilm_v2 cannot split layers into {heads} relation heads",
            found=f"width of the student: {student_width}; of the teacher: {teacher_width}",
            advice=f"Set its relation_heads to a number that divides both: {', '.join(map(str, common[-6:]))}.",
        )


def layers_compared(shapes: Shapes) -> tuple[LayerShape, LayerShape]:
    """The layer shapes of student and teacher."""
    assert shapes.student_layers is not None
    assert shapes.teacher_layers is not None
    return shapes.student_layers, shapes.teacher_layers


def pairs_of(loss: MappedLoss, student: LayerShape, teacher: LayerShape) -> list[tuple[int, int]]:
    """The pairs of layers that the loss compares, counted from 1."""
    return layer_pairs(loss.layers, student_layers=student.layers, teacher_layers=teacher.layers, every=loss.every)


class HiddenStates(Term):
    """Pairs of layers; states of a narrower student are projected first."""

    def __init__(self, loss: HiddenMse | HiddenCosine, shapes: Shapes) -> None:
        super().__init__()
        student, teacher = layers_compared(shapes)
        self._formula = formula_of(loss)
        self._pairs = pairs_of(loss, student, teacher)
        self._weights = layer_weights_of(loss, self._pairs)
        shared = loss.projection == "shared"
        self.projections = nn.ModuleList(
            projection(student.width, teacher.width) for _ in (self._pairs[:1] if shared else self._pairs)
        )

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = layers_of(batch)
        terms = [
            self._formula(
                self.projections[min(number, len(self.projections) - 1)](student.hidden[lower]),
                teacher.hidden[upper],
                batch.mask,
            )
            for number, (lower, upper) in enumerate(self._pairs)
        ]
        return weighted_sum(terms, self._weights)


class Attention(Term):
    """Pairs of layers: a formula on attention scores before the softmax."""

    def __init__(self, loss: AttentionMse | AttentionKl, shapes: Shapes) -> None:
        super().__init__()
        student, teacher = layers_compared(shapes)
        refuse_other_heads(loss.kind, student, teacher)
        self._formula = formula_of(loss)
        self._pairs = pairs_of(loss, student, teacher)
        self._weights = layer_weights_of(loss, self._pairs)

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = layers_of(batch)
        terms = [
            self._formula(scores_at(student, lower), scores_at(teacher, upper), batch.mask)
            for lower, upper in self._pairs
        ]
        return weighted_sum(terms, self._weights)


class Patience(Term):
    """Normalised states of the first token."""

    def __init__(self, loss: Pkd, shapes: Shapes) -> None:
        super().__init__()
        student, teacher = layers_compared(shapes)
        self._pairs = pairs_of(loss, student, teacher)
        self.projection = projection(student.width, teacher.width)

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = layers_of(batch)
        lower = torch.stack([self.projection(student.hidden[layer][:, 0]) for layer, _ in self._pairs])
        upper = torch.stack([teacher.hidden[layer][:, 0] for _, layer in self._pairs])
        return pkd(lower, upper)


class Selectivity(Term):
    """Pairs of layers: similarities between tokens."""

    def __init__(self, loss: Nst, shapes: Shapes) -> None:
        super().__init__()
        student, teacher = layers_compared(shapes)
        self._pairs = pairs_of(loss, student, teacher)
        self._weights = layer_weights_of(loss, self._pairs)

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = layers_of(batch)
        terms = [nst(student.hidden[lower], teacher.hidden[upper], batch.mask) for lower, upper in self._pairs]
        return weighted_sum(terms, self._weights)


class Embeddings(Term):
    """The embeddings below the first layer."""

    def __init__(self, _loss: EmbeddingMse, shapes: Shapes) -> None:
        super().__init__()
        student, teacher = layers_compared(shapes)
        self.projection = projection(student.width, teacher.width)

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = layers_of(batch)
        return hidden_mse(self.projection(student.hidden[0]), teacher.hidden[0], batch.mask)


class LastRelations(Term):
    """MiniLM's attention and value relations of the last layers."""

    def __init__(self, _loss: MiniLm, shapes: Shapes) -> None:
        super().__init__()
        student, teacher = layers_compared(shapes)
        refuse_other_heads("minilm", student, teacher)

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = layers_of(batch)
        return minilm(*parts_at(student, -1), *parts_at(teacher, -1), batch.mask)


class HeadRelations(Term):
    """MiniLMv2's relations between the student's last layer and one of the teacher's."""

    def __init__(self, loss: MiniLmV2, shapes: Shapes) -> None:
        super().__init__()
        student, teacher = layers_compared(shapes)
        if loss.teacher_layer and loss.teacher_layer > teacher.layers:
            raise LayerMapImpossible(
                asked=f"minilm_v2.teacher_layer = {loss.teacher_layer}",
                reason="the teacher has fewer layers",
                student_layers=student.layers,
                teacher_layers=teacher.layers,
                to_do=f"Use a layer from 1 to {teacher.layers}, or remove the key (default: the last).",
            )
        if student.width % loss.relation_heads or teacher.width % loss.relation_heads:
            raise RelationHeadsImpossible(
                heads=loss.relation_heads, student_width=student.width, teacher_width=teacher.width
            )
        self._heads, self._teacher = loss.relation_heads, (loss.teacher_layer or teacher.layers) - 1

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = layers_of(batch)
        parts = parts_at(student, -1), parts_at(teacher, self._teacher)
        return minilm_v2(*parts, batch.mask, relation_heads=self._heads)


class Flow(Term):
    """The products of two layers of a model."""

    def __init__(self, loss: Fsp, shapes: Shapes) -> None:
        super().__init__()
        student, teacher = layers_compared(shapes)
        self._student = loss.student_layers or [1, student.layers]
        self._teacher = loss.teacher_layers or [
            1 + round((layer - 1) * (teacher.layers - 1) / max(student.layers - 1, 1)) if layer else 0
            for layer in self._student
        ]
        if max(self._student) > student.layers or max(self._teacher) > teacher.layers:
            raise LayerMapImpossible(
                asked=f"fsp between layers {self._student} and {self._teacher}",
                reason="a model has fewer layers",
                student_layers=student.layers,
                teacher_layers=teacher.layers,
                to_do="Name layers that exist, or remove student_layers and teacher_layers.",
            )
        self.projection = projection(student.width, teacher.width)

    def forward(self, batch: Batch) -> Tensor:
        """One number."""
        student, teacher = layers_of(batch)
        below, above = (self.projection(student.hidden[layer]) for layer in self._student)
        lower, upper = (teacher.hidden[layer] for layer in self._teacher)
        return fsp(below, above, lower, upper, batch.mask)


def layers_of(batch: Batch) -> tuple[LayerStates, LayerStates]:
    """The layer states of the student and of the teacher."""
    assert batch.student.layers is not None
    assert batch.teacher.layers is not None
    return batch.student.layers, batch.teacher.layers


def scores_at(states: LayerStates, layer: int) -> Tensor:
    """(rows, heads, tokens, tokens): the attention scores of a layer, counted from 1."""
    return attention_scores(states.queries[layer - 1], states.keys[layer - 1])


def parts_at(states: LayerStates, place: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of a layer, counted from 0."""
    return states.queries[place], states.keys[place], states.values[place]


def layer_weights_of(loss: AddedLoss, pairs: Sequence[tuple[int, int]]) -> list[float]:
    """The weight of each pair of layers. Raises LayerWeightsDiffer if there is not one for each."""
    match loss.layer_weights:
        case "mean":
            return [1 / len(pairs)] * len(pairs)
        case "sum":
            return [1.0] * len(pairs)
        case weights:
            if len(weights) != len(pairs):
                named = [f"{lower} and {upper}" for lower, upper in pairs]
                raise LayerWeightsDiffer(loss=loss.kind, weights=len(weights), pairs=named)
            return list(weights)


def weighted_sum(terms: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """Σ wᵢ·termᵢ"""
    stacked = torch.stack(list(terms))
    return (stacked * stacked.new_tensor(weights)).sum()


def refuse_other_heads(kind: str, student: LayerShape, teacher: LayerShape) -> None:
    """Raises HeadsDiffer: attention can only be compared head by head."""
    if student.heads != teacher.heads:
        raise HeadsDiffer(loss=kind, student=student.heads, teacher=teacher.heads)


Pairs = list[tuple[int, int]]  # (student layer, teacher layer), both from 1; 0 would be the embeddings
Rule = Literal["uniform", "last", "top", "skip", "every"]


def layer_pairs(
    rule: Rule | Sequence[Sequence[int]], *, student_layers: int, teacher_layers: int, every: int | None = None
) -> Pairs:
    """Pairs of layer numbers, counted from 1, for a student of M layers and a teacher of N.

        uniform   m ↔ m · N / M, halves rounded up: last ↔ last (TinyBERT, arXiv:1909.10351)
        last      only M ↔ N (DistilBERT, MiniLM)
        top       m ↔ N - M + m
        skip      as uniform, without the last pair (PKD-skip, arXiv:1908.09355)
        every     m ↔ m · every; only this rule uses `every`

    or the pairs that `rule` lists. Raises LayerMapImpossible if a pair names a layer that does not exist, if the rule
    needs a teacher with at least as many layers, or if a layer of the student appears in two pairs.
    """
    asked = _as_text(rule, every)

    def refused(reason: str, to_do: str) -> LayerMapImpossible:
        return LayerMapImpossible(
            asked=asked, reason=reason, student_layers=student_layers, teacher_layers=teacher_layers, to_do=to_do
        )

    if rule in ("uniform", "top", "skip") and student_layers > teacher_layers:
        raise refused("the student is deeper than the teacher", 'Use "last", or list the pairs of layers.')
    if rule == "skip" and student_layers == 1:
        raise refused('"skip" skips the last layer, and the student has only one', 'Use "last".')
    if rule == "every" and every is None:
        raise refused("`every` is missing", "Set `every` to the number of teacher layers per student layer.")
    pairs = _pairs(rule, student_layers, teacher_layers, every or 0)
    if wrong := _problem_of(pairs, student_layers, teacher_layers):
        numbers = f"Layers count from 1: 1 to {student_layers} of the student, 1 to {teacher_layers} of the teacher."
        raise refused(wrong, 'Lower `every`, or use "last".' if rule == "every" else numbers)
    return pairs


def _pairs(rule: Rule | Sequence[Sequence[int]], student_layers: int, teacher_layers: int, every: int) -> Pairs:
    layers = range(1, student_layers + 1)
    uniform = [(layer, (2 * layer * teacher_layers + student_layers) // (2 * student_layers)) for layer in layers]
    match rule:
        case "uniform":
            return uniform
        case "last":
            return [(student_layers, teacher_layers)]
        case "top":
            return [(layer, teacher_layers - student_layers + layer) for layer in layers]
        case "skip":
            return uniform[:-1]
        case "every":
            return [(layer, layer * every) for layer in layers]
        case str():
            assert_never(rule)
        case _:
            return [(student, teacher) for student, teacher in rule]


def _problem_of(pairs: Pairs, student_layers: int, teacher_layers: int) -> str:
    """Why these pairs are impossible; empty if they are possible."""
    if not pairs:
        return "no pair is given"
    for student, teacher in pairs:
        if not 1 <= student <= student_layers:
            return f"the student has no layer {student}"
        if not 1 <= teacher <= teacher_layers:
            return f"the teacher has no layer {teacher}"
    students = [student for student, _ in pairs]
    twice = sorted({student for student in students if students.count(student) > 1})
    return f"layer {twice[0]} of the student appears in two pairs" if twice else ""


def _as_text(rule: Rule | Sequence[Sequence[int]], every: int | None) -> str:
    """The rule as the recipe writes it."""
    if rule == "every":
        return '"every"' if every is None else f'"every" {every}'
    return f'"{rule}"' if isinstance(rule, str) else str([list(pair) for pair in rule])

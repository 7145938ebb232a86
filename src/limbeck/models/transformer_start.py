"""Initialises a transformer student with the layers, embeddings and classifier of its teacher."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import torch
from torch import nn

from limbeck.errors import StudentError, some
from limbeck.models.embedding_start import start_embeddings
from limbeck.models.layer_parts import FAMILIES, POSITIONS, TYPES, WORDS, layers_of, module_at

LayerChoice = Literal["uniform", "first", "last"] | list[int]
Parts = Iterator[tuple[nn.Module | None, nn.Module | None]]  # a part of the student, and the teacher's part for it


class TeacherLayersMissing(StudentError):
    """A student is to start from layers that its teacher does not have."""

    def __init__(self, *, asked: str, missing: Sequence[int], teacher_layers: int) -> None:
        self.missing = tuple(missing)
        super().__init__(
            f"the student cannot start from these layers of its teacher: student.teacher_layers = {asked}",
            found=f"missing: {some(missing)}; the teacher has {teacher_layers}, from 0 to {teacher_layers - 1}",
            advice='Set student.teacher_layers = "uniform", name layers that exist, or lower student.layers.',
        )


def layer_sources(how: LayerChoice, *, student_layers: int, teacher_layers: int) -> list[int]:
    """For each layer of the student, from 0, the layer of the teacher that it starts from.

    "uniform" goes from the first layer to the last in equal steps, rounded: layer i of n starts from layer
    i · (N − 1) / (n − 1) of N. That is 0, 2, 4, 7, 9, 11 for 6 of 12, as in DistilBERT, and all layers if both have
    the same number; a single layer starts from the first, and layers of a teacher with fewer are used several times.
    """
    if how == "uniform":
        steps = max(student_layers - 1, 1)
        return [(2 * layer * (teacher_layers - 1) + steps) // (2 * steps) for layer in range(student_layers)]
    skipped = teacher_layers - student_layers if how == "last" else 0
    chosen = how if isinstance(how, list) else [skipped + layer for layer in range(student_layers)]
    missing = [layer for layer in chosen if not 0 <= layer < teacher_layers]
    if missing:
        raise TeacherLayersMissing(asked=str(how), missing=missing, teacher_layers=teacher_layers)
    return chosen


def starts_as_classifier(kind: str, *, teacher_kind: str) -> bool:
    """Whether a student of the teacher's width can start with the teacher's classifier, given both model_types."""
    if teacher_kind not in FAMILIES:
        return False
    return kind == teacher_kind or FAMILIES[kind].activation == FAMILIES[teacher_kind].activation


def start_from_teacher(
    student: Any, teacher: Any, *, teacher_layers: LayerChoice, vocabulary: Sequence[int] | None
) -> None:
    """Copy the teacher's weights that fit into the student; the other weights stay as they are.

    With the same width, a student of the teacher's family gets every part that has the same shape, including MPNet's
    relative position bias. A student of another family gets the eight parts of each layer, if the teacher's layers are
    built like BERT's, and the classifier if both have the same activation; what is not in those parts, like that bias,
    is lost. With another width it gets only the embeddings, reduced to their principal axes. The last layer of the
    classifier is copied only if the classes have the same names in the same order.
    """
    with torch.no_grad():
        if student.config.hidden_size == teacher.config.hidden_size:
            for own, theirs in _counterparts(student, teacher, teacher_layers):
                _copy_weights(own, theirs)
        start_embeddings(student, teacher, vocabulary=vocabulary)


def _counterparts(student: Any, teacher: Any, teacher_layers: LayerChoice) -> Parts:
    kind = teacher.config.model_type
    if kind not in FAMILIES:
        return
    sources = layer_sources(
        teacher_layers, student_layers=len(layers_of(student)), teacher_layers=len(layers_of(teacher))
    )
    same_classes = list(student.config.id2label.values()) == list(teacher.config.id2label.values())
    if student.config.model_type == kind:
        yield from _by_name(student, teacher, sources, with_classes=same_classes)
    else:
        yield from _by_part(student, teacher, sources, with_classes=same_classes)


def _by_name(student: Any, teacher: Any, sources: Sequence[int], *, with_classes: bool) -> Parts:
    """All parts except the embedding tables, paired by name; the layer number in the name is that of its source."""
    family, base = FAMILIES[student.config.model_type], student.base_model_prefix
    skipped = {f"{base}.{table}" for table in (WORDS, POSITIONS, TYPES)} | (set() if with_classes else {family.classes})
    layers = f"{base}.{family.layers}."
    for name, part in student.named_modules():
        if name.startswith(layers):
            number, dot, rest = name.removeprefix(layers).partition(".")
            name = f"{layers}{sources[int(number)]}{dot}{rest}"
        if name and name not in skipped:
            yield part, module_at(teacher, name)


def _by_part(student: Any, teacher: Any, sources: Sequence[int], *, with_classes: bool) -> Parts:
    own, theirs = (FAMILIES[model.config.model_type] for model in (student, teacher))
    their_layers = layers_of(teacher)
    for layer, source in zip(layers_of(student), sources, strict=True):
        for name, their_name in zip(own.parts.all, theirs.parts.all, strict=True):
            yield module_at(layer, name), module_at(their_layers[source], their_name)
    if starts_as_classifier(student.config.model_type, teacher_kind=teacher.config.model_type):
        yield module_at(student, own.dense), module_at(teacher, theirs.dense)
        if with_classes:
            yield module_at(student, own.classes), module_at(teacher, theirs.classes)


def _copy_weights(own: nn.Module | None, theirs: nn.Module | None) -> None:
    """Copy the weights of one part, without its submodules; only if all of them have the same shape."""
    if own is None or theirs is None:
        return
    weights, their_weights = (dict(part.named_parameters(recurse=False)) for part in (own, theirs))
    if {name: weight.shape for name, weight in weights.items()} == {
        name: weight.shape for name, weight in their_weights.items()
    }:
        for name, weight in weights.items():
            weight.copy_(their_weights[name])

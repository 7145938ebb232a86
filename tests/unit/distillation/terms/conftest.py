"""Random outputs of two models for a batch."""

from collections.abc import Callable

import pytest
import torch

from limbeck.distillation.terms.term import Batch, LayerShape, Outputs, Shapes
from limbeck.models.layer_states import LayerStates

ROWS, TOKENS, CLASSES = 5, 4, 3


@pytest.fixture
def make_batch() -> Callable[..., Batch]:
    """make_batch(shapes, done=0.0): logits of three classes, and features and layers where the shapes have them.

    What the student says has gradients. The last row has padding, and no label.
    """

    def make(shapes: Shapes, *, done: float = 0.0) -> Batch:
        torch.manual_seed(3)
        student = Outputs(
            torch.randn(ROWS, CLASSES, requires_grad=True),
            features=_features(shapes.student_features, learns=True),
            layers=_layers(shapes.student_layers, learns=True),
        )
        teacher = Outputs(
            torch.randn(ROWS, CLASSES),
            features=_features(shapes.teacher_features, learns=False),
            layers=_layers(shapes.teacher_layers, learns=False),
        )
        labels = torch.tensor([0, 1, 2, 0, -1])
        if shapes.multi_label:
            labels = torch.tensor([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0], [-1, -1, -1]])
        mask = torch.ones(ROWS, TOKENS, dtype=torch.long)
        mask[-1, -2:] = 0
        numbers = None if shapes.row_groups is None else torch.arange(ROWS)
        return Batch(student, teacher, labels=labels, mask=mask, done=done, row_numbers=numbers)

    return make


def _features(width: int | None, *, learns: bool) -> torch.Tensor | None:
    return None if width is None else torch.randn(ROWS, width, requires_grad=learns)


def _layers(shape: LayerShape | None, *, learns: bool) -> LayerStates | None:
    if shape is None:
        return None
    states = torch.randn(shape.layers + 1, ROWS, TOKENS, shape.width, requires_grad=learns)
    heads = torch.randn(3, shape.layers, ROWS, shape.heads, TOKENS, shape.width // shape.heads, requires_grad=learns)
    queries, keys, values = (tuple(part) for part in heads)
    return LayerStates(tuple(states), queries=queries, keys=keys, values=values)

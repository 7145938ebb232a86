"""What a student cannot be taught is said before anything runs: the shapes of both models are enough to know it."""

from typing import Any

from transformers import AutoConfig

from limbeck.distillation.objective import term_of
from limbeck.distillation.terms.shapes import LayerShape, Shapes
from limbeck.errors import LayersUnreadable
from limbeck.models.checkpoint import damage_told, find_checkpoint
from limbeck.models.layer_parts import FAMILIES
from limbeck.models.transformer import refuse_family, shape_for
from limbeck.models.transformer_start import layer_sources
from limbeck.recipe.losses import LayerLoss
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import Transformer
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.training.modes import quiet_transformers

ANY_WIDTH = 8  # of features: no loss on them depends on it


def refuse_the_impossible(recipe: Recipe) -> None:
    """Raise what building the student, or a term of its objective, would raise hours later.

    A loss function that cannot be imported, layers or heads that the two models do not have, a family of teachers
    whose attention cannot be read or whose layers cannot be dropped.
    """
    losses, student = recipe.distillation.every_loss, recipe.student
    shapes = Shapes(student_features=ANY_WIDTH, teacher_features=ANY_WIDTH)
    if isinstance(student, Transformer) and isinstance(recipe.teacher, EncoderTeacher):
        config = _config_of(recipe.teacher.checkpoint)
        shapes = _layer_shapes(student, config)
        if config.model_type not in FAMILIES and any(
            isinstance(loss, LayerLoss) and loss.reads_attention for loss in losses
        ):
            raise LayersUnreadable(family=config.model_type, known=list(FAMILIES))
    for loss in losses:
        term_of(loss, shapes)


def _layer_shapes(student: Transformer, theirs: Any) -> Shapes:
    refuse_family(student, model_type=theirs.model_type)
    shape = shape_for(student, theirs)
    if student.start == "teacher" and shape.width == theirs.hidden_size:
        layer_sources(student.teacher_layers, student_layers=student.layers, teacher_layers=theirs.num_hidden_layers)
    return Shapes(
        student_features=ANY_WIDTH,
        teacher_features=ANY_WIDTH,
        student_layers=LayerShape(layers=student.layers, heads=shape.heads, width=shape.width),
        teacher_layers=LayerShape(theirs.num_hidden_layers, theirs.num_attention_heads, theirs.hidden_size),
    )


def _config_of(checkpoint: str) -> Any:
    quiet_transformers()
    folder = find_checkpoint(checkpoint)
    with damage_told(folder):
        return AutoConfig.from_pretrained(folder)

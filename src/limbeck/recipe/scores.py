"""What a recipe with `corpus.task = "regression"` may not ask for, because it needs classes with probabilities."""

from typing import TYPE_CHECKING

from limbeck.kinds import LOSS_KINDS
from limbeck.recipe.losses import AnyLoss, HardLabels
from limbeck.recipe.teacher import each_teacher

if TYPE_CHECKING:  # the recipe calls this file
    from limbeck.recipe.recipe import Recipe

INSTEAD = "logit_mse, huber, hard_labels, and ranking beside one of them"


def refuse_class_only(recipe: "Recipe") -> None:
    """Raise ValueError for the first thing in a recipe of scores that has no meaning there, and for losses on scores in
    a recipe of classes."""
    losses = recipe.distillation.every_loss
    if not recipe.corpus.is_score:
        if wrong := [loss.kind for loss in losses if LOSS_KINDS[loss.kind].scores == "only"]:
            raise ValueError(f'{", ".join(wrong)}: for scores only, and corpus.task is "classification": remove it')
        return
    _refuse_losses(losses)
    for stage_losses in [stage.losses for stage in recipe.distillation.stages] or [recipe.distillation.losses]:
        _refuse_order_alone(stage_losses)
    if recipe.transfer is not None and (recipe.transfer.choice == "balanced" or recipe.transfer.least_confidence):
        what = 'choice = "balanced"' if recipe.transfer.choice == "balanced" else "least_confidence"
        raise ValueError(f'transfer.{what} needs classes, and corpus.task is "regression": remove it')
    _refuse_probabilities(recipe)


def _refuse_losses(losses: list[AnyLoss]) -> None:
    if wrong := [loss.kind for loss in losses if LOSS_KINDS[loss.kind].scores == "never"]:
        raise ValueError(
            f'{", ".join(wrong)}: compares probabilities of classes, and corpus.task is "regression": use {INSTEAD}'
        )
    if any(isinstance(loss, HardLabels) and loss.smoothing for loss in losses):
        raise ValueError('smoothing spreads probability over classes, and corpus.task is "regression": remove it')


def _refuse_order_alone(losses: list[AnyLoss]) -> None:
    """Of a list of losses, one that says nothing about where scores lie may not be the only one on outputs."""
    kinds = {loss.kind for loss in losses}
    if "ranking" in kinds and not kinds & {"logit_mse", "huber", "hard_labels", "custom"}:
        raise ValueError("ranking alone does not say where scores lie: add logit_mse, huber or hard_labels beside it")


OF_CLASSES = ("values", "answers", "label_names")  # keys of kinds of teachers


def _gives_scores(member: object, name: str) -> bool:
    """Whether a language model's answers are scores this way, too: of what it says of itself there are none."""
    return name == "answers" and getattr(member, name) in ("logprobs", "votes")


def _refuse_probabilities(recipe: "Recipe") -> None:
    for member in each_teacher(recipe.teacher):
        given = [name for name in OF_CLASSES if name in member.model_fields_set and not _gives_scores(member, name)]
        if wrong := [name for name in given if getattr(member, name) != type(member).model_fields[name].default]:
            raise ValueError(f'teacher.{wrong[0]} is about classes, and corpus.task is "regression": remove it')

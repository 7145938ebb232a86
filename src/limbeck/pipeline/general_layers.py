"""`limbeck pretrain` for a transformer: its teacher, which is opened with its head, and its losses on layers."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from limbeck.artifacts.manifest import Key
from limbeck.distillation.objective import Objective
from limbeck.distillation.student_with_objective import shape_of
from limbeck.distillation.terms.term import Batch, Outputs, Shapes
from limbeck.general.layers import NamedTeacher, distil_as_member
from limbeck.pipeline.keys import input_fingerprints
from limbeck.pretraining.loading import load_masked_lm
from limbeck.recipe.general_layers import GeneralLayers, GeneralLayersRecipe
from limbeck.recipe.losses import LayerLoss
from limbeck.teacher.checkpoint import checkpoint_fingerprint, find_checkpoint

DECIDE_NOTHING = {"name", "teacher", "processes"}  # of [general]: the teacher is in the key by what it holds


class OnLayers(nn.Module):
    """The weighted losses on the layers of student and teacher."""

    def __init__(self, losses: Sequence[LayerLoss], student: Any, teacher: Any) -> None:
        super().__init__()
        self.objective = Objective(losses, Shapes(student_layers=shape_of(student), teacher_layers=shape_of(teacher)))

    def forward(
        self, student: Any, teacher: Any, mask: Tensor, done: float, weights: Mapping[str, float]
    ) -> dict[str, Tensor]:
        """The terms by name, for the states of both."""
        none = torch.zeros(0, device=mask.device)
        own, theirs = Outputs(none, layers=student), Outputs(none, layers=teacher)
        terms: dict[str, Tensor] = self.objective(Batch(own, theirs, none, mask, done, weights))
        return terms


def teacher_of(section: GeneralLayers) -> NamedTeacher:
    """The encoder of the recipe, found now and opened later."""
    folder = find_checkpoint(section.teacher)
    return NamedTeacher(
        name=Path(section.teacher).name,
        fingerprint=checkpoint_fingerprint(section.teacher),
        open=partial(load_masked_lm, folder, name=section.teacher, max_length=section.window),
        objective=_objective(section.on_layers),
        as_member="limbeck.pipeline.general_layers:train_as_member",
    )


def train_as_member(job: Mapping[str, Any]) -> None:
    """One process of a group that distils together."""
    recipe = GeneralLayersRecipe.model_validate(job["recipe"])
    distil_as_member(recipe, teacher_of(recipe.general), job)


def _objective(losses: Sequence[LayerLoss]) -> Callable[[Any, Any], nn.Module]:
    return partial(OnLayers, losses)


def key_of_layers(recipe: GeneralLayersRecipe, teacher: NamedTeacher) -> Key:
    """What the artifact is made from."""
    written = recipe.model_dump(mode="json", exclude={"transfer": {"files", "hub"}, "general": DECIDE_NOTHING})
    return Key(section=written, inputs={"teacher": teacher.fingerprint, **input_fingerprints(recipe.transfer)})

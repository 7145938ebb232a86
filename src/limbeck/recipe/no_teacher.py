"""`[teacher] kind = "none"`: a run without a teacher, whose students learn from the labels alone."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from limbeck.recipe.base import Section
from limbeck.recipe.losses import needs_of
from limbeck.recipe.traits import TeacherTraits

if TYPE_CHECKING:
    from limbeck.recipe.recipe import Recipe

NONE = "none"


class NoTeacher(Section):
    """No teacher: no encoder is loaded, and nothing is asked. The student learns from the labels of train alone, as the
    baseline of other runs does. Short form, at the top of the recipe: `teacher = "none"`."""

    traits: ClassVar = TeacherTraits(has_tokens=False, has_features=False, answers_new_texts=False)

    kind: Literal["none"]
    """The kind of teacher."""


def on_labels_alone(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """A recipe without a teacher, with what then follows: the labels are the only loss, and there is no baseline, as
    the student itself is trained alone. What the recipe says itself stays."""
    teacher, distillation = given.get("teacher"), given.get("distillation", {})
    kind = teacher.get("kind") if isinstance(teacher, Mapping) else teacher
    if kind != NONE or not isinstance(distillation, Mapping):
        return given
    own: dict[str, Any] = {"baseline": False}
    if "stages" not in distillation:
        own["losses"] = [{"kind": "hard_labels"}]
    return {**given, "distillation": {**own, **distillation}}


def refuse_what_needs_a_teacher(recipe: "Recipe") -> None:
    """Raise ValueError for what a run without a teacher cannot have."""
    if not isinstance(recipe.teacher, NoTeacher):
        return
    for name, what in (("transfer", "transfer text has"), ("augmentation", "changed copies have")):
        if getattr(recipe, name) is not None:
            problem = f'{what} no labels, and teacher.kind = "none" gives none'
            raise ValueError(f"{problem}: remove [{name}], or set a teacher")
    wanting = [loss.kind for loss in recipe.distillation.every_loss if needs_of(loss) != {"labels"}]
    if wanting:
        raise ValueError(
            f"{', '.join(dict.fromkeys(wanting))} {'need' if wanting[1:] else 'needs'} a teacher, and teacher.kind is "
            '"none": use hard_labels alone, or set a teacher'
        )
    if recipe.distillation.baseline:
        raise ValueError(
            'distillation.baseline is the student without a teacher, and with teacher.kind = "none" the student is that'
            " already: remove the key"
        )
    if recipe.export.teacher != "none":
        raise ValueError('export.teacher keeps the teacher, and teacher.kind is "none": remove the key')
    if recipe.labeling.features not in ("auto", "none"):
        raise ValueError('labeling.features are a teacher\'s, and teacher.kind is "none": remove the key')

"""The training stages of a student, in order: most often there is only one."""

from dataclasses import dataclass, replace
from typing import Any

from limbeck.recipe.distillation import Distillation
from limbeck.recipe.losses import AnyLoss, HardLabels, needs_of
from limbeck.recipe.student import AnyStudent, Ngrams
from limbeck.recipe.textgcn import TextGcn


@dataclass(frozen=True)
class Training:
    """One training stage: the settings of the loop, and the losses."""

    settings: Distillation
    losses: list[AnyLoss]
    folder: str  # of its checkpoints, in the work folder
    title: str  # printed after the student's name while it runs

    @property
    def judged_by_dev(self) -> bool:
        """Whether dev can select the best epoch: losses on inner layers alone do not train the classifier."""
        return any({"labels", "logits"} & needs_of(loss) for loss in self.losses)

    def at_rate(self, learning_rate: float) -> "Training":
        """The same with another learning rate."""
        return replace(self, settings=self.settings.model_copy(update={"learning_rate": learning_rate}))


def trainings_of(section: Distillation, *, alone: bool, is_fitted: bool = False) -> list[Training]:
    """The training stages of the recipe; the baseline has one, on the labels.

    A baseline that starts as a model fitted to these labels (`is_fitted`) has no epochs: it is finished.
    """
    if alone:
        epochs = 0 if is_fitted else section.baseline_epochs or section.epochs
        section = section.model_copy(update={"epochs": epochs})
        return [Training(section, [HardLabels(kind="hard_labels")], folder="", title="")]
    if not section.stages:
        return [Training(section, list(section.losses), folder="", title="")]
    last = len(section.stages)
    return [
        Training(
            section.model_copy(
                update={
                    **{
                        name: value for name, value in stage.model_dump(exclude={"losses"}).items() if value is not None
                    },
                    "pruning": section.pruning if number == last else None,
                }
            ),
            list(stage.losses),
            folder=f"stage-{number}",
            title=f", stage {number} of {len(section.stages)}",
        )
        for number, stage in enumerate(section.stages, start=1)
    ]


def own_settings(student: AnyStudent) -> dict[str, Any]:
    """The keys of `[distillation]` that a student has itself."""
    if isinstance(student, TextGcn):
        return {"learning_rate": student.learning_rate, "batch_size": student.batch_size, "batches": "mixed"}
    return {"learning_rate": student.learning_rate} if isinstance(student, Ngrams) else {}

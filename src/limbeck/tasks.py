"""The kinds of task: one label a row, several labels a row, or a score; and what each of them has.

Whoever tells tasks apart asks this table: a corpus, a student and an exported model each have a `task`. What needs
classes (a probability for each of them, and so confidence, temperature, a cascade, calibration, a confusion matrix,
McNemar's test) is left out where `has_classes` is false, or refused with `limbeck.errors.NeedsClasses`.
"""

from dataclasses import dataclass
from typing import Literal

TaskName = Literal["one_label", "label_sets", "score"]
SCORE = "score"  # the name of the only output of a model of scores, and of its column in predictions


@dataclass(frozen=True, kw_only=True)
class Task:
    """A kind of task."""

    name: TaskName
    in_words: str  # what a row has: "one label"
    has_classes: bool  # else a model has one output, a number in standard units: limbeck.artifacts.score_scale
    problem_type: str | None  # as transformers says it in config.json; None: nothing, which means one label
    measure: str  # of the report's best model, in words

    @property
    def has_several_labels(self) -> bool:
        """Whether a row may have several labels, or none."""
        return self.name == "label_sets"


TASKS: dict[TaskName, Task] = {
    row.name: row
    for row in (
        Task(name="one_label", in_words="one label", has_classes=True, problem_type=None, measure="accuracy"),
        Task(
            name="label_sets",
            in_words="any number of labels",
            has_classes=True,
            problem_type="multi_label_classification",
            measure="macro F1",
        ),
        Task(name="score", in_words="a score", has_classes=False, problem_type="regression", measure="squared error"),
    )
}


def task_of(*, multi_label: bool, is_score: bool = False) -> Task:
    """The task with these facts."""
    return TASKS["score" if is_score else "label_sets" if multi_label else "one_label"]

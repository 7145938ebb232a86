"""The stages of a run, by the names that `--until` takes."""

from enum import StrEnum


class Stage(StrEnum):
    """In the order of the flow."""

    CORPUS = "corpus"
    TRANSFER = "transfer"
    AUGMENTATION = "augmentation"
    TEACHER = "teacher"
    LABELING = "labeling"
    DISTILLATION = "distillation"
    EXPORT = "export"
    EVALUATION = "evaluation"

"""The stages of the pipeline, with the names that `--until` accepts."""

from enum import StrEnum


class Stage(StrEnum):
    """The stages in order."""

    CORPUS = "corpus"
    TRANSFER = "transfer"
    AUGMENTATION = "augmentation"
    TEACHER = "teacher"
    LABELING = "labeling"
    DISTILLATION = "distillation"
    EXPORT = "export"
    EVALUATION = "evaluation"

"""Registers students with Hugging Face's Auto classes, so that `from_pretrained` and `pipeline` load their folders."""

from typing import Any

from transformers import AutoConfig, AutoModelForSequenceClassification

from limbeck.kinds import STUDENT_KINDS, resolved
from limbeck.models.mean_encoder import MeanEncoderConfig, MeanEncoderForSequenceClassification
from limbeck.models.twin_encoder import TwinEncoderConfig, TwinEncoderForSequenceClassification


def register_auto_classes() -> None:
    """Register every kind of student, and encoders with a head of ours, with AutoConfig and
    AutoModelForSequenceClassification.

    `import limbeck.models` calls it; calling it again is harmless. `import limbeck` does not: it loads neither torch
    nor transformers.
    """
    classes = [(row.config_class, row.model_class) for row in STUDENT_KINDS.values()]
    students = [(resolved(config), resolved(model)) for config, model in classes if config and model]
    encoders: list[tuple[Any, Any]] = [
        (MeanEncoderConfig, MeanEncoderForSequenceClassification),
        (TwinEncoderConfig, TwinEncoderForSequenceClassification),
    ]
    for config, model in (*students, *encoders):
        AutoConfig.register(config.model_type, config, exist_ok=True)
        AutoModelForSequenceClassification.register(config, model, exist_ok=True)

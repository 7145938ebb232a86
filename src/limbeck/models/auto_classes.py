"""Students among Hugging Face's Auto classes, so that `from_pretrained` and `pipeline` load them from their folders."""

from typing import Any

from transformers import AutoConfig, AutoModelForSequenceClassification

from limbeck.kinds import STUDENT_KINDS, resolved
from limbeck.models.mean_encoder import MeanEncoderConfig, MeanEncoderForSequenceClassification
from limbeck.models.twin_encoder import TwinEncoderConfig, TwinEncoderForSequenceClassification


def register_auto_classes() -> None:
    """Let AutoConfig and AutoModelForSequenceClassification know every kind of student, and the two kinds of
    encoder with a head of ours.

    `import limbeck.models` does it; a second time does no harm. `import limbeck` alone does not: it loads neither torch
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

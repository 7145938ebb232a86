"""What a student answers: the logits, and what they were read off."""

from dataclasses import dataclass

from torch import Tensor
from transformers.modeling_outputs import SequenceClassifierOutput


@dataclass
class StudentOutput(SequenceClassifierOutput):  # type: ignore[misc]  # transformers is untyped
    """Logits (rows, classes), and the features (rows, width) of each row that the head has read, for losses on them."""

    features: Tensor | None = None

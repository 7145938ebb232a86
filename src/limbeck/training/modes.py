"""Eval mode that is restored afterwards, and transformers without its own output."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import transformers
from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Eval mode and no gradients inside; afterwards the model is in its previous mode."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)


def quiet_transformers() -> None:
    """Turn off the progress bars and load reports of transformers; its errors are still logged."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()

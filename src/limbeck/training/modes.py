"""Leaving models and libraries as they were found."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import transformers
from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Eval mode and no gradients inside; the mode the model was in afterwards."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)


def quiet_transformers() -> None:
    """No bars and load reports of transformers between our own lines; its errors still speak."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()

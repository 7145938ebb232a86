"""Models are left as they were found."""

import pytest
import torch
from torch import nn

from limbeck.training.modes import evaluating


@pytest.mark.parametrize("was_training", [True, False])
def test_the_mode_is_restored_also_after_an_error(was_training: bool) -> None:
    model = nn.Dropout(0.5).train(was_training)

    def fail_inside() -> None:
        with evaluating(model):
            assert not model.training
            assert not torch.is_grad_enabled()
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        fail_inside()

    assert model.training is was_training
    assert torch.is_grad_enabled()

"""Student and teacher must have the same shape."""

import pytest
import torch

from limbeck.distillation.losses.parts import must_match


def test_shapes_that_broadcasting_would_stretch_are_refused() -> None:
    one_head, twelve_heads = torch.zeros(2, 1, 3, 3), torch.zeros(2, 12, 3, 3)

    with pytest.raises(ValueError, match=r"\(2, 1, 3, 3\) and teacher \(2, 12, 3, 3\)"):
        must_match(one_head, twelve_heads)


def test_equal_shapes_pass() -> None:
    must_match(torch.zeros(2, 3), torch.ones(2, 3))

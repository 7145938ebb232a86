"""The loss formulas, each a pure function of tensors; `objective` weighs and sums them."""

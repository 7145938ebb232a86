"""The losses, one formula a file, each a pure function of tensors; `objective` weighs and sums them."""

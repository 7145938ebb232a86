"""Factor transfer's networks: the paraphraser encodes the teacher's features as factors, the translator the student's.

Kim et al. 2018 (arXiv:1802.04977), with perceptrons instead of convolutions: features here are one vector per row.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SLOPE = 0.1  # of the leaky ReLUs
ROWS_AT_ONCE = 4096  # converted to float32 at a time, in passes over all rows


class Paraphraser(nn.Module):
    """An autoencoder of the teacher's features; its bottleneck gives the factors.

    Inside, features are standardised to mean 0 and standard deviation 1, as measured by `train_paraphraser`;
    reconstructions are in the features' own scale.
    """

    mean: Tensor  # (width)
    spread: Tensor  # (), one for all: the relative size of the features is information

    def __init__(self, width: int, *, share: float = 0.5) -> None:
        super().__init__()
        self.factor_width = max(1, round(share * width))
        self.encoder = _perceptron(width, self.factor_width)
        self.decoder = _perceptron(self.factor_width, width)
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("spread", torch.ones(()))

    def encode(self, features: Tensor) -> Tensor:
        """(rows, factor width)."""
        factors: Tensor = self.encoder(self.standardised(features))
        return factors

    def forward(self, features: Tensor) -> Tensor:
        """(rows, width): the features reconstructed from the factors."""
        return self._reconstructed(features) * self.spread + self.mean

    def standardised(self, features: Tensor) -> Tensor:
        """The features in the scale that the networks see."""
        return (features.float() - self.mean) / self.spread

    def error(self, features: Tensor) -> Tensor:
        """Mean squared error of the reconstruction in standardised units: 1 is no better than the mean of all rows."""
        return F.mse_loss(self._reconstructed(features), self.standardised(features))

    def _reconstructed(self, features: Tensor) -> Tensor:
        """The reconstruction in standardised units."""
        reconstruction: Tensor = self.decoder(self.encode(features))
        return reconstruction


class Translator(nn.Module):
    """Factors from the student's features; the same network as the paraphraser's encoder, trained with the student."""

    def __init__(self, student_width: int, factor_width: int) -> None:
        super().__init__()
        self.encoder = _perceptron(student_width, factor_width)

    def forward(self, features: Tensor) -> Tensor:
        """(rows, factor width)."""
        factors: Tensor = self.encoder(features)
        return factors


def train_paraphraser(
    paraphraser: Paraphraser,
    features: Tensor,
    *,
    epochs: int = 3,
    batch_size: int = 256,
    learning_rate: float = 1e-3,
    seed: int,
) -> float:
    """Train on the teacher's features (rows, width) of any precision; returns the final `error` over all rows.

    Weights are initialised again. They and the order of rows are drawn from a generator of its own: the result depends
    only on seed and features, and the random state of the caller does not change. Afterwards the weights are frozen
    (`requires_grad` is off). Features may be on another device than the paraphraser.
    """
    generator = torch.Generator().manual_seed(seed)
    _draw_weights(paraphraser, generator)
    _measure(paraphraser, features)
    paraphraser.requires_grad_(True)
    optimiser = torch.optim.Adam(paraphraser.parameters(), lr=learning_rate)
    for _ in range(epochs):
        order = torch.randperm(len(features), generator=generator).to(features.device)
        for places in torch.split(order, batch_size):
            optimiser.zero_grad()
            torch.autograd.backward(paraphraser.error(features[places].to(paraphraser.mean.device)))
            optimiser.step()
    optimiser.zero_grad()  # otherwise its last gradients would count when the student's are clipped
    paraphraser.requires_grad_(False)
    blocks = ((block, len(block) / len(features)) for block in _blocks(paraphraser, features))
    return sum(paraphraser.error(block).item() * share for block, share in blocks)


def _perceptron(inputs: int, outputs: int) -> nn.Sequential:
    """Two layers; the hidden one is as wide as the wider end, so that only the factors are narrow."""
    hidden = max(inputs, outputs)
    return nn.Sequential(nn.Linear(inputs, hidden), nn.LeakyReLU(SLOPE), nn.Linear(hidden, outputs))


def _blocks(paraphraser: Paraphraser, features: Tensor) -> Iterator[Tensor]:
    """The features some rows at a time, on the paraphraser's device."""
    for block in torch.split(features, ROWS_AT_ONCE):
        yield block.to(paraphraser.mean.device)


@torch.no_grad()
def _draw_weights(paraphraser: Paraphraser, generator: torch.Generator) -> None:
    for layer in paraphraser.modules():
        if isinstance(layer, nn.Linear):
            bound = layer.in_features**-0.5  # PyTorch's own initialisation, but from this generator
            for weights in (layer.weight, layer.bias):
                weights.copy_(torch.empty(weights.shape).uniform_(-bound, bound, generator=generator))


@torch.no_grad()
def _measure(paraphraser: Paraphraser, features: Tensor) -> None:
    """Store the mean of each feature and one standard deviation for all (1 where rows do not differ)."""
    sums = [block.double().sum(dim=0) for block in _blocks(paraphraser, features)]
    mean = torch.stack(sums).sum(dim=0) / len(features)
    squares = [(block.double() - mean).square().sum() for block in _blocks(paraphraser, features)]
    spread = (torch.stack(squares).sum() / features.numel()).sqrt()
    paraphraser.mean.copy_(mean)
    paraphraser.spread.copy_(spread if spread > 0 else torch.ones_like(spread))

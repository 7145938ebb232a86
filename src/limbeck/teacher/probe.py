"""The head of `head = "mean"`, fitted on the frozen encoder before anything is fine-tuned (a linear probe).

Fine-tuning from a random head first distorts what the encoder knows; from a fitted head it does not (Kumar et al. 2022,
arXiv:2202.10054). With few rows or many classes that is most of the difference between a good and a useless teacher.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows
from limbeck.progress import Reporter
from limbeck.teacher.encoder import Encoder
from limbeck.teacher.head import final_layer
from limbeck.training.device import training_device
from limbeck.training.epochs import rank
from limbeck.training.skill import judged

INVERSE_PENALTIES = (1.0, 10.0, 100.0)  # C of a logistic regression, the strongest penalty first; dev chooses
MOST_ITERATIONS = 200


@dataclass(frozen=True)
class LinearFit:
    """A linear layer: weight (classes, width) and bias (classes), and the loss on the rows that it was fitted to."""

    weight: Tensor
    bias: Tensor
    loss: float


def fit_head(
    encoder: Encoder, train: Rows, *, corpus: Corpus, loss: Callable[[Tensor, Tensor], Tensor], reporter: Reporter
) -> dict[str, Any]:
    """Put the fitted weights into the encoder's head; returns the entry of "epoch 0" without its numbers on dev.

    The penalty is the one that is best on dev.
    """
    encoder.model.to(training_device())
    layer, dev = final_layer(encoder.model), corpus.splits["dev"]
    dev = dev if dev.is_labelled.all() else dev.select(np.flatnonzero(dev.is_labelled))
    with reporter.bar("fitting the head on the frozen encoder", total=len(train) + len(dev), unit="rows") as bar:
        read = [
            encoder.logits_and_features(rows.texts, rows.pairs, pooling="mean", bar=bar)[1] for rows in (train, dev)
        ]
    features, held_out = (torch.from_numpy(block).float().to(encoder.device) for block in read)
    labels = torch.from_numpy(train.labels.copy())
    labels = (labels.float() if labels.is_floating_point() else labels).to(encoder.device)
    best, best_rank, start = None, (-math.inf, -math.inf), None
    for inverse_penalty in INVERSE_PENALTIES:
        start = fit_linear(features, labels, loss=loss, classes=len(corpus.labels), c=inverse_penalty, start=start)
        logits = (held_out @ start.weight.T + start.bias).cpu().numpy()
        found = rank(judged(logits, dev.labels, by_macro_f1=corpus.is_uneven))
        if found > best_rank:
            best, best_rank = start, found
    assert best is not None, "there is at least one penalty"
    with torch.no_grad():
        layer.weight.copy_(best.weight)
        layer.bias.copy_(best.bias)
    return {"epoch": 0, "loss": best.loss, "losses": {"hard_labels": best.loss}}


def fit_linear(
    features: Tensor,
    labels: Tensor,
    *,
    loss: Callable[[Tensor, Tensor], Tensor],
    classes: int,
    c: float,
    start: LinearFit | None = None,
) -> LinearFit:
    """Logistic regression by L-BFGS, from zero or from another fit.

        minimise  loss(features · Wᵀ + b, labels) + ‖W‖² / (2 · c · rows)

    With the mean cross-entropy as the loss, this is scikit-learn's LogisticRegression(C=c); with the mean squared
    error, for scores, it is a ridge regression with the penalty 1 / (2 c).
    """
    rows, width = features.shape
    weight = features.new_zeros((classes, width)) if start is None else start.weight.clone()
    bias = features.new_zeros(classes) if start is None else start.bias.clone()
    weight.requires_grad_(True)
    bias.requires_grad_(True)
    optimiser = torch.optim.LBFGS([weight, bias], max_iter=MOST_ITERATIONS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        total = loss(features @ weight.T + bias, labels) + weight.square().sum() / (2 * c * rows)
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimiser.step(closure)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        value = float(loss(features @ weight.T + bias, labels))
    return LinearFit(weight.detach(), bias.detach(), value)

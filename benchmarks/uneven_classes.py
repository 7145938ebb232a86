"""How much a rare class should weigh: a head on the frozen offline encoder, on made-up rows of two uneven classes.

    python benchmarks/uneven_classes.py [--rows 4000] [--seeds 2] [--shares 0.01 0.02 0.04]

A row of the rare class has one of a few tell-tale endings 6 times in ten, a row of the other class 2 times in a
hundred: up to 3 % most rows with such an ending are of the frequent class, so that the most accurate answer is never
the rare one. For each weight of the rare class it prints Cohen's kappa on a held-out fifth (a run stops below 0.1), and
macro F1, which chooses the penalty as in limbeck.teacher.probe. Drafts use the square root of the ratio.
"""

import argparse
import random
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from limbeck.teacher.checkpoint import find_checkpoint
from limbeck.teacher.encoder import Encoder
from limbeck.teacher.loading import load_encoder
from limbeck.teacher.probe import INVERSE_PENALTIES, LinearFit, fit_linear
from limbeck.training.epochs import rank
from limbeck.training.skill import judged, skill

PARTS = (
    ("the driver", "the nurse", "my neighbour", "a customer", "our teacher", "the clerk", "his sister", "the cook"),
    ("bought", "found", "lost", "cleaned", "painted", "ordered", "returned", "repaired", "carried", "described"),
    ("a lamp", "the old chair", "two books", "a bicycle", "the kettle", "some flowers", "a wool coat", "the radio"),
    ("on monday", "before lunch", "near the station", "after work", "last week", "in the rain", "for a friend"),
)
TELLING = ("and demanded a refund", "and complained to the manager", "but it broke at once", "and wants the money back")
OTHERS = ("and went home", "and told us about it", "and was content", "as always", "and then had some tea")
RARE, FREQUENT = 0, 1


def made_up(rows: int, *, share: float, seed: int) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Texts and labels."""
    draw = random.Random(seed)
    labels = [RARE if draw.random() < share else FREQUENT for _ in range(rows)]
    endings = [TELLING if draw.random() < (0.6 if label == RARE else 0.02) else OTHERS for label in labels]
    texts = [" ".join(draw.choice(part) for part in (*PARTS, ending)) for ending in endings]
    return texts, np.array(labels)


def held_out(labels: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """A fifth of each class."""
    chosen = np.zeros(len(labels), dtype=np.bool_)
    for number in (RARE, FREQUENT):
        places = np.random.default_rng(0).permutation(np.flatnonzero(labels == number))
        chosen[places[: len(places) // 5]] = True
    return chosen


def measured(encoder: Encoder, texts: list[str], labels: npt.NDArray[np.int64]) -> Iterator[tuple[str, float, float]]:
    """For each weight of the rare class: its name, kappa, macro F1."""
    dev = held_out(labels)
    features = torch.from_numpy(encoder.logits_and_features(texts, None, pooling="mean")[1]).float()
    train, truth = features[~dev], torch.from_numpy(labels[~dev])
    ratio = float((truth == FREQUENT).sum() / (truth == RARE).sum())
    for name, weight in {"none": 1.0, "square root": ratio**0.5, "balanced": ratio}.items():
        weights = torch.tensor([weight, 1.0])

        def loss(logits: Tensor, wanted: Tensor, weights: Tensor = weights) -> Tensor:
            return F.cross_entropy(logits, wanted, weight=weights, reduction="sum") / len(wanted)

        fit: LinearFit | None = None
        found = []
        for penalty in INVERSE_PENALTIES:
            fit = fit_linear(train, truth, loss=loss, classes=2, c=penalty, start=fit)
            logits = (features[dev] @ fit.weight.T + fit.bias).numpy()
            entry = judged(logits, labels[dev], by_macro_f1=True)
            found.append((rank(entry), skill(logits, labels[dev]) or 0.0, entry["dev_macro_f1"]))
        _, kappa, macro_f1 = max(found)
        yield name, kappa, macro_f1


def main() -> None:
    """Print a line for each weight, share and seed."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=int, default=4000)
    asked.add_argument("--seeds", type=int, default=2)
    asked.add_argument("--shares", type=float, nargs="+", default=[0.01, 0.02, 0.04])
    given = asked.parse_args()
    encoder = load_encoder(
        find_checkpoint("all-MiniLM-L6-v2"),
        max_length=32,
        long_texts="head",
        head_share=0.25,
        arithmetic="fp32",
        labels=["rare", "frequent"],
        label_names={},
        apart=False,
        head="mean",
    )
    for share in given.shares:
        for seed in range(given.seeds):
            texts, labels = made_up(given.rows, share=share, seed=seed)
            for name, kappa, macro_f1 in measured(encoder, texts, labels):
                print(f"{share:.0%} rare, seed {seed}, {name}: kappa {kappa:.2f}, macro F1 {macro_f1:.1%}", flush=True)


if __name__ == "__main__":
    main()

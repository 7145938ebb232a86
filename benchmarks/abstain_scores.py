"""The scores that benchmarks/abstain.py compares: of one model's logits, of its features, and of several seeds."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoModelForSequenceClassification

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.export.abstain import OnDev, fitted_cut
from limbeck.models.auto_classes import register_auto_classes
from limbeck.models.checkpoint import model_from_folder
from limbeck.recipe.export import Abstain
from limbeck.runtime.abstaining import SCORES, scores_of, threshold_above
from limbeck.runtime.classifier import load
from limbeck.runtime.probabilities import softmax
from limbeck.text.student_reader import StudentReader
from limbeck.training.asking import answers_in_batches

Floats = npt.NDArray[np.float64]
NEIGHBOURS = 10
SPLITS = ("dev", "test", "foreign-dev", "foreign-test")
# What is asked of a threshold, and whether it sees the foreign rows of dev.
FITTED: dict[str, tuple[Abstain, bool]] = {
    "coverage 95 %": (Abstain(coverage=0.95), False),
    "error 1 %": (Abstain(error=0.01), False),
    "error 1 %, with foreign rows": (Abstain(error=0.01), True),
    "most rows right, with foreign rows": (Abstain(), True),
}


@dataclass(frozen=True, eq=False)
class Answers:
    """Of one variant: logits and features of each seed and split."""

    logits: Mapping[str, list[npt.NDArray[np.float32]]]
    temperatures: list[float]
    features: Mapping[str, list[Floats]]  # of "train" too
    train_labels: npt.NDArray[np.int64]
    right: list[npt.NDArray[np.bool_]]  # on test
    right_on_dev: list[npt.NDArray[np.bool_]]

    @property
    def seeds(self) -> range:
        """Their places."""
        return range(len(self.temperatures))


def answers_of_run(folder: Path, variant: str) -> Answers:
    """Ask the exported files, and the trained students for features."""
    texts = {split: _column(folder, split, "text") for split in (*SPLITS, "train")}
    exports = sorted((folder / "run" / "exports" / variant).iterdir())
    models = [load(export) for export in exports]
    logits = {split: [model.logits(texts[split]) for model in models] for split in SPLITS}
    students = [StudentFolder(folder / "run" / "students" / variant / export.name) for export in exports]
    classes = models[0].labels
    true = {
        split: np.array([classes.index(label) for label in _column(folder, split, "label")])
        for split in ("train", "dev", "test")
    }
    return Answers(
        logits=logits,
        temperatures=[ModelFolder(export).facts().temperature for export in exports],
        features={split: [_features(student, texts[split]) for student in students] for split in texts},
        train_labels=true["train"],
        right=[of_seed.argmax(axis=1) == true["test"] for of_seed in logits["test"]],
        right_on_dev=[of_seed.argmax(axis=1) == true["dev"] for of_seed in logits["dev"]],
    )


def _column(folder: Path, split: str, name: str) -> list[str]:
    with (folder / f"{split}.csv").open(encoding="utf-8", newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


def _features(student: StudentFolder, texts: list[str]) -> Floats:
    """(rows, width): what the head of the trained student reads."""
    register_auto_classes()
    network: Any = model_from_folder(AutoModelForSequenceClassification, student.folder, dtype=torch.float32)
    reader = StudentReader.load(student.folder / "tokenizer.json", is_framed=False, max_length=student.facts.max_length)
    read, found = reader.read(texts, None), dict[int, Any]()
    with torch.inference_mode():
        for places, _, answer in answers_in_batches(network, read, with_types=False, tokens_per_batch=2048):
            found |= zip(places.tolist(), answer.features.numpy(), strict=True)
    return np.stack([found[at] for at in range(len(texts))]).astype(np.float64)


@cache
def scores_of_answers(answers: Answers, *, split: str = "test") -> dict[str, list[Floats]]:
    """By name, the scores of the rows of a split for each seed; the higher, the surer."""
    found: dict[str, list[Floats]] = {
        score: [
            scores_of(of_seed, score=score, temperature=temperature)
            for of_seed, temperature in zip(answers.logits[split], answers.temperatures, strict=True)
        ]
        for score in SCORES
    }
    found["distance to classes"] = [_to_classes(answers, split, seed) for seed in answers.seeds]
    found["distance to neighbours"] = [_to_neighbours(answers, split, seed) for seed in answers.seeds]
    together = np.stack(
        [
            softmax(of_seed / np.float32(temperature))
            for of_seed, temperature in zip(answers.logits[split], answers.temperatures, strict=True)
        ]
    ).astype(np.float64)
    # The mean of the seeds' probabilities of the label that one of them gives: disagreement lowers it.
    best = [of_seed.argmax(axis=1) for of_seed in answers.logits[split]]
    mean_of_seeds = together.mean(axis=0)
    found["agreement of seeds"] = [mean_of_seeds[np.arange(len(label)), label] for label in best]
    return found


def _to_classes(answers: Answers, split: str, seed: int) -> Floats:
    """Minus the squared Mahalanobis distance to the nearest class mean (Lee et al. 2018, arXiv:1807.03888)."""
    train, labels = answers.features["train"][seed], answers.train_labels
    means = np.stack([train[labels == number].mean(axis=0) for number in np.unique(labels)])
    spread = train - means[np.searchsorted(np.unique(labels), labels)]
    inverse = np.linalg.pinv(spread.T @ spread / len(spread) + 1e-6 * np.eye(spread.shape[1]))
    rows = answers.features[split][seed]
    return np.asarray(-np.stack([((rows - one) @ inverse * (rows - one)).sum(axis=1) for one in means]).min(axis=0))


def _to_neighbours(answers: Answers, split: str, seed: int) -> Floats:
    """The mean cosine to the nearest training rows (Sun et al. 2022, arXiv:2204.06507)."""
    train, rows = (_unit(answers.features[name][seed]) for name in ("train", split))
    cosines = rows @ train.T
    return np.asarray(np.partition(cosines, -NEIGHBOURS, axis=1)[:, -NEIGHBOURS:].mean(axis=1))


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9))


def fit_on_dev(answers: Answers, wish: str, seed: int) -> float:
    """The threshold of the probability that is fitted for a wish."""
    section, sees = FITTED[wish]
    scores, outside = (scores_of_answers(answers, split=split)["probability"][seed] for split in ("dev", "foreign-dev"))
    on_dev = OnDev.of(scores, answers.right_on_dev[seed], outside if sees else np.zeros(0))
    cut, _, _ = fitted_cut(section, on_dev)
    return threshold_above(on_dev.scores, cut)

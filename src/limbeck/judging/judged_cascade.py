"""A cascade as `limbeck evaluate` judges it: one classifier, which counts what its fallback answered."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.judging.metrics import Bools
from limbeck.runtime.cascade import CascadeClassifier, CascadeCount
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.row import Row

LEAST = 1e-9  # a probability: a fallback may give 0, which has no logarithm


class JudgedCascade:
    """Its logits are the logarithms of its probabilities, at a temperature of 1."""

    def __init__(self, model: CascadeClassifier) -> None:
        self.model, self.facts = model, replace(model.facts, temperature=1.0, abstain=None)
        self._count, self._by_fallback = CascadeCount(), list[Bools]()

    @property
    def student(self) -> Classifier:
        """What it is compared with."""
        return self.model.cascade.student

    def logits(self, rows: list[Row]) -> npt.NDArray[np.float32]:
        """(rows, classes)"""
        answers = self.model.answers(rows)
        self._count.add(answers)
        self._by_fallback.append(answers.by_fallback)
        probabilities = answers.probabilities.astype(np.float64)
        found = np.log(probabilities.clip(LEAST, 1))
        if self.facts.multi_label:
            found -= np.log((1 - probabilities).clip(LEAST, 1))
        return np.asarray(found, dtype=np.float32)

    def found(self, *, correct: Bools, student_correct: Bools) -> dict[str, Any]:
        """The share of the rows that the fallback answered, and how often who is right; (rows) of all rows so far."""
        asked, failure = np.concatenate(self._by_fallback), self._count.failure
        return {
            "fallback": self.model.cascade.fallback.name,
            "threshold": self.model.threshold,
            "asked": int(asked.sum()),
            "asked_share": float(asked.mean()),
            "student_accuracy": float(student_correct.mean()),
            "accuracy_asked": float(correct[asked].mean()) if asked.any() else None,
            "student_accuracy_asked": float(student_correct[asked].mean()) if asked.any() else None,
            "note": self.model.note or (failure.what if failure else self._count.note),
        }

"""The language model that labels texts, asked through the label store of the runs, before there is a corpus."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.rows import Rows
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.labeling.asking import asked_rows
from limbeck.labeling.source import TeacherSource
from limbeck.labeling.store import LabelStore, Root
from limbeck.labeling.summary import probabilities
from limbeck.progress import Reporter
from limbeck.recipe.endpoint import EndpointTeacher
from limbeck.recipe.labeling import Labeling
from limbeck.teacher.endpoint import described_for, fingerprint_for
from limbeck.teacher.endpoints.asking import EndpointAnswers
from limbeck.teacher.endpoints.ledger import spent_in
from limbeck.teacher.endpoints.questions import Questions


@dataclass(frozen=True)
class NewTask:
    """What a teacher has to know of a corpus that does not exist yet."""

    labels: list[str]
    is_multi_label: bool
    is_pair: bool
    splits: Mapping[str, Rows]
    scale: ScoreScale | None = None

    @classmethod
    def of(cls, classes: Sequence[str], rows: Rows, *, multi_label: bool) -> "NewTask":
        """For texts without labels."""
        empty = rows.select([])
        return cls(list(classes), multi_label, rows.is_pair, {"train": empty, "dev": empty})


class LabellingModel:
    """The language model, asked through the label store of the runs."""

    def __init__(self, section: EndpointTeacher, task: NewTask, root: Root, reporter: Reporter) -> None:
        self.section, self.task, self._root, self._reporter = section, task, root, reporter
        self.fingerprint = fingerprint_for(section, task)
        self.questions = Questions(described_for(section, task))
        self._answers = EndpointAnswers(section, self.questions)

    @property
    def store(self) -> LabelStore:
        """Where its answers are."""
        return LabelStore(self._root, teacher=self.fingerprint, classes=len(self.task.labels))

    def ask(self, rows: Rows) -> npt.NDArray[np.float32]:
        """(rows, classes) logits; NaN where there is no answer."""
        source = TeacherSource(name=self.section.shown_name, fingerprint=self.fingerprint, open=lambda: self._answers)
        classes = len(self.task.labels)
        return asked_rows(source, Labeling(), rows=rows, classes=classes, root=self._root, reporter=self._reporter)

    def shares(self, logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """Probabilities; NaN where there is no answer."""
        found = np.full(logits.shape, np.nan)
        known = ~np.isnan(logits).any(axis=1)
        found[known] = probabilities(logits[known], multi_label=self.task.is_multi_label)
        return found

    def spent(self) -> dict[str, Any]:
        """Requests, tokens and cost so far."""
        total = spent_in(self.store.folder)
        cost = total.cost(self.section)
        found = {"requests": total.requests, "tokens_in": total.tokens_in, "tokens_out": total.tokens_out}
        return found if cost is None else {**found, "cost": cost}

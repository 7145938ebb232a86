"""The formats in which servers of classifiers are asked: Limbeck's own, TEI, Hugging Face Inference, vLLM."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from limbeck.runtime.fallbacks.answers import LONGEST_SHOWN, WantedAnswer
from limbeck.runtime.fallbacks.connections import Server
from limbeck.runtime.probabilities import Floats, sigmoid
from limbeck.runtime.row import Row


class AnswerFormat(Protocol):
    """How one kind of server is asked."""

    @property
    def server(self) -> Server:
        """Who is asked."""

    @property
    def rows_at_once(self) -> int:
        """At most so many rows in a question."""

    def ask(self, rows: Sequence[Row], *, deadline: float | None = None) -> Floats:
        """(rows, classes), for at most `rows_at_once` rows; `deadline` as for the server. Raises FallbackFailed."""


@dataclass(frozen=True)
class LimbeckFormat:
    """`POST /predict` of `limbeck serve`."""

    server: Server
    wanted: WantedAnswer
    model: str | None = None
    rows_at_once: int = 64

    def ask(self, rows: Sequence[Row], *, deadline: float | None = None) -> Floats:
        """(rows, classes)"""
        pairs = [{"text": row[0], "pair": row[1]} for row in rows] if self.wanted.pair else None
        body: dict[str, Any] = {"texts": list(rows)} if pairs is None else {"rows": pairs}
        answer = self.server.post("/predict", body | _named(self.model), deadline=deadline)
        wanted = self.wanted
        found = wanted.list_of(wanted.entry(answer, "predictions"), what="predictions", count=len(rows))
        return wanted.by_names([_table(wanted, wanted.entry(one, "probabilities")) for one in found])


@dataclass(frozen=True)
class TeiFormat:
    """`POST /predict` of text-embeddings-inference; each row is a list of its texts, as two plain ones are a pair."""

    server: Server
    wanted: WantedAnswer
    rows_at_once: int = 32  # what it takes at once unless it is started otherwise

    def ask(self, rows: Sequence[Row], *, deadline: float | None = None) -> Floats:
        """(rows, classes); it has no sigmoid for several labels per row, so that logits are asked for."""
        raw = self.wanted.multi_label
        inputs = [[row] if isinstance(row, str) else list(row) for row in rows]
        question = {"inputs": inputs, "raw_scores": raw, "truncate": True}
        answer = self.server.post("/predict", question, deadline=deadline)
        return _scored(self.wanted, answer, count=len(rows), are_logits=raw)


@dataclass(frozen=True)
class HuggingFaceFormat:
    """`POST /` of Hugging Face's inference containers and endpoints."""

    server: Server
    wanted: WantedAnswer
    rows_at_once: int = 32

    def ask(self, rows: Sequence[Row], *, deadline: float | None = None) -> Floats:
        """(rows, classes)"""
        inputs = [row if isinstance(row, str) else {"text": row[0], "text_pair": row[1]} for row in rows]
        parameters = {
            "top_k": len(self.wanted.labels),
            "function_to_apply": "sigmoid" if self.wanted.multi_label else "softmax",
        }
        answer = self.server.post("", {"inputs": inputs, "parameters": parameters}, deadline=deadline)
        return _scored(self.wanted, answer, count=len(rows))


def _named(model: str | None) -> dict[str, str]:
    return {"model": model} if model else {}


def _scored(wanted: WantedAnswer, answer: Any, *, count: int, are_logits: bool = False) -> Floats:
    """From a list of {label, score} for each row."""
    rows = []
    for found in wanted.list_of(answer, what="lists of scores", count=count):
        scores = [one for one in wanted.list_of(found, what="scores") if not _is_withheld(one)]
        rows.append({_label(wanted, one): wanted.entry(one, "score") for one in scores})
    if are_logits:
        rows = [{label: _sigmoid(wanted, score) for label, score in row.items()} for row in rows]
    return wanted.by_names(rows)


def _is_withheld(entry: Any) -> bool:
    """Whether it says that the model would give no label: all labels follow it."""
    return isinstance(entry, dict) and "label" in entry and entry["label"] is None


def _label(wanted: WantedAnswer, entry: Any) -> str:
    return wanted.text_of(wanted.entry(entry, "label"), what="label")


def _table(wanted: WantedAnswer, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise wanted.failed("there is no table of probabilities in its answer")
    return value


def _sigmoid(wanted: WantedAnswer, score: Any) -> float:
    if type(score) not in (int, float) or not abs(score) < 1e6:
        raise wanted.failed("not all of its scores are numbers")
    return float(sigmoid(np.array([score], dtype=np.float32))[0])


@dataclass(frozen=True)
class VllmFormat:
    """`POST /classify` of vLLM. It names the best label alone: its order of labels must be the student's."""

    server: Server
    wanted: WantedAnswer
    model: str | None = None
    rows_at_once: int = 32

    def ask(self, rows: Sequence[Row], *, deadline: float | None = None) -> Floats:
        """(rows, classes)"""
        wanted = self.wanted
        answer = self.server.post("/classify", {"input": list(rows)} | _named(self.model), deadline=deadline)
        found = wanted.list_of(wanted.entry(answer, "data"), what="answers", count=len(rows))
        by_place = {_place(wanted.entry(one, "index")): one for one in found}
        if set(by_place) != set(range(len(rows))):
            raise wanted.failed("its answers are not numbered as the rows are")
        in_order = [by_place[place] for place in range(len(rows))]
        probabilities = wanted.by_numbers(
            [wanted.list_of(wanted.entry(one, "probs"), what="probabilities") for one in in_order]
        )
        for one, of_row in zip(in_order, probabilities, strict=True):
            self._refuse_other_order(one.get("label"), of_row)
        return probabilities

    def _refuse_other_order(self, label: Any, probabilities: Floats) -> None:
        best = np.flatnonzero(probabilities == probabilities.max())  # several where they are equal
        here = [self.wanted.labels[place] for place in best.tolist()]
        if label is None or self.wanted.multi_label:
            return
        if self.wanted.text_of(label, what="label") not in here:
            shown = label[:LONGEST_SHOWN]
            raise self.wanted.failed(f"its labels are in another order: it calls '{shown}' what is '{here[0]}' here")


def _place(value: Any) -> int | None:
    return value if type(value) is int else None  # not True either, which is equal to 1

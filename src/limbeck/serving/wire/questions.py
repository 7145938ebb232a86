"""What a reader gives the server: the model that is asked, the rows, and how to write the answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.score_scale import ScoreScale
from limbeck.runtime.abstaining import Scored
from limbeck.runtime.probabilities import best_labels
from limbeck.runtime.row import Row
from limbeck.serving.limits import Limits

Floats: TypeAlias = npt.NDArray[np.float32]
JSON_TYPE = "application/json"


@dataclass(frozen=True)
class AskedModel:
    """What a format must know of a model."""

    name: str
    labels: tuple[str, ...]
    pair: bool
    multi_label: bool
    max_length: int  # tokens of a text that are read
    version: str  # of the model's files; empty if unknown
    abstains: bool = False  # whether it gives no label where it is not sure enough
    scale: ScoreScale | None = None  # it gives scores; None: labels


Choose: TypeAlias = Callable[[str | None], AskedModel]  # None: the default model. Raises Refused with 404.


@dataclass(frozen=True)
class Answered:
    """What the model said about the rows."""

    probabilities: Floats  # (rows, classes), calibrated; of a model of scores (rows, 1): the scores
    milliseconds: float
    logits: Floats | None = None  # (rows, classes); None: logarithms of the probabilities replace them
    by_fallback: npt.NDArray[np.bool_] | None = None  # (rows); None: there is no fallback
    fallback_note: str | None = None  # why the student answered instead of the fallback
    explanations: Sequence[Any] | None = None  # per row, as JSON has them; None: not asked for
    tokens: Sequence[int] | None = None  # that were read, per row
    scored: Scored | None = None  # how sure the model is, and where it gives no label; None: it always gives one

    def labels(self, model: AskedModel) -> list[str | None]:
        """The label of each row of a model with one label per row; None, or another answer, where it gives none."""
        best = best_labels(self.probabilities, model.labels) if len(self.probabilities) else []
        return list(best) if self.scored is None else self.scored.labels(best)


@dataclass(frozen=True)
class Written:
    """The body of an answer and its headers."""

    body: bytes
    media_type: str = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadQuestion:
    """A question that was read."""

    model: AskedModel
    rows: list[Row]
    write: Callable[[Answered], Written]
    explain: bool = False
    needs_tokens: bool = False


class Reads(Protocol):
    """A reader of one address. `name` is the model's, where the address has it."""

    def __call__(
        self, body: bytes, *, headers: Mapping[str, str], choose: Choose, limits: Limits, name: str | None = None
    ) -> ReadQuestion: ...


def logits_of(answered: Answered, model: AskedModel) -> Floats:
    """The logits; without them, numbers whose softmax (multi-label: sigmoid) gives the probabilities."""
    if answered.logits is not None:
        return answered.logits
    smallest = np.finfo(np.float32).tiny
    certain = np.clip(answered.probabilities.astype(np.float64), smallest, None)
    if model.multi_label:
        rest = np.clip(1 - answered.probabilities.astype(np.float64), smallest, None)
        return (np.log(certain) - np.log(rest)).astype(np.float32)
    return np.log(certain).astype(np.float32)

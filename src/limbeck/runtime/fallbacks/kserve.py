"""KServe's and Triton's format, the Open Inference Protocol v2: texts as tensors of bytes, probabilities as floats."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from limbeck.runtime.fallbacks.answers import WantedAnswer
from limbeck.runtime.fallbacks.connections import Server
from limbeck.runtime.probabilities import Floats
from limbeck.runtime.row import Row

FLOATS, TEXTS = ("FP32", "FP64"), "BYTES"


@dataclass(frozen=True)
class KserveFormat:
    """`POST /v2/models/NAME/infer`. The model's metadata name its inputs and, if its server is Limbeck's, its labels;
    otherwise these must be in the student's order."""

    server: Server
    wanted: WantedAnswer
    model: str
    rows_at_once: int = 32

    def ask(self, rows: Sequence[Row], *, deadline: float | None = None) -> Floats:
        """(rows, classes): texts go into the inputs of bytes, in their order; probabilities are an output of floats."""
        path = f"/v2/models/{self.model}"
        about = self.server.get(path, deadline=deadline)
        answer = self.server.post(f"{path}/infer", {"inputs": self._inputs(about, rows)}, deadline=deadline)
        outputs = self.wanted.list_of(self.wanted.entry(answer, "outputs"), what="outputs")
        numbers = self._numbers(outputs, count=len(rows))
        labels = _labels(about)
        if labels is None:
            return self.wanted.by_numbers(numbers)
        if any(len(row) != len(labels) for row in numbers):
            raise self.wanted.failed(f"it has {len(labels):,} labels, and another number of probabilities")
        return self.wanted.by_names([dict(zip(labels, row, strict=True)) for row in numbers])

    def _inputs(self, about: Any, rows: Sequence[Row]) -> list[dict[str, Any]]:
        columns = [list(rows)] if not self.wanted.pair else [list(column) for column in zip(*rows, strict=True)]
        known = self.wanted.list_of(self.wanted.entry(about, "inputs"), what="inputs")
        inputs = [one for one in known if _is_named(one) and one["datatype"] == TEXTS]
        if len(inputs) < len(columns):
            raise self.wanted.failed(f"the model '{self.model}' has {len(inputs)} inputs of text, not {len(columns)}")
        return [
            {"name": one["name"], "datatype": TEXTS, "shape": _shape(one, len(rows)), "data": column}
            for one, column in zip(inputs, columns, strict=False)
        ]

    def _numbers(self, outputs: list[Any], *, count: int) -> list[list[Any]]:
        """The probabilities of each row: those of an output that is called so, or of the only one of that shape."""
        classes = len(self.wanted.labels)
        floats = [one for one in outputs if _is_named(one) and one["datatype"] in FLOATS]
        fitting = [one for one in floats if one.get("shape") == [count, classes]]
        named = [one for one in fitting if "prob" in one["name"]] or fitting
        if not named:
            raise self.wanted.failed(f"it has no output of floats of the shape [{count}, {classes}]")
        data = self.wanted.list_of(self.wanted.entry(named[0], "data"), what="probabilities")
        if len(data) == count and all(isinstance(row, list) for row in data):  # nested, as the standard allows too
            return data
        if len(data) != count * classes:
            raise self.wanted.failed(f"it gave {len(data):,} probabilities for {count:,} rows")
        return [data[at : at + classes] for at in range(0, len(data), classes)]


def _is_named(one: Any) -> bool:
    """Whether it is the description of a tensor."""
    return isinstance(one, dict) and all(isinstance(one.get(key), str) for key in ("name", "datatype"))


def _shape(about: Mapping[str, Any], rows: int) -> list[int]:
    shape = about.get("shape")
    return [rows, 1] if isinstance(shape, list) and len(shape) == 2 else [rows]


def _labels(about: Any) -> list[str] | None:
    """The labels in the metadata, in the order of the probabilities; the protocol has no place for them."""
    outputs = about.get("outputs") if isinstance(about, dict) else None
    for one in outputs if isinstance(outputs, list) else []:
        parameters = one.get("parameters") if isinstance(one, dict) else None
        labels = parameters.get("labels") if isinstance(parameters, dict) else None
        if isinstance(labels, list) and labels and all(isinstance(label, str) for label in labels):
            return labels
    return None

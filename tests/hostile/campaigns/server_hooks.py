"""What no JSON schema can say of a question, for schemathesis: the shape of a tensor belongs to its texts.

Loaded by schemathesis alone, in a process of its own. What it makes to be accepted is mended to that, and no more; what
it makes to be refused stays as it is.
"""

from itertools import chain
from typing import Any

import schemathesis


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Mend a question before it is sent."""
    del context, kwargs
    is_meant_well = case.meta is None or case.meta.generation.mode.is_positive
    if is_meant_well and case.path.endswith("/infer") and isinstance(case.body, dict):
        fit(case.body)


def fit(question: dict[str, Any]) -> None:
    """Give each tensor as many rows as it has texts, and both of a pair equally many."""
    tensors = question.get("inputs")
    if not isinstance(tensors, list) or not all(isinstance(one, dict) and one.get("shape") for one in tensors):
        return
    widths = [one["shape"][1] if len(one["shape"]) > 1 else 1 for one in tensors]
    texts = [_flat(one.get("data") or []) for one in tensors]
    rows = min((len(data) // width for data, width in zip(texts, widths, strict=True)), default=0)
    for tensor, data, width in zip(tensors, texts, widths, strict=True):
        tensor["shape"][0], tensor["data"] = rows, data[: rows * width]


def _flat(data: list[Any]) -> list[Any]:
    return list(chain.from_iterable(data)) if data and all(isinstance(row, list) for row in data) else data

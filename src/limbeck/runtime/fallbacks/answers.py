"""What a server answered, checked: as many rows as were asked, the student's labels, probabilities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limbeck.errors import some
from limbeck.runtime.fallbacks.fallback import FallbackFailed
from limbeck.runtime.probabilities import Floats

FROM_ROUNDING = 0.02  # how far probabilities may be from one, in sum
LONGEST_SHOWN = 40  # characters of a label


@dataclass(frozen=True)
class WantedAnswer:
    """What a fallback is asked for, and by which name it is called in messages."""

    labels: tuple[str, ...]  # the student's
    pair: bool
    multi_label: bool
    name: str

    def failed(self, reason: str) -> FallbackFailed:
        """The error with this reason."""
        return FallbackFailed(name=self.name, reason=reason)

    def list_of(self, value: Any, *, what: str, count: int | None = None) -> list[Any]:
        """The value if it is a list of this many. Raises FallbackFailed."""
        if not isinstance(value, list):
            raise self.failed(f"there is no list of {what} in its answer")
        if count is not None and len(value) != count:
            raise self.failed(f"it gave {len(value):,} {what} for {count:,} rows")
        return value

    def entry(self, value: Any, key: str) -> Any:
        """What a table has under this key. Raises FallbackFailed."""
        if not isinstance(value, dict) or key not in value:
            raise self.failed(f"there is no '{key}' in its answer")
        return value[key]

    def text_of(self, value: Any, *, what: str) -> str:
        """The value if it is a text. Raises FallbackFailed."""
        if not isinstance(value, str):
            raise self.failed(f"a {what} in its answer is not a text")
        return value

    def by_names(self, rows: Sequence[Mapping[str, Any]]) -> Floats:
        """(rows, classes) from the probability of each label, in whatever order the labels are."""
        for row in rows:
            if set(row) != set(self.labels):
                raise self.failed(self._difference(row))
        return self.by_numbers([[row[label] for label in self.labels] for row in rows])

    def by_numbers(self, rows: Sequence[Sequence[Any]]) -> Floats:
        """(rows, classes) from the probabilities in the student's order; they are checked, and sum to one."""
        for row in rows:
            if len(row) != len(self.labels):
                raise self.failed(f"it gave {len(row):,} probabilities for {len(self.labels):,} labels")
        if not all(type(value) in (int, float) and 0 <= value <= 1 for row in rows for value in row):
            raise self.failed("not all of its probabilities are numbers from 0 to 1")
        found = np.array(rows, dtype=np.float64).reshape(len(rows), len(self.labels))
        if not self.multi_label:
            sums = found.sum(axis=1, keepdims=True)
            if np.abs(sums - 1).max(initial=0.0) > FROM_ROUNDING:
                raise self.failed("the probabilities of a row do not sum to one")
            found /= sums
        return found.astype(np.float32)

    def _difference(self, row: Mapping[str, Any]) -> str:
        """How the labels of an answer differ from the student's."""
        missing, unknown = (
            some([name[:LONGEST_SHOWN] for name in sorted(names)])
            for names in (set(self.labels) - set(row), set(row) - set(self.labels))
        )
        parts = [f"it did not give {missing}"] if missing else []
        parts += [f"the student does not have {unknown}"] if unknown else []
        return f"its labels are not those of the student: {'; '.join(parts)}"

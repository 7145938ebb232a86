"""Labels of a small corpus whose teacher can be worked out by hand."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.labeling import label
from limbeck.labeling.source import TeacherSource
from limbeck.progress import SilentReporter
from limbeck.recipe.labeling import Labeling

SPLITS = {
    "train": Rows.of(ids=["t:0", "t:1", "t:2", "t:3"], texts=["yes", "no", "maybe", "yes"], labels=[1, 0, 0, 1]),
    "transfer": Rows.of(ids=["u:0", "u:1"], texts=["maybe", "?"]),
}
LOGITS = {"yes": [0.0, math.log(3)], "no": [math.log(9), 0.0], "maybe": [0.0, 0.0], "?": [math.nan, math.nan]}


class Oracle:
    """Says what it is told to say, plus something."""

    def __init__(self, *, plus: float = 0.0) -> None:
        self.plus = plus

    def logits(self, texts: Any, pairs: Any, **_: Any) -> Any:
        del pairs
        return np.array([LOGITS[text] for text in texts], dtype=np.float32) + np.array(
            [self.plus, 0.0], dtype=np.float32
        )


@pytest.fixture
def splits() -> dict[str, Rows]:
    """Four rows with labels and two without."""
    return SPLITS


@pytest.fixture
def oracle() -> Callable[..., TeacherSource]:
    """oracle(plus=0.5): a source whose logits of the first class are that much higher than when it was asked."""
    return lambda plus=0.0: TeacherSource(name="oracle", fingerprint="oracle", open=lambda: Oracle(plus=plus))


@pytest.fixture
def labels(tmp_path: Path, oracle: Callable[..., TeacherSource]) -> TeacherLabels:
    """What the oracle said: nothing of "?"."""
    return label(
        Labeling(rows_per_shard=2),
        rows=SPLITS,
        classes=2,
        multi_label=False,
        sources=[oracle()],
        combine="mean_logits",
        uncovered="skip",
        fingerprint="oracle",
        store=tmp_path / "store",
        out=tmp_path / "run" / "labels",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    )

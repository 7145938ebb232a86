"""`[evaluation]`: how quality and speed are measured."""

from typing import Annotated

from pydantic import Field

from limbeck.recipe.base import Section


class Evaluation(Section):
    """Quality on held-out rows, and speed under the same conditions for all models."""

    latency_rows: int = Field(default=100, ge=1)
    """Texts timed one by one (batch 1); the same texts for every model."""
    latency_rounds: int = Field(default=3, ge=1)
    """Rounds in which the models take turns, so that noise of the machine affects all of them."""
    throughput_rows: int = Field(default=256, ge=1)
    """Texts per call when rows per second are measured."""
    throughput_batches: list[Annotated[int, Field(ge=2)]] = [32, 256]
    """Batch sizes of the throughput table, in addition to 1; each is timed with `threads` threads and with one thread
    per core. The first is also timed on short and on long texts. With an empty list only rows per second are timed."""
    threads: int = Field(default=1, ge=1)
    """Threads that a model may use while it is timed."""
    teacher_int8: bool = True
    """Whether the teacher is also timed as an int8 ONNX file, if its family can be exported, so that students are
    compared with a teacher at its fastest. The file is removed afterwards."""
    rival: bool = True
    """Whether the report has a line `tfidf`: TF-IDF and a linear classifier of scikit-learn, trained on the same labels
    in seconds. A student should beat it."""
    score_threshold: float | None = None
    """With scores: the report also has AUC and F1 of two classes, rows with at least this score and the others.
    Default: none."""
    bootstrap_samples: int = Field(default=10_000, ge=100)
    """Resamples for the 95 % interval of the accuracy."""

"""`[evaluation]`: how everything is measured."""

from typing import Annotated

from pydantic import Field

from limbeck.recipe.base import Section


class Evaluation(Section):
    """Quality on held-out rows, and speed in one process layout for all models."""

    latency_rows: int = Field(default=100, ge=1)
    """Texts timed one by one (batch 1), for every model the same ones."""
    latency_rounds: int = Field(default=3, ge=1)
    """Rounds in which the models take turns, so that a noisy machine hits all alike."""
    throughput_rows: int = Field(default=256, ge=1)
    """Texts given in one call to measure rows per second."""
    throughput_batches: list[Annotated[int, Field(ge=2)]] = [32, 256]
    """Texts a call for the table of throughput, besides one; with `threads` threads and with one for each core. The
    first is also timed on the short and on the long texts. With none, no more is timed than rows per second."""
    threads: int = Field(default=1, ge=1)
    """Threads every model may use while it is timed."""
    teacher_int8: bool = True
    """Whether the teacher is timed as an int8 ONNX file too, where its family can be exported: speed is then told
    against a teacher at its best. The file is removed once it is timed."""
    bootstrap_samples: int = Field(default=1000, ge=100)
    """Resamples for the 95 % interval of the accuracy."""

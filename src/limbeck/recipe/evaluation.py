"""`[evaluation]`: how everything is measured."""

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
    threads: int = Field(default=1, ge=1)
    """Threads every model may use while it is timed."""
    bootstrap_samples: int = Field(default=1000, ge=100)
    """Resamples for the 95 % interval of the accuracy."""

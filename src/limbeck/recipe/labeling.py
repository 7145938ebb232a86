"""`[labeling]`: asking the teacher, once for every text."""

from pydantic import Field

from limbeck.recipe.base import Section


class Labeling(Section):
    """How the teacher is asked, and where its answers are kept."""

    store: str | None = None
    """Folder of the label store, shared by runs; left out: `.label-store` beside the run folders."""
    tokens_per_batch: int | None = Field(default=None, ge=1)
    """Batches are sorted by length and filled up to so many tokens, padding included; left out: 4,096 on a CPU,
    65,536 on a GPU."""
    rows_per_shard: int = Field(default=4096, ge=1)
    """Rows written at a time; a killed run asks at most this many again."""

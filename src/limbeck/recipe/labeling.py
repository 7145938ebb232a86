"""`[labeling]`: asking the teacher, once for every text."""

from typing import Annotated, Literal, Self

from pydantic import Field

from limbeck.recipe.base import Locate, Section
from limbeck.recipe.decisions import decides_nothing


class Labeling(Section):
    """How the teacher labels rows, and where its labels are kept."""

    store: Annotated[str | None, decides_nothing()] = None
    """Folder of the label store, shared by runs. Default: `.label-store` beside the run folders."""
    tokens_per_batch: Annotated[int | None, decides_nothing()] = Field(default=None, ge=1)
    """Most tokens in a batch, padding included; texts are sorted by length. Default: 1,024 on a CPU, 65,536 on a GPU.
    Lower it if the GPU runs out of memory."""
    rows_per_shard: Annotated[int, decides_nothing()] = Field(default=4096, ge=1)
    """Rows written at a time; a killed run labels at most this many again."""
    features: Literal["auto", "none", "cls", "mean"] = "auto"
    """Also keep one vector per text, in half precision, for losses on features: the last state of the token that the
    teacher's classifier reads ("cls"), or the mean of the last states of all tokens. "auto" keeps what the recipe
    needs: "cls" for such losses, "mean" for `transfer.choice = "nearest"`."""

    def located(self, locate: Locate) -> Self:
        """With a store that is already there as an absolute path."""
        return self if self.store is None else self.model_copy(update={"store": locate(self.store, required=False)})

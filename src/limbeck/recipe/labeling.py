"""`[labeling]`: how the teacher is asked, once per text."""

from typing import Annotated, Literal, Self

from pydantic import Field

from limbeck.recipe.base import Locate, Section
from limbeck.recipe.decisions import decides_nothing


class Labeling(Section):
    """How the teacher labels rows, and where its labels are stored."""

    store: Annotated[str | None, decides_nothing()] = None
    """Folder of the label store, shared by runs, or its address (s3://, gs://, abfs://, hdfs://), shared by machines.
    Default: `.label-store` next to the run folders."""
    tokens_per_batch: Annotated[int | None, decides_nothing()] = Field(default=None, ge=1)
    """Maximum number of tokens in a batch, including padding; texts are sorted by length. Default: 1,024 on a CPU,
    65,536 on a GPU. Lower it if the GPU runs out of memory."""
    train_rows: int | None = Field(default=None, ge=2)
    """The teacher answers at most this many rows of train, drawn at random, but a few of every class: all that students
    are distilled from, beside other text. Students that are trained alone learn from the labels of all rows. Default:
    all."""
    rows_per_shard: Annotated[int, decides_nothing()] = Field(default=4096, ge=1)
    """Rows written at a time; a killed run labels at most this many again."""
    features: Literal["auto", "none", "cls", "mean"] = "auto"
    """Also keep one vector per text, in half precision, for losses on features: the last state of the token that the
    teacher's classifier reads ("cls"), or the mean of the last states of all tokens. "auto" keeps what the recipe
    needs: "cls" for such losses, "mean" for `transfer.choice = "nearest"`."""

    def located(self, locate: Locate) -> Self:
        """With an existing store as an absolute path; an address stays as it is."""
        if self.store is None or "://" in self.store:
            return self
        return self.model_copy(update={"store": locate(self.store, required=False)})

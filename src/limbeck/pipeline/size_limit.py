"""What `student.max_size_mb` is about: the smallest folder that the recipe exports."""

from typing import Any

from limbeck.distillation.size_limit import SizeLimit
from limbeck.export.graphs import graph_of, int8_of
from limbeck.recipe.recipe import Recipe


def size_limit_of(recipe: Recipe) -> SizeLimit | None:
    """The limit, with the export's own graphs to weigh students by; None where the recipe sets none."""
    max_size_mb = recipe.student.max_size_mb
    if max_size_mb is None:
        return None
    is_int8, pair = "int8" in recipe.export.precisions, recipe.corpus.pair is not None

    def graph_bytes(student: Any) -> int:
        graph = graph_of(student, pair=pair)
        return int((int8_of(student, graph) if is_int8 else graph).ByteSize())

    return SizeLimit(max_size_mb, precision="int8" if is_int8 else "fp32", graph_bytes=graph_bytes)

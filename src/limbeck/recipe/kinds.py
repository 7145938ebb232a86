"""The two choices of the recipe that are made from tables of kinds: `[student]` and `[[distillation.losses]]`."""

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from limbeck.kinds import DEFAULT_STUDENT, LOSS_KINDS, STUDENT_KINDS, resolved
from limbeck.recipe.losses import AnyLoss, LayerLoss
from limbeck.recipe.student import AnyStudent, WordStudent


def _with_kind(table: Any) -> Any:
    """A `[student]` table without `kind` describes the default student."""
    return {"kind": DEFAULT_STUDENT, **table} if isinstance(table, Mapping) else table


def _union(sections: Iterable[str]) -> Any:
    """The union of these classes, each a table with a `kind`."""
    return Annotated[reduce(or_, map(resolved, sections)), Field(discriminator="kind")]


if TYPE_CHECKING:  # the sections are known only at run time
    Student = AnyStudent
    WordStudentOfKind = WordStudent
    Loss = AnyLoss
    LossOnLayers = LayerLoss
else:
    Student = Annotated[_union(row.section for row in STUDENT_KINDS.values()), BeforeValidator(_with_kind)]
    WordStudentOfKind = Annotated[
        _union(row.section for row in STUDENT_KINDS.values() if row.starts_from == "word_vectors"),
        BeforeValidator(_with_kind),
    ]
    Loss = _union(row.section for row in LOSS_KINDS.values())
    LossOnLayers = reduce(
        or_, [section for row in LOSS_KINDS.values() if issubclass(section := resolved(row.section), LayerLoss)]
    )

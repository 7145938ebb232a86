"""Room 7: measure everything on the user's own data, in one table.

Reads:  Corpus, TransferText, TeacherFolder, TeacherLabels, exported models
Writes: Report

The stage function is `limbeck.evaluation.run.evaluate`. It is loaded only when asked for, because
`limbeck.evaluation.tables` prints reports where nothing but the base install is.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limbeck.evaluation.run import evaluate

__all__ = ["evaluate"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from limbeck.evaluation import run

        return getattr(run, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

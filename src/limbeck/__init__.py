"""Limbeck distils big fine-tuned text classifiers into small and fast ones that run without PyTorch."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from limbeck.telemetry import switch_off_telemetry

if TYPE_CHECKING:
    from limbeck.artifacts.run_folder import Run
    from limbeck.errors import LimbeckError
    from limbeck.estimator import LimbeckClassifier
    from limbeck.judging.evaluate import evaluate
    from limbeck.models.auto_classes import register_auto_classes
    from limbeck.pipeline import run
    from limbeck.recipe.load import load_recipe
    from limbeck.recipe.recipe import Recipe
    from limbeck.runtime.classifier import Classifier, load

switch_off_telemetry()  # before anything that would report is imported

__version__ = "0.1.0"
__all__ = [
    "Classifier",
    "LimbeckClassifier",
    "LimbeckError",
    "Recipe",
    "Run",
    "evaluate",
    "load",
    "load_recipe",
    "register_auto_classes",
    "run",
]

_HOMES = {
    "Classifier": "limbeck.runtime.classifier",
    "LimbeckClassifier": "limbeck.estimator",
    "LimbeckError": "limbeck.errors",
    "Recipe": "limbeck.recipe.recipe",
    "Run": "limbeck.artifacts.run_folder",
    "evaluate": "limbeck.judging.evaluate",
    "load": "limbeck.runtime.classifier",
    "load_recipe": "limbeck.recipe.load",
    "register_auto_classes": "limbeck.models.auto_classes",
    "run": "limbeck.pipeline",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that `import limbeck` is fast and needs no torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'limbeck' has no attribute '{name}'")
    if name in ("run", "LimbeckClassifier"):
        import_module("limbeck.cores").share_cores()
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

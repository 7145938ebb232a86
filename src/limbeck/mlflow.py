"""Models as MLflow keeps, loads and serves them: a pyfunc whose data is the model's folder; no torch, no pickle."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlflow.pyfunc
import pandas
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema

from limbeck import __version__
from limbeck.artifacts.model_folder import ModelFacts, open_model
from limbeck.runtime.cascade import CascadeClassifier
from limbeck.runtime.classifier import Classifier, load, local_folder

HERE = "limbeck.mlflow"  # whose `_load_pyfunc` MLflow calls


def save_model(model: str | Path | Classifier, path: str | Path, **options: Any) -> None:
    """Write a model to a new folder as MLflow reads it. `options` go to `mlflow.pyfunc.save_model`."""
    mlflow.pyfunc.save_model(path=str(path), **_described(model, options))


def log_model(model: str | Path | Classifier, name: str = "model", **options: Any) -> Any:
    """Keep a model in the active run of MLflow, with `registered_model_name` also in its registry; its info."""
    return mlflow.pyfunc.log_model(name=name, **_described(model, options))


def load_model(model_uri: str, *, threads: int | None = None) -> Classifier:
    """The model itself, as `limbeck.load` gives it, of a path or an address such as models:/reviews/1."""
    folder = mlflow.artifacts.download_artifacts(artifact_uri=model_uri)
    found = mlflow.models.Model.load(folder).flavors["python_function"]
    return load(Path(folder) / found["data"], threads=threads)


def _described(model: str | Path | Classifier, options: Mapping[str, Any]) -> dict[str, Any]:
    folder = model.folder if isinstance(model, Classifier | CascadeClassifier) else local_folder(model)
    facts = open_model(folder).facts()
    return {
        "loader_module": HERE,
        "data_path": str(folder),
        "pip_requirements": [f"limbeck[mlflow]=={__version__}"],
        "signature": signature_of(facts),
        **options,
    }


def signature_of(facts: ModelFacts) -> ModelSignature:
    """A column of texts, or two; a column of labels, and one for the probability of each class."""
    texts = ["text", "pair"] if facts.pair else ["text"]
    label = ColSpec("string", "label") if not facts.multi_label else ColSpec("string", "labels")
    return ModelSignature(
        inputs=Schema([ColSpec("string", name) for name in texts]),
        outputs=Schema([label, *(ColSpec("float", f"probability_{name}") for name in facts.labels)]),
        params=ParamSchema([ParamSpec("threads", "long", 0)]),
    )


class Answers:
    """What MLflow calls `predict` of."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._models = folder, {0: load(folder)}

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> Any:
        """A DataFrame with the index of what was given: `label`, and `probability_` of each class.

        Of several labels a row, `labels`, with | between them. `threads` of the params is as for `limbeck.load`.
        """
        model = self._model(int((params or {}).get("threads", 0)))
        is_table = isinstance(model_input, pandas.DataFrame)  # otherwise the user saved it without a signature
        rows = model_input if is_table else pandas.DataFrame({"text": list(model_input)})
        found = model.predict_proba(rows).add_prefix("probability_")
        labels = model.predict(rows)
        is_set = model.facts.multi_label
        found.insert(0, "labels" if is_set else "label", labels.map("|".join) if is_set else labels)
        return found

    def _model(self, threads: int) -> Classifier:
        if threads not in self._models:
            self._models[threads] = load(self._folder, threads=threads)
        return self._models[threads]


def _load_pyfunc(path: str) -> Answers:
    return Answers(Path(path))

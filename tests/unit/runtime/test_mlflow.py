"""MLflow keeps, loads and serves a model, without torch."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from limbeck.runtime.classifier import load
from limbeck.runtime.probabilities import label_sets

mlflow: Any = pytest.importorskip("mlflow")
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own, about what it will change

TEXTS = ["a gorgeous film", "", "unknown words only"]
WITHOUT_TORCH = """
import sys, mlflow.pyfunc, pandas
model = mlflow.pyfunc.load_model(sys.argv[1])
print(model.predict(pandas.DataFrame({"text": sys.argv[2:]}))["label"].tolist())
print([name for name in ("torch", "transformers", "sklearn", "onnx") if name in sys.modules])
"""


@pytest.fixture(scope="module")
def saved(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared: read it, don't write to it."""
    import limbeck.mlflow

    folder = tmp_path_factory.mktemp("mlflow") / "saved"
    limbeck.mlflow.save_model(model_folder, folder)
    return folder


def test_a_saved_model_answers_as_a_pyfunc(saved: Path, model_folder: Path) -> None:
    expected, found = load(model_folder), mlflow.pyfunc.load_model(str(saved))

    table = found.predict(pd.DataFrame({"text": TEXTS}, index=[5, 6, 9]), params={"threads": 1})

    assert table.columns.tolist() == ["label", *(f"probability_{label}" for label in expected.labels)]
    assert (table.index.tolist(), table["label"].tolist()) == ([5, 6, 9], expected.predict(TEXTS))
    np.testing.assert_array_equal(table.iloc[:, 1:].to_numpy(np.float32), expected.predict_proba(TEXTS))
    assert found.metadata.get_input_schema().input_names() == ["text"]


def test_the_model_itself_comes_back(saved: Path, model_folder: Path) -> None:
    import limbeck.mlflow

    model = limbeck.mlflow.load_model(str(saved), threads=1)

    np.testing.assert_array_equal(model.logits(TEXTS), load(model_folder).logits(TEXTS))


def test_pairs_and_several_labels(pair_model_folder: Path, multi_label_folder: Path, tmp_path: Path) -> None:
    import limbeck.mlflow

    pairs, several = load(pair_model_folder), load(multi_label_folder)
    limbeck.mlflow.save_model(pairs, tmp_path / "pairs")
    limbeck.mlflow.save_model(str(multi_label_folder), tmp_path / "several")

    two = pd.DataFrame({"text": TEXTS, "pair": TEXTS[::-1]})

    limbeck.mlflow.save_model(several, tmp_path / "plain", signature=None)
    of_pairs = mlflow.pyfunc.load_model(str(tmp_path / "pairs")).predict(two)
    of_several = mlflow.pyfunc.load_model(str(tmp_path / "several")).predict(two[["text"]])

    assert of_pairs["label"].tolist() == pairs.predict(list(zip(TEXTS, TEXTS[::-1], strict=True)))
    plain = mlflow.pyfunc.load_model(str(tmp_path / "plain")).predict(TEXTS)
    assert plain["labels"].tolist() == of_several["labels"].tolist()
    assert of_several["labels"].tolist() == [
        "|".join(labels) for labels in label_sets(several.predict_proba(TEXTS), several.labels)
    ]


def test_it_is_served_over_http(saved: Path, model_folder: Path) -> None:
    server: Any = pytest.importorskip("mlflow.pyfunc.scoring_server")
    from starlette.testclient import TestClient

    with TestClient(server.init(mlflow.pyfunc.load_model(str(saved)))) as client:
        found = client.post(
            "/invocations", json={"dataframe_split": {"columns": ["text"], "data": [[text] for text in TEXTS]}}
        )

    assert found.status_code == 200, found.text
    assert [row["label"] for row in found.json()["predictions"]] == load(model_folder).predict(TEXTS)


def test_no_torch_is_loaded(saved: Path, model_folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT_TORCH, str(saved), *TEXTS],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == [str(load(model_folder).predict(TEXTS)), "[]"]

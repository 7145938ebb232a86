"""Rows with a score, which two words decide: one run from the file to a server's answer."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

import limbeck
from limbeck.artifacts.manifest import read_json
from limbeck.cli.app import app
from limbeck.errors import NeedsClasses
from limbeck.judging.evaluate import evaluate
from limbeck.serving.app import create_app
from limbeck.serving.served_models import ModelSource, ServedModels

RECIPE = """
[corpus]
train = "ratings.csv"
test_fraction = 0.2
dev_fraction = 0.2
label = "rating"
task = "regression"
score_range = [0, 5]
[teacher]
kind = "linear"
[student]
kind = "bilstm"
hidden_size = 12
embedding_size = 12
dense_size = 12
dropout = 0.0
word_vectors = "random"
[[candidates]]
kind = "ngrams"
[distillation]
epochs = 3
batch_size = 16
learning_rate = 0.01
[[distillation.losses]]
kind = "huber"
[[distillation.losses]]
kind = "ranking"
weight = 0.1
[evaluation]
latency_rows = 1
latency_rounds = 1
throughput_rows = 4
throughput_batches = []
bootstrap_samples = 200
score_threshold = 3.0
"""
NEUTRAL_TEXT = "the a this film story scene actor camera evening music script city garden letter road is was has"
NEUTRAL = NEUTRAL_TEXT.split()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on 240 rows: 2.5, more with "gorgeous", less with "dreadful"."""
    folder, dice = tmp_path_factory.mktemp("scores"), random.Random(5)
    rows: dict[str, float] = {}
    while len(rows) < 240:
        words, score = dice.choices(NEUTRAL, k=dice.randint(3, 9)), 2.5
        for word, moves in (("gorgeous", 1.5), ("dreadful", -1.5)):
            if dice.random() < 0.5:
                words.insert(dice.randint(0, len(words)), word)
                score += moves
        rows[" ".join(words)] = round(score + dice.uniform(-0.2, 0.2), 2)
    with (folder / "ratings.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "rating"), *rows.items()])
    (folder / "toy.toml").write_text(RECIPE, encoding="utf-8")
    limbeck.run(folder / "toy.toml", out=folder / "runs" / "toy")
    return folder / "runs" / "toy"


def _rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_the_report_is_about_scores_and_nothing_of_classes_pretends_to_be_there(run: Path) -> None:
    report: dict[str, Any] = read_json(run / "report" / "report.json")

    assert report["corpus"]["task"] == "regression"
    assert (report["cascade"], report["slices"], report["worst_errors"]) == (None, None, [])
    for entry in report["models"]:
        of_classes = ("accuracy", "accuracy_ci95", "macro_f1", "confusion", "ece", "temperature", "roc_auc")
        assert [entry[name] for name in of_classes] == [None] * len(of_classes)
        assert entry["mcnemar"] == {"baseline": None, "teacher": None, "rival": None}
        low, high = entry["spearman_ci95"]
        assert low <= entry["spearman"] <= high
        assert entry["at_threshold"]["auc"] > 0.5
    found = report["score_cascade"]
    assert (found["student"], found["score_threshold"]) == (report["best"], 3.0)
    assert 0 <= found["cheapest"]["width"] <= 5
    assert found["points"][0]["accuracy"] == pytest.approx(found["student_accuracy"])
    assert found["points"][-1]["accuracy"] == pytest.approx(found["teacher_accuracy"])
    best = next(entry for entry in report["models"] if entry["name"] == report["best"])
    assert best["spearman"] > 0.75
    assert best["rmse"] < 0.6 * report["chance"]["rmse"]
    assert len(best["scatter"]) == report["judged_rows"]
    assert report["largest_residuals"][0].keys() == {"text", "pair", "score", "student", "teacher"}


def test_the_page_and_the_card_and_the_tables_say_so(run: Path) -> None:
    page = (run / "report" / "report.html").read_text(encoding="utf-8")
    card = (run / "models" / "best" / "README.md").read_text(encoding="utf-8")
    shown = CliRunner().invoke(app, ["report", str(run)])

    assert 'id="plot-scatter"' in page
    assert 'id="plot-residuals"' in page
    assert 'id="plot-cascade"' in page
    assert "At a threshold of 3, " in page
    assert 'id="plot-confusion' not in page
    assert "accuracy" not in card
    assert "a score from 0 to 5" in card
    assert "Residuals of" in shown.output
    assert "RMSE" in shown.output
    assert "Cascade: At a threshold of 3, " in shown.output


def test_a_model_gives_numbers_in_the_units_of_the_file(run: Path, tmp_path: Path) -> None:
    model = limbeck.load(run / "models" / "best")
    texts = ["a gorgeous film", "the film", "a dreadful film"]

    scores = model.predict(texts)

    assert all(isinstance(score, float) and 0 <= score <= 5 for score in scores)
    assert np.all(np.diff(np.array(scores, dtype=float)) <= 0)
    with pytest.raises(NeedsClasses, match="predict_proba needs classes"):
        model.predict_proba(texts)
    with pytest.raises(NeedsClasses, match="a cascade needs classes"):
        limbeck.load(run / "models" / "best", fallback=run / "models" / "bilstm", share=0.1)
    (tmp_path / "new.csv").write_text("text,score\n" + "".join(f"{text},9\n" for text in texts), encoding="utf-8")
    for name in ("out.csv", "out.parquet"):
        done = CliRunner().invoke(
            app, ["predict", str(run / "models" / "best"), str(tmp_path / "new.csv"), "--out", str(tmp_path / name)]
        )
        assert done.exit_code == 0, done.output
    written = _rows(tmp_path / "out.csv")
    assert [row["score"] for row in written] == ["9", "9", "9"]
    assert [float(row["predicted_score"]) for row in written] == pytest.approx(scores, abs=1e-4)
    assert pq.read_table(tmp_path / "out.parquet")["predicted_score"].to_pylist() == pytest.approx(scores)


def test_a_file_is_filtered_by_score_in_batches(run: Path, tmp_path: Path) -> None:
    texts = ["a gorgeous film", "a dreadful film", "the gorgeous city", "the dreadful city"]
    pq.write_table(pa.table({"text": texts, "page": [1, 2, 3, 4]}), tmp_path / "pages.parquet")
    model = limbeck.load(run / "models" / "best")

    with (
        pq.ParquetFile(tmp_path / "pages.parquet") as pages,
        pq.ParquetWriter(tmp_path / "kept.parquet", pages.schema_arrow) as kept,
    ):
        for batch in pages.iter_batches(batch_size=3):
            kept.write_batch(batch.filter(pa.array(model.scores(batch["text"].to_pylist()) >= 2.5)))

    assert pq.read_table(tmp_path / "kept.parquet")["page"].to_pylist() == [1, 3]


def test_every_file_gives_what_its_student_gives(run: Path) -> None:
    texts = ["a gorgeous film", "the dreadful city", "music"]
    fp32, int8 = (np.array(limbeck.load(run / "models" / name).predict(texts)) for name in ("bilstm", "bilstm-int8"))
    blend = limbeck.load(run / "models" / "blend-int8").facts

    assert np.abs(fp32 - int8).max() < 0.3
    assert sum(member.weight for member in blend.members) == pytest.approx(1.0, abs=0.01)
    assert blend.temperature == 1.0


def test_it_is_judged_on_a_file_by_correlations(run: Path) -> None:
    result = evaluate(run / "models" / "best", run.parents[1] / "ratings.csv").as_json()
    shown = CliRunner().invoke(app, ["evaluate", str(run / "models" / "best"), str(run.parents[1] / "ratings.csv")])

    assert result["rows"] == 240
    assert result["spearman"] > 0.75
    assert result["rmse"] < result["rmse_of_mean"]
    assert "Spearman" in shown.output
    assert "Largest residuals" in shown.output


def test_a_server_gives_scores_and_refuses_what_is_about_classes(run: Path) -> None:
    served = create_app(ServedModels.open([ModelSource(run / "models" / "best")]))
    (expected,) = limbeck.load(run / "models" / "best").predict(["a gorgeous film"])
    tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "data": ["a gorgeous film"]}

    with TestClient(served) as client:
        name = client.get("/model").json()["name"]
        activation = {"function_to_apply": "softmax"}
        found = {
            "about": client.get("/model"),
            "own": client.post("/predict", json={"texts": ["a gorgeous film"], "explain": True}),
            "hugging face": client.post("/", json={"inputs": "a gorgeous film"}),
            "softmax": client.post("/", json={"inputs": "a film", "parameters": activation}),
            "vllm": client.post("/v1/classify", json={"input": ["a gorgeous film"]}),
            "kserve": client.post(f"/v2/models/{name}/infer", json={"inputs": [tensor]}),
            "described": client.get("/openapi.json"),
        }

    assert found["about"].json()["score_range"] == [0.0, 5.0]
    prediction = found["own"].json()["predictions"][0]
    assert prediction["score"] == pytest.approx(expected, abs=1e-4)
    strongest = max(prediction["explanation"], key=lambda piece: piece["effect"])
    assert strongest["piece"] == "gorgeous"
    assert found["hugging face"].json()[0][0]["label"] == "score"
    assert found["hugging face"].json()[0][0]["score"] == pytest.approx(expected, abs=1e-4)
    assert (found["softmax"].status_code, found["vllm"].status_code) == (422, 422)
    assert "gives a score, not classes" in found["vllm"].text
    assert found["kserve"].json()["outputs"][0]["name"] == "score"
    assert "ScorePredictAnswer" in json.dumps(found["described"].json()["paths"]["/predict"])


def test_the_doctor_and_the_labels_and_the_review_know_what_scores_lack(run: Path, tmp_path: Path) -> None:
    command = CliRunner().invoke
    labels = command(app, ["labels", str(run), "--export", str(tmp_path / "labels.csv")])
    doctor, review = command(app, ["doctor", str(run)]), command(app, ["review", str(run)])

    assert labels.exit_code == 0, labels.output
    first = _rows(tmp_path / "labels.csv")[0]
    assert -2 < float(first["score"]) < 7
    assert doctor.exit_code in (0, 1), doctor.output
    assert "Traceback" not in doctor.output
    drift = command(app, ["drift", str(run / "models" / "best"), str(run.parents[1] / "ratings.csv")])
    assert [one.exit_code for one in (review, drift)] == [2, 2]
    assert "a review of labels needs classes" in review.stderr
    assert "drift needs classes" in drift.stderr

"""A model that abstains, from a csv file to its answers."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import limbeck
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.cli.app import app

GOOD, BAD = ("gorgeous", "witty", "charming", "superb"), ("dreadful", "dull", "awful", "tedious")
OTHER = ("invoice", "kernel", "photon", "ledger", "rainfall", "gearbox")
FILLING = ("film", "story", "actor", "scene", "the", "a", "with")
RECIPE = """
[corpus]
train = "rows.csv"
dev_fraction = 0.3
out_of_scope = "oos"
[teacher]
kind = "linear"
[student]
kind = "ngrams"
[distillation]
epochs = 1
baseline = false
teach_foreign = 30
[export]
precisions = ["fp32"]
[export.abstain]
answer = "something else"
[evaluation]
latency_rows = 2
throughput_batches = []
bootstrap_samples = 100
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, dice = tmp_path_factory.mktemp("abstaining"), np.random.default_rng(0)
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        for number in range(240):
            kind = ("good", "bad", "oos")[number % 3]
            words = [*dice.choice({"good": GOOD, "bad": BAD, "oos": OTHER}[kind], 2), *dice.choice(FILLING, 3)]
            rows.writerow([" ".join(dice.permutation(words)), kind])
    (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    limbeck.run(folder / "recipe.toml", out=folder / "run")
    return folder / "run"


def test_rows_out_of_scope_fit_the_threshold_and_judge_it(run: Path) -> None:
    found = json.loads((run / "report" / "report.json").read_text(encoding="utf-8"))["abstaining"]
    facts = ModelFolder(run / "models" / "best").facts()

    assert facts.labels == ["bad", "good"]
    assert found["threshold"]["threshold"] == facts.abstain.threshold  # type: ignore[union-attr]  # it would fail
    assert (found["foreign"]["source"], found["foreign"]["rows"]) == ("labelled", 40)
    assert found["on_dev"]["foreign"]["rows"] == 20  # the other half is taught
    assert found["foreign"]["withheld"] > 0.8
    assert found["threshold"]["coverage"] > 0.8
    page = (run / "report" / "report.html").read_text(encoding="utf-8")
    assert "Giving no label when in doubt" in page
    assert "have learned 20 rows labelled as out of scope" in page


def test_every_way_to_ask_gives_the_answer_of_the_recipe(run: Path, tmp_path: Path) -> None:
    model, texts = run / "models" / "best", ["a gorgeous witty film", "ledger photon rainfall"]
    (tmp_path / "texts.csv").write_text("text\n" + "\n".join(texts) + "\n", encoding="utf-8")

    wary, always = limbeck.load(model).predict(texts), limbeck.load(model, abstain=False).predict(texts)
    table = CliRunner().invoke(app, ["predict", str(model), str(tmp_path / "texts.csv")])
    lines = CliRunner().invoke(app, ["predict", str(model), str(tmp_path / "texts.csv"), "--json", "--no-abstain"])

    assert wary == ["good", "something else"]
    assert set(always) <= {"bad", "good"}
    rows = list(csv.DictReader(io.StringIO(table.stdout)))
    assert [row["label"] for row in rows] == wary
    assert float(rows[0]["score"]) > float(rows[1]["score"])
    objects = [json.loads(line) for line in lines.stdout.splitlines()]
    assert [one["label"] for one in objects] == always
    assert "score" not in objects[0]


def test_it_is_evaluated_on_the_rows_that_have_a_class(run: Path) -> None:
    done = CliRunner().invoke(app, ["evaluate", str(run / "models" / "best"), str(run.parent / "rows.csv"), "--json"])

    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["rows"], found["unknown_rows"]) == (160, 0)
    assert found["abstaining"]["foreign"]["rows"] == 80
    assert found["abstaining"]["threshold"]["answer"] == "something else"

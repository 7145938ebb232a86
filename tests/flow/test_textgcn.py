"""A graph convolution on the whole road: distilled, exported, and in the published set-up, which is not exported."""

import json
from pathlib import Path

import numpy as np
import pytest

import limbeck
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.errors import RecipeInvalid
from limbeck.export.parity import TransductiveRefused
from limbeck.progress import SilentReporter
from limbeck.recipe.load import load_recipe
from limbeck.recipe.stages import Stage

RECIPE = """
[corpus]
train = "{folder}/train.csv"
test = "{folder}/test.csv"

[teacher]
kind = "{teacher}"
{near_chance}

[student]
kind = "textgcn"
hidden_size = 16
batch_size = 64
vocabulary.min_count = 1

[distillation]
epochs = 40

[evaluation]
latency_rows = 10
latency_rounds = 1
throughput_rows = 16
throughput_batches = []
"""


def written(toy_csv: Path, *, teacher: str, near_chance: str = "") -> Path:
    folder = toy_csv.parent
    lines = toy_csv.read_text(encoding="utf-8").splitlines()
    (folder / "train.csv").write_text("\n".join(lines[:151]), encoding="utf-8")
    (folder / "test.csv").write_text("\n".join([lines[0], *lines[151:]]), encoding="utf-8")
    path = folder / "graph.toml"
    path.write_text(RECIPE.format(folder=folder, teacher=teacher, near_chance=near_chance), encoding="utf-8")
    return path


def test_it_is_distilled_and_reads_new_texts_without_its_graph(toy_csv: Path) -> None:
    recipe = written(toy_csv, teacher="linear", near_chance='near_chance = "warn"')

    run = limbeck.run(recipe, out=toy_csv.parent / "run")

    report = json.loads((run.folder / "report/report.json").read_text())
    found = {model["name"]: model for model in report["models"]}
    assert {"textgcn-alone", "textgcn", "textgcn-int8"} <= found.keys()
    assert found["textgcn"]["accuracy"] > report["chance"]["accuracy"]
    assert found["textgcn"]["parameters"] < 100 * 4  # a number for each class and the rarity of each word
    model = limbeck.load(run.folder / "models" / "textgcn")
    assert np.isfinite(model.logits(["never seen in any graph", "."])).all()


def test_test_rows_are_not_in_the_graph(toy_csv: Path) -> None:
    recipe, silent = written(toy_csv, teacher="none"), SilentReporter()
    places = [toy_csv.parent / name for name in ("one", "two")]
    first = limbeck.run(recipe, out=places[0], until=Stage.DISTILLATION, reporter=silent)
    test = toy_csv.parent / "test.csv"
    test.write_text("text,label\nother words entirely here,positive\n", encoding="utf-8")

    second = limbeck.run(recipe, out=places[1], until=Stage.DISTILLATION, reporter=silent)

    one, two = (StudentFolder(run.folder / "students/textgcn/0") for run in (first, second))
    assert (one.folder / "model.safetensors").read_bytes() == (two.folder / "model.safetensors").read_bytes()


def test_the_published_set_up_gives_numbers_and_no_file(toy_csv: Path) -> None:
    recipe, out = written(toy_csv, teacher="none"), toy_csv.parent / "run"

    with pytest.raises(TransductiveRefused) as refused:
        limbeck.run(recipe, overrides=["student.transductive=true"], out=out, reporter=SilentReporter())

    facts = StudentFolder(out / "students/textgcn/0").facts
    assert facts.transductive is not None
    assert facts.transductive.keys() == {"dev", "test"}
    assert f"{facts.transductive['test']:.1%} on test" in str(refused.value)
    assert "student.transductive = false" in refused.value.advice
    assert not [*(out / "models").glob("*")]


@pytest.mark.parametrize("override", ["teacher.kind='linear'", "corpus.pair='other'"])
def test_the_published_set_up_has_labels_alone(toy_csv: Path, override: str) -> None:
    recipe = written(toy_csv, teacher="none")

    with pytest.raises(RecipeInvalid) as refused:
        load_recipe(recipe, overrides=["student.transductive=true", override])

    assert "student.transductive" in str(refused.value)

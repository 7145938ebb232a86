"""A language model that gives scores: digits, whose probabilities make a score between them."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.errors import LimbeckError
from limbeck.pipeline import run
from limbeck.pipeline.label import RowsToLabel
from limbeck.progress import SilentReporter
from limbeck.recipe.stages import Stage
from limbeck.teacher.endpoint import ExampleUnusable

RECIPE = """
[corpus]
train = "stars.csv"
label = "stars"
task = "regression"
score_range = {limits}
dev_fraction = 0.2
[teacher]
kind = "endpoint"
url = "{url}"
model = "tiny"
{more}
"""


def written(folder: Path, toy_rows: Any, *, url: str, limits: str = "[1.0, 5.0]", more: str = "") -> Path:
    """Gorgeous films have about 4.5 stars, dreadful ones about 1.5."""
    rows = [
        (text, (4.5 if label == "positive" else 1.5) + 0.1 * (number % 6))
        for number, (text, label) in enumerate(toy_rows)
    ]
    with (folder / "stars.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "stars"), *rows])
    (folder / "stars.toml").write_text(RECIPE.format(limits=limits, url=url, more=more), encoding="utf-8")
    return folder / "stars.toml"


def labelled(recipe: Path, **changes: Any) -> tuple[Corpus, TeacherFolder, TeacherLabels]:
    overrides = [f"{name}={value}" for name, value in changes.items()]
    out = recipe.parent / "run"
    run(recipe, out=out, overrides=overrides, until=Stage.LABELING, reporter=SilentReporter())
    return Corpus(out / "corpus"), TeacherFolder(out / "teacher"), TeacherLabels(out / "labels")


def given_scores(corpus: Corpus, labels: TeacherLabels) -> Any:
    train = corpus.splits["train"]
    assert corpus.scale is not None
    return corpus.scale.scores(labels.for_rows(train.ids)[:, 0], clip=False), train.texts


def test_digits_become_scores_and_a_line_on_dev_corrects_them(toy_rows: Any, chat: Any, tmp_path: Path) -> None:
    chat.script(words={"gorgeous": "4", "dreadful": "3"}, sure=0.8)  # it spreads 0.2 evenly over the other digits
    recipe = written(tmp_path, toy_rows, url=chat.url, more='examples_from_train = 3\ncalibration = "none"')

    corpus, teacher, labels = labelled(recipe)
    found, texts = given_scores(corpus, labels)

    asked = chat.seen()
    assert asked["requests"] == len({text for text, _ in toy_rows})
    system, *shown = [message["content"] for message in asked["last"]["messages"]]
    assert "a whole number from 1 to 5" in system
    low, middle, high = map(int, shown[1:6:2])  # examples from low to high
    assert low <= 2 <= middle <= high == 5
    expected = {"gorgeous": 0.8 * 4 + 0.05 * (1 + 2 + 3 + 5), "dreadful": 0.8 * 3 + 0.05 * (1 + 2 + 4 + 5)}
    wanted = [expected["gorgeous" if "gorgeous" in text else "dreadful"] for text in texts]
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    assert (teacher.facts.dev_spearman or 0) > 0.8

    corpus, teacher, labels = labelled(recipe, **{"teacher.calibration": "dev"})
    found, texts = given_scores(corpus, labels)

    assert chat.seen()["requests"] == asked["requests"]  # calibration is no part of the question
    is_good = np.array(["gorgeous" in text for text in texts])
    assert found[is_good].mean() == pytest.approx(4.75, abs=0.1)
    assert found[~is_good].mean() == pytest.approx(1.75, abs=0.1)


def test_a_range_of_many_numbers_is_asked_in_ten_steps_and_batches_say_the_same(
    toy_rows: Any, chat: Any, tmp_path: Path
) -> None:
    chat.script(words={"gorgeous": "9", "dreadful": "0"}, sure=1.0)
    more = 'calibration = "none"\ninstruction = "Rate it."\ndescriptions = { 9 = "the best of all" }'
    recipe = written(tmp_path, toy_rows[:60], url=chat.url, limits="[0.0, 90.0]", more=more)
    rows = RowsToLabel(recipe, out=tmp_path / "run", reporter=SilentReporter())
    asked = rows.of(rows.teachers[0])
    _, files = asked.export(tmp_path / "batch.jsonl")
    question = json.loads(files[0].read_text(encoding="utf-8").splitlines()[0])["body"]["messages"][0]["content"]

    answers = chat.answered(files[0], tmp_path / "answers.jsonl", most=20)
    assert asked.read([answers]).answers == 20
    corpus, _, labels = labelled(recipe)
    found, texts = given_scores(corpus, labels)

    assert "0 means 0, 9 means 90" in question
    assert "9: the best of all" in question
    assert chat.seen()["requests"] == 60
    np.testing.assert_allclose(found, [90 if "gorgeous" in text else 0 for text in texts], atol=0.01)


def test_what_it_says_of_itself_and_examples_without_a_score_are_refused(
    toy_rows: Any, chat: Any, tmp_path: Path
) -> None:
    with pytest.raises(LimbeckError, match="is about classes"):
        labelled(written(tmp_path, toy_rows, url=chat.url, more='answers = "confidence"'))
    more = '[[teacher.examples]]\ntext = "a film"\nlabels = ["good"]'
    with pytest.raises(ExampleUnusable, match=r"teacher\.examples\.0"):
        labelled(written(tmp_path, toy_rows, url=chat.url, more=more))
    assert chat.seen()["requests"] == 0

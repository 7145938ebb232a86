"""A Chinese file, and neither a GPU nor the hub nor a Chinese encoder: one command still ends in a model."""

import csv
import random
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import limbeck
from limbeck.cli.app import app
from limbeck.drafting import draft, draft_teacher

GOOD, BAD = ["真好", "很满意", "喜欢", "推荐"], ["太差", "退货", "失望", "不理人"]
FILLING = ["快递", "手机", "衣服", "价格", "今天", "昨天", "包装"]
QUICK = [
    "distillation.epochs=2",
    "distillation.baseline_epochs=2",
    "augmentation.copies=1",
    "evaluation.latency_rows=2",
]


@pytest.fixture
def reviews(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    dice = random.Random(0)
    with (tmp_path / "reviews.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for number in range(160):
            words = [*dice.choices([GOOD, BAD][number % 2], k=2), *dice.choices(FILLING, k=4)]
            dice.shuffle(words)
            writer.writerow(["".join(words), ["好", "差"][number % 2]])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(draft, "has_gpu", lambda: False)
    monkeypatch.setattr(draft_teacher, "why_out_of_reach", lambda _: "no answer from the hub")
    return tmp_path / "reviews.csv"


@pytest.mark.usefixtures("reviews")
def test_one_command_ends_in_a_model_and_says_who_taught_it() -> None:
    done = CliRunner().invoke(app, ["run", "reviews.csv", *(part for key in QUICK for part in ("--set", key))])

    assert done.exit_code == 0, done.stderr
    assert "teacher: a linear classifier, since no encoder for Chinese texts is at hand" in done.stderr
    assert "no answer from the hub" in done.stderr
    assert tomllib.loads(Path("reviews.toml").read_text(encoding="utf-8"))["teacher"] == {"kind": "linear"}
    assert limbeck.load("runs/reviews/models/best").predict(["今天很满意推荐"]) == ["好"]
    page = Path("runs/reviews/report/report.html").read_text(encoding="utf-8")
    assert "which are timed as tfidf" in page


@pytest.mark.usefixtures("reviews")
def test_its_time_is_planned_without_epochs_of_the_teacher() -> None:
    done = CliRunner().invoke(app, ["run", "reviews.csv", "--minutes", "1", "--until", "labeling"])

    assert done.exit_code == 0, done.stderr
    assert "plan for 1 minutes" in done.stderr
    assert tomllib.loads(Path("runs/reviews/recipe.toml").read_text(encoding="utf-8"))["teacher"]["kind"] == "linear"

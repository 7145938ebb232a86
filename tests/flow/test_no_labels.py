"""From texts without labels: a language model labels them, a person checks some, and the report says whose they are."""

import csv
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from limbeck.annotation.recipes import RecipeOfOtherLabels
from limbeck.annotation.run import NoAnswers, WantedLabels, annotate, texts_to_ask
from limbeck.cli import app
from limbeck.pipeline import run
from limbeck.pipeline.label import RowsToLabel
from limbeck.progress import SilentReporter
from limbeck.recipe.stages import Stage
from limbeck.report import wording

CLASSES = ("praise", "complaint")
WORDS = {"gorgeous": "praise", "dreadful": "complaint"}
SMALL = [
    *("student.kind=ngrams", "evaluation.latency_rows=4", "export.int8_agreement=0.0", "evaluation.rival=false"),
    *("distillation.epochs=1", "distillation.baseline=false", "candidates=[]"),
]


@pytest.fixture
def mails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toy_rows: Any) -> Path:
    """The toy rows without their labels, in the current folder."""
    monkeypatch.chdir(tmp_path)
    texts = [text for text, _ in toy_rows]
    random.Random(0).shuffle(texts)
    with Path("mails.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "text"), *enumerate(texts)])
    return Path("mails.csv")


def test_the_report_is_about_the_model_until_a_person_has_checked_some(mails: Path, chat: Any) -> None:
    chat.script(words=WORDS)
    wanted = WantedLabels(classes=CLASSES, url=chat.url, model="tiny", overrides=("teacher.concurrency=4", *SMALL))

    found = annotate(mails, wanted, reporter=SilentReporter())
    first = run(found.recipe, overrides=wanted.changes, reporter=SilentReporter()).report

    assert chat.seen()["requests"] == 200  # each text once, by annotate; the run asks for nothing
    assert "until then the report measures agreement" in found.summary
    said = wording.verdict_sentences(first)[0]
    assert said.is_loss
    assert (
        said.text == "No person has checked a label here: every number measures agreement with tiny, and nothing else."
    )

    sheet = Path("mails-labels/check.csv")
    lines = list(csv.reader(sheet.read_text(encoding="utf-8").splitlines()))
    right = [next(label for word, label in WORDS.items() if word in text) for text, _ in lines[1:]]
    filled = [[text, label] for (text, _), label in zip(lines[1:31], right, strict=False)]
    filled[0][1] = "praise" if filled[0][1] == "complaint" else "complaint"  # the person disagrees once
    with sheet.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([lines[0], *filled, *lines[31:]])
    annotate(mails, wanted, reporter=SilentReporter())
    second = run(found.recipe, overrides=wanted.changes, reporter=SilentReporter()).report

    assert chat.seen()["requests"] == 200
    said = wording.verdict_sentences(second)[0]
    assert (
        said.text == "A person has labelled the 30 rows of test that the numbers are about; tiny labelled all others."
    )
    assert second["labelled_by"]["right_of_checked"] == pytest.approx(29 / 30)
    assert wording.teacher_of(second)["accuracy"] == pytest.approx(29 / 30)
    assert [point["asked"] for point in second["labelled_by"]["curve"]] == [100, 160]
    assert second["labelled_by"]["curve"][-1]["right"] == pytest.approx(29 / 30)
    assert 'id="plot-asking"' in Path("runs/mails/report/report.html").read_text(encoding="utf-8")


def test_what_it_takes_is_known_before_anything_is_sent_or_written(mails: Path, chat: Any) -> None:
    prices = ("teacher.prices.input_per_million=10.0", "teacher.prices.output_per_million=20.0")
    wanted = WantedLabels(classes=CLASSES, url=chat.url, model="tiny", overrides=prices)

    before = texts_to_ask(mails, wanted).forecast()
    few = texts_to_ask(mails, replace(wanted, choice="random", most_texts=50)).forecast()

    assert chat.seen()["requests"] == 0
    assert [path.name for path in Path().iterdir()] == ["mails.csv"]
    assert (before.requests, few.requests) == (200, 50 + 40)  # 40 for a person to check
    assert before.by_votes is not None
    assert (before.by_votes.requests, before.by_votes.tokens_in) == (5 * 200, 5 * before.tokens_in)
    annotate(mails, wanted, reporter=SilentReporter())
    seen = chat.seen()
    assert seen["tokens_in"] == pytest.approx(before.tokens_in, rel=0.1)
    assert before.cost == pytest.approx((seen["tokens_in"] * 10 + seen["tokens_out"] * 20) / 1e6, rel=0.1)
    assert texts_to_ask(mails, wanted).forecast().known == 200


def test_a_batch_labels_texts_too_and_the_same_command_goes_on_with_it(mails: Path, chat: Any) -> None:
    chat.script(words=WORDS)
    wanted = WantedLabels(classes=CLASSES, url=chat.url, model="tiny")

    count, files = texts_to_ask(mails, wanted).export(Path("batch.jsonl"))
    answers = chat.answered(files[0], Path("answers.jsonl"), most=count)
    stored = texts_to_ask(mails, wanted).read([answers]).answers
    chat.script(words=WORDS)
    found = annotate(mails, wanted, reporter=SilentReporter())

    assert count == stored == 200
    assert chat.seen()["requests"] == 0
    assert "labelled 160 of 160 texts" in found.summary


def test_a_limit_leaves_texts_to_learn_from_and_texts_to_judge_by(mails: Path, chat: Any) -> None:
    chat.script(words=WORDS)
    wanted = WantedLabels(classes=CLASSES, url=chat.url, model="tiny", overrides=("teacher.max_requests=60",))

    found = annotate(mails, wanted, reporter=SilentReporter())

    facts = json.loads(Path("mails-labels/labels.json").read_text(encoding="utf-8"))
    judged = len(Path("mails-labels/test.csv").read_text(encoding="utf-8").splitlines()) - 1
    assert chat.seen()["requests"] == 60 == facts["answered"] + judged
    assert 35 <= facts["answered"] <= 58  # of 60 about 48
    assert "of 160 texts to learn from, beside 40 for a person" in found.summary
    Path("mails.toml").unlink()
    with pytest.raises(NoAnswers, match="max_requests"):
        annotate(mails, replace(wanted, model="b", choice="random", overrides=("teacher.max_requests=30",)))


def test_the_command_tells_the_price_and_refuses_what_it_cannot_use_before_it_pays(mails: Path, chat: Any) -> None:
    def cli(*words: str) -> Any:
        return CliRunner().invoke(app, words)

    asked = ["run", str(mails), "--classes", ",".join(CLASSES), "--endpoint", chat.url, "--model", "tiny"]

    price = cli(*asked, "--dry-run", "--set", "teacher.prices.input_per_million=1000")
    batch = cli(*asked, "--export-batch", "batch.jsonl")
    again = cli(*asked, "--export-batch", "batch.jsonl")
    strange = cli(*asked, "--transfer", "more.csv")
    labelled = cli("run", str(mails), "--dry-run")

    assert "to ask: 200 requests" in price.stdout
    assert re.search(r"cost: about \d", price.stdout)
    assert "by votes: up to 1,000 requests" in price.stdout
    assert "Wrote 200 requests to batch.jsonl" in batch.stdout
    assert (again.exit_code, strange.exit_code, labelled.exit_code) == (2, 2, 2)
    assert "remove it" in again.stderr
    assert "--transfer is for a file of labelled rows" in strange.stderr
    assert "limbeck label mails.csv --dry-run" in labelled.stderr
    assert chat.seen()["requests"] == 0


def test_a_recipe_for_other_classes_is_not_used(mails: Path, chat: Any) -> None:
    chat.script(words=WORDS)
    wanted = WantedLabels(classes=CLASSES, url=chat.url, model="tiny", most_texts=60, choice="spread")
    recipe = annotate(mails, wanted, reporter=SilentReporter()).recipe
    assert chat.seen()["requests"] == 60 + 40  # 40 for a person to check

    with pytest.raises(RecipeOfOtherLabels, match=r"corpus\.label"):
        annotate(mails, WantedLabels(classes=("a", "b"), url=chat.url, model="tiny"), reporter=SilentReporter())
    assert recipe.exists()


def test_costs_are_known_before_the_first_request_and_batches_are_paid_once(
    toy_csv: Path, chat: Any, tmp_path: Path
) -> None:
    recipe = tmp_path / "films.toml"
    recipe.write_text(
        f'[corpus]\ntrain = "{toy_csv.name}"\n[teacher]\nkind = "endpoint"\nurl = "{chat.url}"\nmodel = "tiny"\n'
        "prices = { input_per_million = 10.0, output_per_million = 20.0 }\n"
    )

    def forecast() -> Any:
        rows = RowsToLabel(recipe, out=tmp_path / "runs" / "films", reporter=SilentReporter())
        return rows.of(rows.teachers[0])

    asked = forecast()
    before = asked.forecast()
    assert chat.seen()["requests"] == 0
    assert (before.texts, before.known, before.requests) == (200, 0, 200)
    count, files = asked.export(tmp_path / "batch.jsonl")
    assert (count, len(files)) == (200, 1)
    answers = chat.answered(files[0], tmp_path / "answers.jsonl", most=50)
    assert asked.read([answers]).answers == 50
    assert forecast().read([answers]).known == 50
    after = forecast().forecast()
    assert (after.known, after.spent.requests) == (50, 50)
    failed = tmp_path / "failed.jsonl"
    response = {"status_code": 500, "body": {"error": {"message": "oops"}}}
    named = [json.loads(line)["custom_id"] for line in files[0].read_text(encoding="utf-8").splitlines()[50:]]
    failed.write_text("\n".join(json.dumps({"custom_id": name, "response": response}) for name in named))
    assert forecast().read([failed]).unreadable == 150
    assert forecast().forecast().spent == after.spent  # they cost nothing, and say nothing about tokens

    chat.script()
    run(recipe, out=tmp_path / "runs" / "films", until=Stage.LABELING, reporter=SilentReporter())

    seen = chat.seen()
    assert seen["requests"] == 150
    assert seen["tokens_in"] == pytest.approx(after.tokens_in, rel=0.1)
    assert seen["tokens_out"] == pytest.approx(after.tokens_out, rel=0.1)
    assert after.cost == pytest.approx((seen["tokens_in"] * 10 + seen["tokens_out"] * 20) / 1e6, rel=0.1)

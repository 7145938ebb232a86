"""Toy rows with planted wrong labels: the review finds them, and a run with the corrections says what they changed."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from markupsafe import escape
from typer.testing import CliRunner

import limbeck
from limbeck.cli.app import app
from limbeck.progress import SilentReporter
from limbeck.recipe.load import load_recipe
from limbeck.report.findings import corrected
from limbeck.review.answers import EncoderMissing, ReviewSettings, TeacherNotRepeatable
from limbeck.review.corrections import CorrectionUnusable, apply_corrections
from limbeck.review.run import review
from limbeck.review.sheets import read_sheet, write_sheet

PLANTED = (3, 20, 41, 66, 90, 130)
OTHER = {"positive": "negative", "negative": "positive"}
SILENT = SilentReporter()
RECIPE = """
name = "toy"
[corpus]
train = "rows.csv"
[transfer]
files = ["extra.txt"]
[teacher]
{teacher}
[student]
kind = "bag"
embedding_size = 8
[distillation]
epochs = 2
seeds = [0]
baseline = false
[evaluation]
latency_rows = 2
rival = false
"""


def rows_of_csv() -> list[list[str]]:
    with Path("rows.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


@pytest.fixture
def recipe(tmp_path: Path, toy_rows: tuple[tuple[str, str], ...], monkeypatch: pytest.MonkeyPatch) -> Path:
    """200 rows, six of them with the wrong label, and one that contradicts another one; and unlabelled rows."""
    rows = [(text, OTHER[label] if at in PLANTED else label) for at, (text, label) in enumerate(toy_rows)]
    rows.append((rows[10][0].upper(), OTHER[rows[10][1]]))
    with (tmp_path / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    texts = [" ".join(reversed(text.split())) for text, _ in toy_rows[:80]]
    (tmp_path / "extra.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    path = tmp_path / "toy.toml"
    path.write_text(RECIPE.format(teacher='kind = "linear"'), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return path


def test_planted_labels_are_found_corrected_and_reported(recipe: Path) -> None:
    run = limbeck.run(recipe, reporter=SILENT)

    shown = CliRunner().invoke(app, ["review", "runs/toy", "--next", "5"])

    assert shown.exit_code == 0, shown.stderr
    assert "labels that look wrong" in shown.stdout
    sheet = run.folder / "review" / "labels.csv"
    rows = read_sheet(sheet)
    found = {row["id"] for row in rows if "models" in row["found_by"]}
    assert len(found & {f"train-{at}" for at in PLANTED}) >= 5  # of 6
    assert found <= {*(f"train-{at}" for at in PLANTED), "train-200"}
    assert {row["id"] for row in rows if "same text" in row["found_by"]} == {"train-10", "train-200"}
    page = (run.folder / "report" / "report.html").read_text(encoding="utf-8")
    assert '<h2 id="review">Review of the data</h2>' in page
    assert rows[0]["text"] in page
    assert str(escape(rows[0]["reason"])) in page
    chosen = read_sheet(run.folder / "review" / "next.csv")
    assert len(chosen) == 5
    assert {row["label"] for row in chosen} == {""}

    edited = [{**row, "new_label": row["suggested"] if row["split"] == "train" else ""} for row in rows]
    write_sheet(sheet, list(rows[0]), edited)
    write_sheet(run.folder / "review" / "next.csv", list(chosen[0]), [{**chosen[0], "label": "positive"}])
    refused = CliRunner().invoke(app, ["review", "runs/toy"])
    asked = ["review", "runs/toy", "--apply", str(sheet), "--apply", str(run.folder / "review" / "next.csv")]
    applied = CliRunner().invoke(app, asked)

    assert refused.exit_code == 2
    assert "which a new review would remove" in refused.stderr
    assert applied.exit_code == 0, applied.stderr
    assert "1 rows added" in applied.stdout
    train = read_sheet(Path("runs/toy-reviewed-train.csv"))
    changed = {row["id"] for row in train if row["label"] != row["old_label"] and row["old_label"]}
    assert changed == {row["id"] for row in edited if row["new_label"]}

    after = limbeck.run("runs/toy-reviewed.toml", reporter=SILENT)

    (sentence,) = corrected(after.report)
    assert f"after a review of the run toy: {len(changed)} labels corrected, 1 rows added" in sentence
    assert "accuracy on the same 20 dev rows: the teacher" in sentence
    assert "after a review of the run toy" in (after.folder / "report" / "report.html").read_text(encoding="utf-8")


def test_vectors_of_the_encoder_are_used_and_answers_are_kept(recipe: Path, tiny_teacher_folder: Path) -> None:
    teacher = f'checkpoint = "{tiny_teacher_folder}"\nnear_chance = "warn"\nepochs = 1'
    recipe.write_text(RECIPE.format(teacher=teacher), encoding="utf-8")
    run = limbeck.run(recipe, until="labeling", reporter=SILENT)  # type: ignore[arg-type]

    first = review(run.folder, count=0, reporter=SILENT)
    kept = run.folder / "review" / "out-of-fold" / "labels.arrow"
    written = kept.stat().st_mtime_ns
    second = review(run.folder, count=0, reporter=SILENT)
    words = review(run.folder, settings=ReviewSettings(with_vectors=False), count=0, reporter=SILENT)

    assert set(first.agreement) == {"words", "vectors", "all"}
    assert first.doubtful == second.doubtful
    assert set(words.agreement) == {"words", "all"}
    assert written != kept.stat().st_mtime_ns, "with other settings they are made again"
    assert {split["split"]: split["by"] for split in first.judged}["dev"] == "the teacher"
    assert not (run.folder / "review" / "next.csv").exists()


def test_an_encoder_that_is_gone_is_named_with_what_to_do(recipe: Path, tiny_teacher_copy: Path) -> None:
    teacher = f'checkpoint = "{tiny_teacher_copy}"\nnear_chance = "warn"\nepochs = 1'
    recipe.write_text(RECIPE.format(teacher=teacher), encoding="utf-8")
    run = limbeck.run(recipe, until="labeling", reporter=SILENT)  # type: ignore[arg-type]
    shutil.rmtree(tiny_teacher_copy)

    with pytest.raises(EncoderMissing, match="from which the teacher was fine-tuned") as error:
        review(run.folder, count=0, reporter=SILENT)

    assert "--no-vectors" in str(error.value)
    assert review(run.folder, settings=ReviewSettings(with_vectors=False), count=0, reporter=SILENT).doubtful


def test_the_teacher_is_trained_again_for_each_part_if_asked(recipe: Path) -> None:
    run = limbeck.run(recipe, until="labeling", reporter=SILENT)  # type: ignore[arg-type]

    found = review(run.folder, settings=ReviewSettings(parts=2, with_teacher=True), count=0, reporter=SILENT)

    assert set(found.agreement) == {"words", "teacher", "all"}
    assert not list((run.folder / "review").rglob("*-corpus"))


def test_a_teacher_that_was_not_trained_here_is_not_trained_again(recipe: Path, toy_csv: Path) -> None:
    del toy_csv
    answers = Path("answers.csv")
    rows = rows_of_csv()
    with answers.open("w", encoding="utf-8", newline="") as file:
        chances = [[text, *("1", "0")[:: 1 if label == "negative" else -1]] for text, label in rows]
        csv.writer(file).writerows([("text", "negative", "positive"), *chances])
    teacher = 'kind = "file"\npath = "answers.csv"\nuncovered = "skip"'
    recipe.write_text(RECIPE.format(teacher=teacher), encoding="utf-8")
    run = limbeck.run(recipe, until="labeling", reporter=SILENT)  # type: ignore[arg-type]

    with pytest.raises(TeacherNotRepeatable, match="not trained in this run"):
        review(run.folder, settings=ReviewSettings(with_teacher=True), reporter=SILENT)
    found = review(run.folder, reporter=SILENT)

    assert {split["by"] for split in found.judged} == {"TF-IDF, trained without the row"}


def test_what_cannot_be_applied_is_refused_with_its_row(recipe: Path) -> None:
    run = limbeck.run(recipe, until="labeling", reporter=SILENT)  # type: ignore[arg-type]
    sheet = Path("edited.csv")

    def refused(row_id: str, label: str) -> str:
        write_sheet(sheet, ["id", "new_label"], [{"id": row_id, "new_label": label}])
        with pytest.raises(CorrectionUnusable) as error:
            apply_corrections(run.folder, [sheet])
        return str(error.value)

    assert "no class 'positve' (did you mean 'positive'?)" in refused("train-1", "positve")
    assert "the run has no row 'train-999'" in refused("train-999", "positive")
    assert "no row has a new label" in refused("train-1", "")
    write_sheet(sheet, ["id", "new_label"], [{"id": f"train-{at}", "new_label": "positive"} for at in range(201)])
    with pytest.raises(CorrectionUnusable, match="cannot be applied") as lost:
        apply_corrections(run.folder, [sheet])
    assert "no row of train is left with the label 'negative'" in str(lost.value)
    assert not Path("runs/toy-reviewed.toml").exists()


def test_several_labels_and_pairs_can_be_reviewed_and_corrected(recipe: Path) -> None:
    rows = rows_of_csv()
    labels = {"positive": "good|old", "negative": "bad"}
    table = [(text, f"second {at % 7}", labels[label] if at % 9 else "") for at, (text, label) in enumerate(rows)]
    with Path("rows.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "other", "label"), *table])
    text = RECIPE.replace('train = "rows.csv"', 'train = "rows.csv"\npair = "other"\nmulti_label = true')
    text = text.replace('[transfer]\nfiles = ["extra.txt"]\n', "")
    recipe.write_text(text.format(teacher='kind = "linear"'), encoding="utf-8")
    run = limbeck.run(recipe, until="labeling", reporter=SILENT)  # type: ignore[arg-type]

    found = review(run.folder, reporter=SILENT)

    assert {row.id for row in found.doubtful} >= {"train-3", "train-41", "train-66"}
    assert {"bad", "good|old"} <= {row.suggested for row in found.doubtful}
    assert not found.has_transfer
    write_sheet(
        Path("edited.csv"),
        ["id", "new_label"],
        [
            {"id": "train-3", "new_label": "old | bad"},
            {"id": "train-4", "new_label": "(none)"},
            {"id": "train-5", "new_label": "(drop)"},
        ],
    )
    applied = apply_corrections(run.folder, [Path("edited.csv")])

    splits = [read_sheet(path) for path in applied.files.values()]
    written = {row["id"]: row["label"] for rows_of in splits for row in rows_of}
    assert (written["train-3"], written["train-4"], "train-5" in written) == ("bad|old", "", False)
    assert applied.counts == {"changed": 2, "dropped": 1, "added": 0}
    corpus = load_recipe(applied.recipe).recipe.corpus
    assert (corpus.pair, corpus.multi_label, corpus.text) == ("pair", True, "text")
    before = json.loads(Path("runs/toy-reviewed-corrections.json").read_text(encoding="utf-8"))["before"]
    assert before is None
    limbeck.run(applied.recipe, until="corpus", reporter=SILENT)  # type: ignore[arg-type]

"""Every kind of teacher down the whole road: ready, a file, several of them; pairs, and several labels a row."""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import limbeck
from limbeck.artifacts.run_folder import Run
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.errors import ArtifactMissing, LabelsDoNotCover, LimbeckError
from limbeck.pipeline import run
from limbeck.pipeline.labels import labelled_run
from limbeck.progress import SilentReporter
from limbeck.recipe.stages import Stage
from limbeck.teacher.chance import TeacherNearChance

WriteRecipe = Callable[[Path], Path]
Go = Callable[..., Run]
SMALL = [
    "student.hidden_size=8",
    "student.dense_size=8",
    "student.embedding_size=12",
    "evaluation.latency_rows=4",
    "evaluation.latency_rounds=1",
    "evaluation.throughput_rows=8",
    "evaluation.throughput_batches=[]",
    "evaluation.teacher_int8=false",
    "export.int8_agreement=0.0",
]


class Notes(SilentReporter):
    """Remembers what a run said."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.stages: dict[str, bool] = {}  # name → whether it was reused

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        del text
        self.stages[name] = is_reused


@pytest.fixture(scope="module")
def toy_recipe(write_recipe: WriteRecipe, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recipe(tmp_path_factory.mktemp("teachers") / "data")


@pytest.fixture(scope="module")
def first(toy_recipe: Path) -> Run:
    """An ordinary run; others take its teacher, or what it said."""
    return run(toy_recipe, out=toy_recipe.parent.parent / "runs" / "first", reporter=SilentReporter())


def said_by(run: Run, path: Path, *, split: Sequence[str] = ("train", "dev", "test", "transfer")) -> Path:
    """What the teacher of a run said of its rows, as a file of probabilities."""
    labels = TeacherLabels(run.folder / "labels")
    from limbeck.artifacts.corpus import Corpus
    from limbeck.artifacts.transfer_text import TransferText

    corpus, transfer = Corpus(run.folder / "corpus"), TransferText(run.folder / "transfer")
    parts = {**corpus.splits, "transfer": transfer.rows}
    with path.open("w", encoding="utf-8") as file:
        for name in split:
            rows = parts[name]
            powers = np.exp(labels.for_rows(rows.ids))
            for text, row in zip(rows.texts, powers / powers.sum(axis=1, keepdims=True), strict=True):
                probabilities = dict(zip(corpus.labels, row.astype(float).tolist(), strict=True))
                file.write(json.dumps({"text": text, "probabilities": probabilities}) + "\n")
    return path


def entry(run: Run, role: str) -> dict[str, Any]:
    return next(model for model in run.report["models"] if model["role"] == role)


def test_a_ready_teacher_is_taken_as_it_is(toy_recipe: Path, first: Run, tmp_path: Path) -> None:
    overrides = [f"teacher.checkpoint={first.folder / 'teacher'}", "teacher.train=none"]

    again = run(toy_recipe, overrides=overrides, out=tmp_path / "again", reporter=SilentReporter())

    weights = "model.safetensors"
    assert (again.folder / "teacher" / weights).read_bytes() == (first.folder / "teacher" / weights).read_bytes()
    assert entry(again, "teacher")["accuracy"] == entry(first, "teacher")["accuracy"]


def test_a_run_beside_another_takes_the_teacher_that_has_the_same_settings_and_rows(
    toy_recipe: Path, first: Run, tmp_path: Path
) -> None:
    runs = first.folder.parent
    same, other, far = Notes(), Notes(), Notes()

    again = run(toy_recipe, overrides=["student.kind=bag"], out=runs / "second", until=Stage.LABELING, reporter=same)
    run(toy_recipe, overrides=["teacher.seed=7"], out=runs / "third", until=Stage.TEACHER, reporter=other)
    run(toy_recipe, out=tmp_path / "far", until=Stage.TEACHER, reporter=far)

    assert any(f"copied from {first.folder / 'teacher'}" in line for line in same.lines)
    folders = [TeacherFolder(one.folder / "teacher") for one in (first, again)]
    assert folders[0].fingerprint == folders[1].fingerprint
    assert not any("copied from" in line for line in other.lines + far.lines)


def test_an_encoder_that_was_never_fine_tuned_is_refused(
    toy_recipe: Path, tiny_teacher_folder: Path, tmp_path: Path
) -> None:
    overrides = [f"teacher.checkpoint={tiny_teacher_folder}", "teacher.train=none"]

    with pytest.raises(LimbeckError):
        run(toy_recipe, overrides=overrides, out=tmp_path / "run", reporter=SilentReporter())

    assert not (tmp_path / "run" / "labels").exists()


def test_a_teacher_that_guesses_stops_the_run_and_is_not_trained_again_when_let_through(
    toy_recipe: Path, tmp_path: Path
) -> None:
    guessing = ["teacher.epochs=1", "teacher.learning_rate=1e-9", *SMALL, "distillation.epochs=1"]
    with pytest.raises(TeacherNearChance):
        run(toy_recipe, overrides=guessing, out=tmp_path / "run", reporter=SilentReporter())
    notes = Notes()

    run(toy_recipe, overrides=[*guessing, "teacher.near_chance=warn"], out=tmp_path / "run", reporter=notes)

    assert notes.stages["teacher"]


def test_a_guessing_teacher_of_several_seeds_is_let_through_by_the_table_that_has_the_seeds(
    toy_recipe: Path, tmp_path: Path
) -> None:
    guessing = ["teacher.seeds=[0, 1]", "teacher.epochs=1", "teacher.learning_rate=1e-9"]
    with pytest.raises(TeacherNearChance, match=r"\(with teacher.seeds: in \[teacher\]\)"):
        run(toy_recipe, overrides=guessing, out=tmp_path / "run", reporter=SilentReporter())
    let_through = [*guessing, "teacher.near_chance=warn"]

    run(toy_recipe, overrides=let_through, out=tmp_path / "run", until=Stage.TEACHER, reporter=SilentReporter())

    facts = TeacherFolder(tmp_path / "run" / "teacher").facts
    assert (len(facts.members), facts.name.split(" × ")[0]) == (2, "2")


def test_a_file_of_probabilities_teaches_as_well_as_the_model_that_wrote_it(
    toy_recipe: Path, first: Run, tmp_path: Path
) -> None:
    path = said_by(first, tmp_path / "said.jsonl")
    overrides = [
        "teacher={kind='file', path='" + str(path) + "'}",
        "student.word_vectors=random",
    ]

    taught = run(toy_recipe, overrides=overrides, out=tmp_path / "run", reporter=SilentReporter())

    teacher = entry(taught, "teacher")
    assert teacher["kind"] == "file"
    assert teacher["accuracy"] == entry(first, "teacher")["accuracy"]
    assert teacher["latency_ms"] is None
    assert entry(taught, "student")["speedup_over_teacher"] is None
    assert entry(taught, "student")["accuracy"] >= 0.8
    assert limbeck.load(taught.models["bilstm-int8"]).predict(["a gorgeous film"]) == ["positive"]


def test_rows_that_a_file_does_not_cover_stop_the_run_or_are_counted(
    toy_recipe: Path, first: Run, tmp_path: Path
) -> None:
    path = said_by(first, tmp_path / "said.jsonl", split=("train", "dev"))
    teacher = "kind='file', path='" + str(path) + "'"

    with pytest.raises(LimbeckError, match=r"transfer(.|\n)*uncovered"):
        run(toy_recipe, overrides=["teacher={" + teacher + "}"], out=tmp_path / "run", reporter=SilentReporter())
    skipping = ["teacher={" + teacher + ", uncovered='skip'}", *SMALL, "distillation.epochs=1"]
    taught = run(toy_recipe, overrides=skipping, out=tmp_path / "run", reporter=SilentReporter())

    labels = TeacherLabels(taught.folder / "labels")
    assert labels.facts["uncovered"]["transfer"] > 0
    assert labels.facts["uncovered"]["test"] == 20
    assert entry(taught, "teacher")["accuracy"] is None  # the judged rows are those of test
    with pytest.raises(LabelsDoNotCover):
        labels.for_rows(["transfer-0"])


def test_an_ensemble_asks_each_member_by_itself_and_none_twice(toy_recipe: Path, first: Run, tmp_path: Path) -> None:
    path = said_by(first, tmp_path / "said.jsonl")
    checkpoint = first.folder / "teacher"
    members = f"[{{checkpoint='{checkpoint}', train='none'}}, {{kind='file', path='{path}'}}]"
    overrides = [f"teacher={{kind='ensemble', combine='weighted', members={members}}}", *SMALL]

    together = run(toy_recipe, overrides=overrides, out=tmp_path / "runs" / "both", reporter=SilentReporter())

    facts = TeacherFolder(together.folder / "teacher").facts
    assert facts.kind == "ensemble"
    assert list(facts.members) == ["teacher", "said"]
    assert sum(facts.weights) == pytest.approx(1.0)
    folders = {folder.name for folder in (tmp_path / "runs" / ".label-store").iterdir()}
    assert folders == set(facts.members.values())
    # Both say the same, so together they say it too: probabilities, and with them the labels.
    assert entry(together, "teacher")["accuracy"] == entry(first, "teacher")["accuracy"]
    notes = Notes()
    run(toy_recipe, overrides=overrides, out=tmp_path / "runs" / "again", reporter=notes)
    assert any(" 0 texts asked" in line for line in notes.lines)


def test_members_in_another_order_keep_their_own_weights(toy_recipe: Path, first: Run, tmp_path: Path) -> None:
    good = said_by(first, tmp_path / "good.jsonl")
    poor = tmp_path / "poor.jsonl"
    lines = [json.loads(line) for line in good.read_text(encoding="utf-8").splitlines()]
    for line in lines[::3]:  # wrong on every third text
        line["probabilities"] = dict(zip(line["probabilities"], [*line["probabilities"].values()][::-1], strict=True))
    poor.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    def go(*files: Path) -> TeacherFacts:
        members = ", ".join(f"{{kind='file', path='{file}'}}" for file in files)
        overrides = [f"teacher={{kind='ensemble', combine='weighted', members=[{members}]}}"]
        run(toy_recipe, overrides=overrides, out=tmp_path / "run", until=Stage.LABELING, reporter=SilentReporter())
        return TeacherFolder(tmp_path / "run" / "teacher").facts

    before, after = go(good, poor), go(poor, good)

    assert list(after.members) == ["poor", "good"]
    assert after.weights == before.weights[::-1]
    assert after.weights[0] < after.weights[1]
    asking = TeacherLabels(tmp_path / "run" / "labels").asking
    assert {source["name"]: source["weight"] for source in asking["sources"]} == dict(
        zip(after.members, after.weights, strict=True)
    )


def test_labels_are_not_shown_beside_rows_they_were_not_made_for(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path / "data")
    out = tmp_path / "run"
    run(recipe, overrides=["teacher.near_chance=warn"], out=out, until=Stage.LABELING, reporter=SilentReporter())
    rows = (tmp_path / "data" / "toy.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "data" / "toy.csv").write_text("\n".join([rows[0], *rows[2:], rows[1]]), encoding="utf-8")

    run(recipe, overrides=["teacher.near_chance=warn"], out=out, until=Stage.CORPUS, reporter=SilentReporter())

    with pytest.raises(ArtifactMissing, match="belong to an earlier corpus"):
        labelled_run(out)


@pytest.fixture(scope="module")
def pairs_csv(toy_rows: Sequence[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two toy texts a row; "same" where both have the same label."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.csv"
    pairs = [(row, toy_rows[place + 1 + place % 2]) for place, row in enumerate(toy_rows[:-2])]  # labels alternate
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow(["first", "second", "label"])
        csv.writer(file).writerows(
            (one, other, "same" if label == second else "different") for (one, label), (other, second) in pairs
        )
    return path


def test_pairs_go_down_the_whole_road(pairs_csv: Path, tiny_teacher_folder: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "pairs.toml"
    recipe.write_text(
        f'[corpus]\ntrain = "{pairs_csv}"\ntext = "first"\npair = "second"\nclass_weights = "balanced"\n'
        f'[teacher]\ncheckpoint = "{tiny_teacher_folder}"\nepochs = 1\nprecision = "fp32"\nnear_chance = "warn"\n'
        "[distillation]\nepochs = 1\nlosses = [{kind = 'hard_labels'}, {kind = 'soft_targets'}]\n",
        encoding="utf-8",
    )

    finished = run(recipe, overrides=SMALL, out=tmp_path / "run", reporter=SilentReporter())

    assert finished.report["corpus"]["pair"] is True
    assert len(finished.report["corpus"]["class_weights"]) == 2
    assert "f1_positive" in entry(finished, "student")
    assert limbeck.load(finished.models["bilstm"]).predict([("a film", "a road")])[0] in ("same", "different")


def test_a_teacher_that_reads_texts_apart_teaches(pairs_csv: Path, tiny_teacher_folder: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "apart.toml"
    recipe.write_text(
        f'[corpus]\ntrain = "{pairs_csv}"\ntext = "first"\npair = "second"\n'
        f'[teacher]\ncheckpoint = "{tiny_teacher_folder}"\nepochs = 1\nprecision = "fp32"\nnear_chance = "warn"\n'
        'pairs = "apart"\n'
        "[student]\nword_vectors = 'teacher'\n[distillation]\nepochs = 1\n"
        "losses = [{kind = 'logit_mse'}, {kind = 'spkd'}]\n",
        encoding="utf-8",
    )
    notes, overrides = Notes(), [*SMALL, "evaluation.teacher_int8=true"]

    finished = run(recipe, overrides=overrides, out=tmp_path / "run", reporter=notes)

    config = json.loads((tmp_path / "run" / "teacher" / "config.json").read_text(encoding="utf-8"))
    assert config["model_type"] == "twin_encoder"
    assert entry(finished, "teacher")["latency_ms"]["p50"] > 0
    assert any("not as an int8 file: its family has no graph: twin_encoder" in note for note in notes.lines)
    again = Notes()
    run(recipe, overrides=overrides, out=tmp_path / "run", reporter=again)
    assert not any("not made yet" in note for note in again.lines)


@pytest.fixture(scope="module")
def sets_jsonl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts about up to two of three things, and some about none."""
    import random

    dice, words = random.Random(3), ["film", "road", "music"]
    path = tmp_path_factory.mktemp("sets") / "sets.jsonl"
    filler = ["the", "quiet", "old", "green", "evening", "slowly", "letter", "today"]
    with path.open("w", encoding="utf-8") as file:
        for _ in range(400):
            labels = [word for word in words if dice.random() < 0.4]
            text = dice.sample([*labels, *dice.choices(filler, k=6)], k=len(labels) + 6)
            file.write(json.dumps({"text": " ".join(text), "label": labels}) + "\n")
    return path


def test_several_labels_a_row_go_down_the_whole_road(
    sets_jsonl: Path, tiny_teacher_folder: Path, tmp_path: Path
) -> None:
    recipe = tmp_path / "sets.toml"
    recipe.write_text(
        f'[corpus]\ntrain = "{sets_jsonl}"\nmulti_label = true\ntest_fraction = 0.2\n'
        f'[teacher]\ncheckpoint = "{tiny_teacher_folder}"\nepochs = 40\nbatch_size = 16\nlearning_rate = 2e-3\n'
        'precision = "fp32"\n'
        "[distillation]\nepochs = 12\nbatch_size = 16\nlearning_rate = 1e-2\n"
        "losses = [{kind = 'hard_labels'}, {kind = 'soft_targets'}, {kind = 'logit_mse', weight = 0.1}]\n",
        encoding="utf-8",
    )

    overrides = [*SMALL, "student.hidden_size=16", "student.dropout=0.1", "distillation.epochs=16"]
    finished = run(recipe, overrides=overrides, out=tmp_path / "run", reporter=SilentReporter())

    student = entry(finished, "student")
    assert finished.report["corpus"]["multi_label"] is True
    assert entry(finished, "teacher")["macro_f1"] > 0.8
    assert student["macro_f1"] > 0.8
    assert {"micro_f1", "hamming_loss"} <= student.keys()
    model = limbeck.load(finished.models["bilstm"])
    texts = ["the film quiet old music slowly today", "the quiet old evening green letter today"]
    assert model.predict(texts) == [["film", "music"], []]
    assert (model.predict_proba(texts[:1]).sum() > 1.5).all()  # no softmax over them

"""The whole stage on the smallest artifacts there can be; only the clock is set by hand."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from limbeck.artifacts.atomic_folder import why_redo, written_atomically
from limbeck.artifacts.candidate import Candidate
from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.report import Report, read_right_rows
from limbeck.artifacts.rows import FIRST_UNKNOWN, Rows
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder, save_student_facts
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.artifacts.teacher_labels import TeacherLabels, save_teacher_labels
from limbeck.judging.rival import make_rival
from limbeck.pipeline import evaluation
from limbeck.pipeline.evaluation import evaluate
from limbeck.pipeline.predictions import label_names
from limbeck.progress import SilentReporter
from limbeck.recipe.evaluation import Evaluation
from limbeck.timing import costs
from limbeck.timing.protocol import Case, Subject, TimedModel, Timing

KEY = Key(section={"threads": 1}, inputs={"corpus": "abc"})
SECTION = Evaluation(bootstrap_samples=100)
TEXTS = ["gorgeous film", "gorgeous story", "dreadful film", "dreadful story", "gorgeous", "dreadful"]
LABELS = [1, 1, 0, 0, 1, 1]  # the last row is not what its word says
COST = (
    *("parameters", "parameters_without_embeddings", "size_mb", "multiply_adds"),
    *("engine", "latency_ms", "rows_per_second", "throughput"),
)
CONTRACT = {
    "name",
    "role",
    "kind",
    "seed_count",
    "accuracy",
    "macro_f1",
    "accuracy_sd",
    "accuracy_ci95",
    "teacher_agreement",
    "ece",
    "parameters",
    "parameters_without_embeddings",
    "size_mb",
    "engine",
    "latency_ms",
    "rows_per_second",
    "speedup_over_teacher",
    "speedup_over_teacher_int8",
    "throughput",
    "multiply_adds",
    "median_tokens",
    "mcc",
    "roc_auc",
    "macro",
    "weighted",
    "confusion",
    "by_length",
    "kl_to_teacher",
    "reliability",
    "reliability_calibrated",
    "temperature",
    "ece_calibrated",
    "mcnemar",
}


def make_corpus(folder: Path, *, labels: Any = LABELS, pair: bool = False, **more: Any) -> Corpus:
    rows = {
        split: Rows.of(
            ids=[f"{split}-{n}" for n in range(6)], texts=TEXTS, pairs=TEXTS if pair else None, labels=labels
        )
        for split in ("train", "dev", "test")
    }
    facts = {"name": "toy", "labels": ["negative", "positive"], "language": "en", "pair": pair, "overlap": {}, **more}
    with written_atomically(folder, kind="corpus", key=KEY) as scratch:
        save_corpus(scratch, splits=rows, facts=facts)
    return Corpus(folder)


def make_teacher(folder: Path, **facts_that_differ: Any) -> TeacherFolder:
    facts: dict[str, Any] = {
        "name": "/somewhere/private/bert-base",
        "labels": ["negative", "positive"],
        "max_length": 32,
        "precision": "fp32",
        "parameters": 1000,
        "parameters_without_embeddings": 400,
        "dev_accuracy": 0.9,
    }
    with written_atomically(folder, kind="teacher", key=KEY) as scratch:
        (scratch / "model.safetensors").write_bytes(b"\0" * 4_000_000)
        (scratch / "tokenizer.json").write_bytes(b"\0" * 1_000_000)
        save_teacher_facts(scratch, TeacherFacts(**{**facts, **facts_that_differ}))
    return TeacherFolder(folder)


def make_file_teacher(folder: Path, **facts_that_differ: Any) -> TeacherFolder:
    facts = TeacherFacts(
        name="/somewhere/private/answers.jsonl", labels=["negative", "positive"], dev_accuracy=0.9, kind="file"
    )
    with written_atomically(folder, kind="teacher", key=KEY) as scratch:
        save_teacher_facts(scratch, replace(facts, **facts_that_differ))
    return TeacherFolder(folder)


def make_labels(folder: Path, *, known: Sequence[str] | None = None) -> TeacherLabels:
    """A teacher that is right on every row, or on the known ones; stored in another order than the corpus has."""
    ids = [f"{split}-{n}" for split in ("test", "dev", "train") for n in reversed(range(6))]
    ids = [row_id for row_id in ids if known is None or row_id in known]
    right = {n: [0.0, 3.0] if label else [3.0, 0.0] for n, label in enumerate(LABELS)}
    logits = np.array([right[int(row_id.rpartition("-")[2])] for row_id in ids], dtype=np.float32)
    with written_atomically(folder, kind="labels", key=KEY) as scratch:
        save_teacher_labels(scratch, ids=ids, logits=logits, facts={})
    return TeacherLabels(folder)


def make_student(folder: Path, *, name: str, role: str, seed: int, **more: Any) -> StudentFolder:
    facts = StudentFacts(
        name=name,
        kind="bilstm",
        role=role,
        seed=seed,
        labels=["negative", "positive"],
        language="en",
        pair=False,
        max_length=16,
        parameters=14,
        parameters_without_embeddings=0,
        best_epoch=1,
        dev_accuracy=0.8,
        **more,
    )
    history = [{"epoch": 1, "loss": 0.5, "dev_accuracy": 0.8, "dev_loss": 0.4, "losses": {"logit_mse": 0.5}}]
    with written_atomically(folder, kind="student", key=KEY) as scratch:
        save_student_facts(scratch, facts, history=history)
        (scratch / "losses.json").write_text(json.dumps([[{"step": 3, "logit_mse": 0.5}]]))
    return StudentFolder(folder)


def make_candidates(folder: Path, make_model: Callable[..., ModelFolder]) -> list[Candidate]:
    """Out of order, as the stage must not mind: the file, then the student of two seeds, then its baseline."""
    students = {seed: make_student(folder / f"s{seed}", name="bilstm", role="student", seed=seed) for seed in (0, 1)}
    alone = {0: make_student(folder / "alone", name="bilstm-alone", role="baseline", seed=0)}
    by_seed = {0: make_model("bilstm-0", weight=-1.0), 1: make_model("bilstm-1", weight=2.0)}
    int8 = {0: make_model("int8-0", weight=3.0, temperature=2.0)}
    baseline = {0: make_model("alone-0", weight=-4.0)}
    return [
        Candidate("bilstm-int8", "export", int8, shipped=int8[0], students={0: students[0]}),
        Candidate("bilstm", "student", by_seed, shipped=make_model("bilstm", weight=2.0), students=students),
        Candidate("bilstm-alone", "baseline", baseline, shipped=baseline[0], students=alone),
    ]


@pytest.fixture
def make_report(
    tmp_path: Path, make_model: Callable[..., ModelFolder], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Report]:
    """Makes reports; a teacher takes 50 ms, the models 1 ms, 2 ms and 4 ms, and the fourth, the teacher's int8 file, 20
    ms. Arguments take the place of ours."""

    def set_by_hand(section: Evaluation, *, subjects: Sequence[Subject], **rest: Any) -> list[TimedModel]:
        assert section is SECTION
        assert set(rest) == {"rows", "reporter"}
        kinds = [subject.kind for subject in subjects]
        assert kinds == sorted(kinds, reverse=True)  # teachers first
        milliseconds = [50.0] * kinds.count("teacher") + [0.5] * kinds.count("rival")
        milliseconds += [1.0, 2.0, 4.0, 20.0][: kinds.count("model")]
        timings = [Timing(samples_ms=[time], rates=[1000 / time]) for time in milliseconds]
        engines = ["onnxruntime" if kind == "model" else "pytorch" for kind in kinds]
        return [
            TimedModel(engine, {Case(1, 1): timing, Case(1, 256, shrinks=True): timing})
            for engine, timing in zip(engines, timings, strict=True)
        ]

    def make(*, draws: bool = True, **given: Any) -> Report:
        if not draws:
            monkeypatch.setattr(evaluation, "page", lambda _: "")
        teacher = given.pop("teacher", None) or make_teacher(tmp_path / "teacher")
        inputs: dict[str, Callable[[], Any]] = {
            "corpus": lambda: make_corpus(tmp_path / "corpus"),
            "transfer": lambda: {"kept": 1, "overlap": {}},
            "augmentation": lambda: {"kept": 2, "methods": [{"kind": "masking", "words_changed": 3}]},
            "labels": lambda: make_labels(tmp_path / "labels"),
            "candidates": lambda: make_candidates(tmp_path / "students", make_model),
            "members": lambda: [teacher],
        }
        missing = {name: make_one() for name, make_one in inputs.items() if name not in given}
        out = tmp_path / "report"
        return evaluate(
            SECTION,
            teacher=teacher,
            run_name="toy-run",
            out=out,
            key=KEY,
            reporter=SilentReporter(),
            **missing,
            **given,
        )

    monkeypatch.setattr(costs, "time_for_report", set_by_hand)
    return make


@pytest.fixture
def made(make_report: Callable[..., Report]) -> Report:
    """A report of an encoder and its students; its page is not drawn, which takes longer than all the rest."""
    return make_report(draws=False)


def test_every_entry_keeps_the_contract(made: Report) -> None:
    for entry in made.data["models"]:
        assert set(entry) >= CONTRACT
        assert set(entry["latency_ms"]) >= {"p50", "p95", "p99"}
        assert len(entry["accuracy_ci95"]) == 2
    assert set(made.data) >= {"run", "corpus", "machine", "judged_split", "models", "transfer", "curves"}


def test_it_says_what_ran_every_model(made: Report) -> None:
    teacher, *others = made.data["models"]

    assert teacher["engine"] == "pytorch"
    assert {entry["engine"].split()[0] for entry in others} <= {"native", "onnxruntime"}


def test_the_teacher_comes_first_then_baseline_student_and_files(made: Report) -> None:
    order = [(entry["name"], entry["role"]) for entry in made.data["models"]]

    assert order == [
        ("bert-base", "teacher"),
        ("bilstm-alone", "baseline"),
        ("bilstm", "student"),
        ("bilstm-int8", "export"),
    ]


def test_quality_is_that_of_the_exported_files(made: Report) -> None:
    teacher, baseline, student, int8 = made.data["models"]

    assert teacher["accuracy"] == 1.0
    assert baseline["accuracy"] == pytest.approx(1 / 6)
    assert student["accuracy_per_seed"] == pytest.approx([1 / 6, 5 / 6])
    assert student["accuracy"] == pytest.approx(1 / 2)
    assert student["teacher_agreement"] == pytest.approx(1 / 2)
    assert int8["accuracy"] == pytest.approx(5 / 6)
    assert int8["gain_over_baseline"]["accuracy"] == pytest.approx(4 / 6)
    assert "gain_over_baseline" not in baseline


def test_the_copy_that_ships_is_reported_by_its_file(made: Report) -> None:
    student = made.data["models"][2]

    assert student["seeds"] == [0, 1]
    assert student["shipped_seed"] == 1
    assert student["shipped_accuracy"] == pytest.approx(5 / 6)


def test_the_rows_that_the_shipped_copies_have_right_are_stored(made: Report) -> None:
    stored = read_right_rows(made.folder)

    assert stored is not None
    models = {entry["name"]: entry for entry in made.data["models"]}
    assert stored.of_model.keys() == models.keys()
    for name, bits in stored.of_model.items():
        accuracy = models[name].get("shipped_accuracy") or models[name]["accuracy"]
        assert bits.bit_count() / 6 == pytest.approx(accuracy)


def test_every_accuracy_can_be_recomputed_from_the_stored_predictions(made: Report) -> None:
    rows = pq.read_table(made.folder / "predictions.parquet").to_pylist()

    for entry in made.data["models"]:
        right = [row[entry["name"]] == row["label"] for row in rows]
        assert sum(right) / len(rows) == pytest.approx(entry.get("shipped_accuracy") or entry["accuracy"])
        logits = np.array([row[f"{entry['name']} logits"] for row in rows])
        assert [made.data["corpus"]["labels"][place] for place in logits.argmax(axis=1)] == [
            row[entry["name"]] for row in rows
        ]


def test_what_training_showed_is_remarked_on(
    tmp_path: Path, make_report: Callable[..., Report], make_model: Callable[..., ModelFolder]
) -> None:
    weak = make_student(tmp_path / "weak", name="bilstm", role="student", seed=0, near_chance="one class")
    model = make_model("bilstm", weight=2.0)
    candidate = Candidate("bilstm", "student", {0: model}, shipped=model, students={0: weak})

    teacher = make_teacher(tmp_path / "teacher", still_learning=True)
    found = make_report(draws=False, candidates=[candidate], teacher=teacher).data["models"]

    assert [entry.get("remarks") for entry in found] == [
        [evaluation.STILL_LEARNING],
        ["hardly better on dev than guessing, seed 0: one class"],
    ]


def test_a_pruned_student_has_its_share_of_zeros_and_its_packed_size(
    tmp_path: Path, make_report: Callable[..., Report], make_model: Callable[..., ModelFolder]
) -> None:
    pruned = make_student(tmp_path / "pruned", name="bilstm", role="student", seed=0, sparsity=0.75)
    model = make_model("bilstm", weight=2.0)
    candidate = Candidate("bilstm", "student", {0: model}, shipped=model, students={0: pruned})

    teacher, student = make_report(draws=False, candidates=[candidate]).data["models"]

    assert "sparsity" not in teacher
    assert student["sparsity"] == 0.75
    assert 0 < student["packed_mb"] < student["size_mb"]
    assert student["remarks"][0].startswith("75.0% of its weights are zero: packed (zip) it has ")


def test_lines_tell_how_near_to_the_teacher_and_how_far_beyond_chance_they_are(made: Report) -> None:
    teacher, baseline, student, int8 = made.data["models"]

    assert teacher["kl_to_teacher"] == 0.0
    assert 0 < int8["kl_to_teacher"] < baseline["kl_to_teacher"]
    assert teacher["mcnemar"] == {"baseline": None, "teacher": None, "rival": None}
    assert baseline["mcnemar"]["baseline"] is None
    assert int8["mcnemar"]["baseline"] == {"only_this": 5, "only_other": 1, "p": 0.21875, "test": "exact"}
    assert student["mcnemar"]["teacher"] == {"only_this": 0, "only_other": 1, "p": 1.0, "test": "exact"}


def test_lines_tell_the_temperature_of_the_file_that_ships(made: Report) -> None:
    assert [entry["temperature"] for entry in made.data["models"]] == [None, 1.0, 1.0, 2.0]


def test_every_line_has_the_same_groups_of_lengths(made: Report) -> None:
    tables = [entry["by_length"] for entry in made.data["models"]]

    groups = [[(group["words"], group["rows"]) for group in table] for table in tables]
    assert groups == [[([1, 1], 2), ([2, 2], 4)]] * 4
    assert [group["accuracy"] for group in tables[3]] == [0.5, 1.0]


def test_the_cascade_is_that_of_the_int8_file_and_its_threshold_is_chosen_on_dev(made: Report) -> None:
    cascade = made.data["cascade"]

    assert (cascade["student"], cascade["chosen_on"], cascade["rows"]) == ("bilstm-int8", "dev", 6)
    assert cascade["student_accuracy"] == pytest.approx(5 / 6)
    assert cascade["teacher_accuracy"] == 1.0
    assert [point["asked_share"] for point in cascade["points"]] == [0.0, 1.0]  # all rows are as sure as each other
    assert [point["ms"] for point in cascade["points"]] == [4.0, 54.0]
    assert cascade["cheapest"] == cascade["points"][-1]


def test_where_dev_is_judged_the_threshold_is_chosen_there(tmp_path: Path, make_report: Callable[..., Report]) -> None:
    corpus = make_corpus(tmp_path / "corpus")
    (corpus.folder / "test.arrow").unlink()

    cascade = make_report(corpus=corpus).data["cascade"]

    assert (cascade["chosen_on"], cascade["cheapest"]) == ("dev", cascade["cheapest_in_hindsight"])


def test_a_teacher_that_knows_no_dev_row_leaves_the_choice_to_the_judged_rows(
    tmp_path: Path, make_report: Callable[..., Report]
) -> None:
    labels = make_labels(tmp_path / "labels", known=["test-0", "test-5"])

    cascade = make_report(labels=labels).data["cascade"]

    assert (cascade["chosen_on"], cascade["rows"]) == ("test", 2)


def test_the_worst_errors_are_rows_on_which_the_int8_file_and_the_teacher_disagree(made: Report) -> None:
    (row,) = made.data["worst_errors"]

    assert (row["text"], row["pair"]) == ("dreadful", None)
    assert (row["label"], row["student"], row["teacher"]) == ("positive", "negative", "positive")
    assert row["student_probability"] == pytest.approx(1 / (1 + np.exp(-3)))  # logits 3 and -3, at temperature 2


def test_without_a_student_there_is_no_cascade_and_no_error(make_report: Callable[..., Report]) -> None:
    data = make_report(candidates=[]).data

    assert (data["cascade"], data["worst_errors"]) == (None, [])


def test_cost_is_reported_against_the_teacher(made: Report) -> None:
    speedups = [entry["speedup_over_teacher"] for entry in made.data["models"]]

    assert speedups == [1.0, 50.0, 25.0, 12.5]
    assert made.data["models"][0]["size_mb"] == pytest.approx(4.0)  # weights alone
    assert made.data["models"][1]["rows_per_second"] == 1000.0


def test_without_an_int8_file_of_the_teacher_nothing_is_reported_against_it(made: Report) -> None:
    assert made.data["teacher_int8"] is None
    assert {entry["speedup_over_teacher_int8"] for entry in made.data["models"]} == {None}


def test_the_teachers_int8_file_is_no_line_of_its_own_and_speed_is_reported_against_it_too(
    make_report: Callable[..., Report], make_model: Callable[..., ModelFolder]
) -> None:
    data = make_report(teacher_int8=make_model("teacher-int8", weight=3.0)).data

    assert [entry["role"] for entry in data["models"]] == ["teacher", "baseline", "student", "export"]
    assert [entry["speedup_over_teacher_int8"] for entry in data["models"]] == [0.4, 20.0, 10.0, 5.0]
    assert data["teacher_int8"]["latency_ms"]["p50"] == 20.0
    assert data["teacher_int8"]["rows_per_second"] == 50.0
    assert data["teacher_int8"]["agreement"] == pytest.approx(5 / 6)


@pytest.fixture
def beside_rival(tmp_path: Path, make_report: Callable[..., Report]) -> dict[str, Any]:
    """A report with a rival, which has learned the six rows by heart."""
    corpus = make_corpus(tmp_path / "corpus")
    rival = make_rival(corpus, out=tmp_path / "rival", key=KEY, reporter=SilentReporter())
    return make_report(corpus=corpus, rival=rival, draws=False).data


def test_the_rival_is_a_line_of_its_own_below_the_teacher(beside_rival: dict[str, Any]) -> None:
    rival = beside_rival["models"][1]

    assert [entry["role"] for entry in beside_rival["models"]] == ["teacher", "rival", "baseline", "student", "export"]
    assert set(rival) >= CONTRACT
    assert (rival["name"], rival["latency_ms"]["p50"], rival["speedup_over_teacher"]) == ("tfidf", 0.5, 100.0)
    assert rival["size_mb"] > 0
    assert rival["accuracy"] == 1.0
    assert rival["mcnemar"]["baseline"] == {"only_this": 5, "only_other": 0, "p": 0.0625, "test": "exact"}
    assert rival["mcnemar"]["teacher"] == {"only_this": 0, "only_other": 0, "p": 1.0, "test": "exact"}


def test_every_other_line_is_compared_with_the_rival(beside_rival: dict[str, Any]) -> None:
    teacher, _, baseline, student, int8 = beside_rival["models"]

    assert [line["gain_over_rival"]["accuracy"] for line in (teacher, baseline, student, int8)] == pytest.approx(
        [0.0, -5 / 6, -3 / 6, -1 / 6]
    )
    assert int8["mcnemar"]["rival"] == {"only_this": 0, "only_other": 1, "p": 1.0, "test": "exact"}


def test_files_and_rival_have_their_numbers_on_dev(beside_rival: dict[str, Any]) -> None:
    teacher, *others = beside_rival["models"]

    assert "dev" not in teacher
    assert [line["dev"]["accuracy"] for line in others] == pytest.approx([1.0, 1 / 6, 5 / 6, 5 / 6])  # of the shipped
    assert others[3]["dev"]["log_loss"] == pytest.approx((5 * np.log1p(np.exp(-3)) + np.log1p(np.exp(3))) / 6)


def test_the_best_is_chosen_on_dev_and_int8_wins_over_its_equal(made: Report) -> None:
    assert made.data["best"] == "bilstm-int8"
    assert made.data["choice"] == {
        "by": "accuracy",
        "rows": 6,
        "teacher_share": 0.943,  # 100 / 106
        "equal": ["bilstm", "bilstm-int8"],
    }


def test_only_a_file_within_the_limit_is_the_best(
    tmp_path: Path, make_report: Callable[..., Report], make_model: Callable[..., ModelFolder]
) -> None:
    candidates = make_candidates(tmp_path / "students", make_model)
    sizes = [candidate.shipped.size_mb() for candidate in candidates]

    none = make_report(candidates=candidates, max_size_mb=min(sizes) / 2, draws=False).data

    assert (none["best"], none["choice"]) == (None, None)
    assert none["cascade"]["student"] == "bilstm-int8"


def test_uneven_classes_are_judged_by_macro_f1(tmp_path: Path, make_report: Callable[..., Report]) -> None:
    counts = {"train": {"negative": 5, "positive": 500}}
    corpus = make_corpus(tmp_path / "corpus", rows_per_label=counts)

    assert make_report(corpus=corpus, draws=False).data["choice"]["by"] == "macro F1"


def test_chance_and_a_row_to_try_are_reported(made: Report) -> None:
    assert made.data["chance"] == {"label": "positive", "accuracy": 4 / 6}
    assert made.data["example"] == {"text": "gorgeous story", "pair": None}  # the first of the longest


def test_curves_hold_every_student_once(made: Report) -> None:
    curves = [(curve["name"], curve["role"], curve["seed"]) for curve in made.data["curves"]]

    assert curves == [("bilstm-alone", "baseline", 0), ("bilstm", "student", 0), ("bilstm", "student", 1)]
    epoch = {"epoch": 1, "loss": 0.5, "dev_accuracy": 0.8, "losses": {"logit_mse": 0.5}}
    assert made.data["curves"][0]["epochs"] == [epoch]
    assert made.data["curves"][0]["points"] == [[{"step": 3, "logit_mse": 0.5}]]


def test_the_report_tells_corpus_and_transfer_text(made: Report) -> None:
    assert made.data["judged_split"] == "test"
    assert made.data["judged_rows"] == 6
    assert made.data["corpus"]["rows"] == {"train": 6, "dev": 6, "test": 6}
    assert made.data["transfer"]["kept"] == 1
    assert made.data["augmentation"]["kept"] == 2


def test_nothing_in_the_report_tells_where_it_was_made(make_report: Callable[..., Report], tmp_path: Path) -> None:
    made = make_report()

    texts = [path.read_text(encoding="utf-8") for path in (made.folder / "report.json", made.html)]

    assert not any(str(tmp_path) in text or "/somewhere/private" in text for text in texts)


def test_the_artifact_is_whole_and_can_be_reused(made: Report) -> None:
    assert why_redo(made.folder, kind="report", key=KEY) is None
    files = ["manifest.json", "predictions.parquet", "report.html", "report.json", "right_rows.json"]
    assert sorted(path.name for path in made.folder.iterdir()) == files
    assert json.loads((made.folder / "report.json").read_text(encoding="utf-8")) == made.data


def test_a_teacher_that_is_a_file_has_no_cost_and_nobody_a_speedup(
    tmp_path: Path, make_report: Callable[..., Report]
) -> None:
    report = make_report(teacher=make_file_teacher(tmp_path / "teacher"), members=[])

    teacher, *others = report.data["models"]
    assert (teacher["name"], teacher["kind"]) == ("answers.jsonl", "file")
    assert {teacher[key] for key in COST} == {None}
    assert {entry["speedup_over_teacher"] for entry in report.data["models"]} == {None}
    assert {point["ms"] for point in report.data["cascade"]["points"]} == {None}
    assert [entry["latency_ms"]["p50"] for entry in others] == [1.0, 2.0, 4.0]
    assert teacher["accuracy"] == 1.0
    assert all(set(entry) >= CONTRACT for entry in report.data["models"])


def test_the_cost_of_an_ensemble_is_that_of_its_members(tmp_path: Path, make_report: Callable[..., Report]) -> None:
    members = [make_teacher(tmp_path / "one"), make_teacher(tmp_path / "two", parameters=2000)]
    named = {"/private/one": "abc", "two": "def"}
    ensemble = make_file_teacher(tmp_path / "teacher", name="ensemble of 2", kind="ensemble", members=named)

    teacher, baseline, *_ = make_report(teacher=ensemble, members=members).data["models"]

    assert (teacher["kind"], teacher["members"]) == ("ensemble", ["one", "two"])
    assert (teacher["parameters"], teacher["parameters_without_embeddings"]) == (3000, 800)
    assert teacher["size_mb"] == pytest.approx(8.0)
    assert (teacher["engine"], teacher["latency_ms"]["p50"]) == ("pytorch", 100.0)
    assert teacher["rows_per_second"] == pytest.approx(10.0)
    assert baseline["speedup_over_teacher"] == 100.0


def test_an_ensemble_is_called_by_the_whole_name_of_its_members(
    tmp_path: Path, make_report: Callable[..., Report]
) -> None:
    name = "3 × bert + big/bilstm"
    ensemble = make_file_teacher(tmp_path / "teacher", name=name, kind="ensemble", members={"bert": "abc"})

    teacher, *_ = make_report(teacher=ensemble, members=[make_teacher(tmp_path / "one")]).data["models"]

    assert teacher["name"] == name


def test_an_ensemble_with_a_file_in_it_has_no_cost(tmp_path: Path, make_report: Callable[..., Report]) -> None:
    members = [make_teacher(tmp_path / "one"), make_file_teacher(tmp_path / "two")]
    ensemble = make_file_teacher(tmp_path / "teacher", kind="ensemble", members={"one": "abc", "two": "def"})

    teacher, *_ = make_report(teacher=ensemble, members=members).data["models"]

    assert {teacher[key] for key in COST} == {None}


def test_a_teacher_is_judged_on_the_rows_it_answered_and_the_others_on_all(
    tmp_path: Path, make_report: Callable[..., Report]
) -> None:
    labels = make_labels(tmp_path / "labels", known=["test-0", "test-4", "test-5", "dev-0"])

    report = make_report(labels=labels)

    teacher, baseline, student, int8 = report.data["models"]
    assert (report.data["judged_rows"], teacher["judged_rows"]) == (6, 3)
    assert (teacher["accuracy"], teacher["teacher_agreement"]) == (1.0, 1.0)
    assert baseline["accuracy"] == pytest.approx(1 / 6)
    assert int8["accuracy"] == pytest.approx(5 / 6)
    assert int8["teacher_agreement"] == int8["accuracy_on_teacher_rows"] == pytest.approx(2 / 3)
    assert student["teacher_agreement"] == pytest.approx((1 / 3 + 2 / 3) / 2)
    assert "the teacher has no labels for 3 of 6 test rows" in report.html.read_text(encoding="utf-8")


def test_a_teacher_that_answered_no_judged_row_has_no_quality(
    tmp_path: Path, make_report: Callable[..., Report]
) -> None:
    report = make_report(labels=make_labels(tmp_path / "labels", known=["dev-0"]))

    teacher, *others = report.data["models"]
    assert (teacher["judged_rows"], teacher["accuracy"], teacher["per_class"]) == (0, None, None)
    assert {entry["teacher_agreement"] for entry in report.data["models"]} == {None}
    assert all(entry["accuracy"] is not None for entry in others)
    assert {entry["kl_to_teacher"] for entry in report.data["models"]} == {None}
    assert {entry["mcnemar"]["teacher"] for entry in others} == {None}
    assert (report.data["cascade"], report.data["worst_errors"]) == (None, [])
    assert report.html.is_file()


def test_an_encoder_answers_every_row_and_no_second_accuracy_is_reported(made: Report) -> None:
    assert made.data["models"][0]["judged_rows"] == made.data["judged_rows"]
    assert not any("accuracy_on_teacher_rows" in entry for entry in made.data["models"])


def test_accuracy_on_dev_is_not_known_where_no_dev_row_was_answered(
    tmp_path: Path, make_report: Callable[..., Report]
) -> None:
    teacher = make_file_teacher(tmp_path / "teacher", dev_accuracy=None, dev_rows=0)

    assert make_report(teacher=teacher, members=[]).data["models"][0]["dev_accuracy"] is None


def test_rows_of_several_labels_are_judged_by_the_whole_set(
    tmp_path: Path, make_report: Callable[..., Report], make_model: Callable[..., ModelFolder]
) -> None:
    sets = [[0, 1], [0, 1], [1, 0], [1, 0], [1, 1], [0, 0]]  # the last two are not what their words say
    corpus = make_corpus(tmp_path / "corpus", labels=np.array(sets), multi_label=True)
    model = {0: make_model("bilstm", weight=2.0, multi_label=True)}
    candidate = Candidate("bilstm", "student", model, shipped=model[0], students={})

    report = make_report(corpus=corpus, candidates=[candidate])

    student = report.data["models"][1]
    assert report.data["corpus"]["multi_label"] is True
    assert student["accuracy"] == pytest.approx(4 / 6)
    assert student["hamming_loss"] == pytest.approx(2 / 12)
    assert [row["support"] for row in student["per_class"]] == [3, 3]
    assert (student["confusion"], student["mcc"], student["temperature"]) == (None, None, 1.0)
    assert report.data["worst_errors"][0]["student"] == ["positive"]
    assert "exact match" in report.html.read_text(encoding="utf-8")


def test_entries_of_rows_with_one_label_have_no_keys_of_sets(made: Report) -> None:
    assert made.data["corpus"]["multi_label"] is False
    assert not any({"micro_f1", "hamming_loss"} & set(entry) for entry in made.data["models"])


def test_pairs_of_two_classes_have_the_f1_of_the_second(tmp_path: Path, make_report: Callable[..., Report]) -> None:
    report = make_report(corpus=make_corpus(tmp_path / "corpus", pair=True), candidates=[])

    (teacher,) = report.data["models"]
    assert teacher["f1_positive"] == teacher["per_class"][1]["f1"] == 1.0


def test_single_texts_have_no_f1_of_the_second_class(made: Report) -> None:
    assert not any("f1_positive" in entry for entry in made.data["models"])


def test_labels_that_only_test_has_are_stored_by_their_own_names(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path / "corpus", unknown_in_test={"odd": 1, "new": 1})
    rows = Rows.of(
        ids=["test-0", "test-1", "test-2"], texts=["a", "b", "c"], labels=[FIRST_UNKNOWN, FIRST_UNKNOWN - 1, 1]
    )

    assert label_names(rows, corpus) == [["odd"], ["new"], ["positive"]]

"""What a report times and how its cost keys come of it; of a teacher the sums over its members, or unknown."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.artifacts.teacher_labels import TeacherLabels, save_teacher_labels
from limbeck.progress import SilentReporter
from limbeck.recipe.evaluation import Evaluation
from limbeck.runtime.row import Row
from limbeck.timing.costs import (
    LEAST_ROWS,
    MOST_CHARACTERS,
    MOST_ROWS_ASKED,
    int8_agreement,
    model_subject,
    rates,
    report_plans,
    runnable,
    seconds,
    teacher_size,
    teacher_subject,
    throughput,
    throughput_cases,
    time_for_report,
    timed_rows,
    with_speedups,
)
from limbeck.timing.protocol import Case, Subject, TimedModel, Timing

MakeModel = Callable[..., ModelFolder]
FakeWorker = tuple[list[str], Callable[[], list[list[str]]]]
SECTION = Evaluation(latency_rows=2, latency_rounds=2, throughput_rows=30, throughput_batches=[])
ROWS: list[Row] = ["dddd", "a", "ccc", "bb"]


def timed(samples_ms: list[float], rate: float, *, engine: str = "onnxruntime") -> TimedModel:
    """A model with one text a call, and with all in one."""
    return TimedModel(engine, {Case(1, 1): Timing(samples_ms, []), Case(1, 256, shrinks=True): Timing([], [rate])})


FAST = timed([10.0, 10.0, 10.0], 200.0)
SLOW = timed([30.0, 30.0], 50.0, engine="pytorch")


def encoder(folder: Path, *, size: int) -> TeacherFolder:
    facts = TeacherFacts(
        name="bert", labels=["a", "b"], dev_accuracy=0.9, max_length=32, precision="fp32", parameters=size,
        parameters_without_embeddings=size // 2,
    )  # fmt: skip
    with written_atomically(folder, kind="teacher", key=Key(section={}, inputs={})) as scratch:
        (scratch / "model.safetensors").write_bytes(b"\0" * size)
        (scratch / "tokenizer.json").write_bytes(b"\0" * 500)
        save_teacher_facts(scratch, facts)
    return TeacherFolder(folder)


def answers_file(folder: Path) -> TeacherFolder:
    facts = TeacherFacts(name="answers.jsonl", labels=["a", "b"], dev_accuracy=0.9, kind="file")
    with written_atomically(folder, kind="teacher", key=Key(section={}, inputs={})) as scratch:
        save_teacher_facts(scratch, facts)
    return TeacherFolder(folder)


def student(folder: Path, *, weights: str) -> TeacherFolder:
    """The student of another run: trained where its weights are safetensors, else exported."""
    facts = TeacherFacts(
        name="big/bilstm", labels=["a", "b"], dev_accuracy=0.9, kind="student", max_length=16, parameters=100,
        parameters_without_embeddings=50,
    )  # fmt: skip
    with written_atomically(folder, kind="teacher", key=Key(section={}, inputs={})) as scratch:
        (scratch / weights).write_bytes(b"\0" * 2_000)
        if weights == "model.onnx":
            (scratch / "model.json").write_text("{}", encoding="utf-8")
        save_teacher_facts(scratch, facts)
    return TeacherFolder(folder)


@pytest.mark.parametrize("weights", ["model.safetensors", "model.onnx"])
def test_a_student_of_another_run_has_a_size_and_can_be_timed(tmp_path: Path, weights: str) -> None:
    member = student(tmp_path / "student", weights=weights)

    subject = teacher_subject(member)

    assert runnable([member]) == [member]
    assert teacher_size([member]) == {"parameters": 100, "parameters_without_embeddings": 50, "size_mb": 0.002}
    assert (subject.kind, subject.folder, subject.max_length) == ("student", member.folder, 16)
    assert member.is_exported == (weights == "model.onnx")


def test_members_are_weighed_together_or_not_at_all(tmp_path: Path) -> None:
    one, other, file = encoder(tmp_path / "1", size=10), encoder(tmp_path / "2", size=10), answers_file(tmp_path / "3")

    assert runnable([one, other]) == [one, other]
    assert runnable([one, file]) == runnable([file]) == runnable([]) == []


def test_sizes_are_sums_over_the_weights_of_the_members(tmp_path: Path) -> None:
    members = [encoder(tmp_path / "1", size=3_000), encoder(tmp_path / "2", size=1_000)]

    assert teacher_size(members) == {"parameters": 4_000, "parameters_without_embeddings": 2_000, "size_mb": 0.004}


def test_a_teacher_without_weights_has_no_size() -> None:
    assert set(teacher_size([]).values()) == {None}


def test_members_are_asked_one_after_the_other() -> None:
    cost = seconds([FAST, SLOW])

    assert cost["engine"] == "onnxruntime and pytorch"
    assert cost["latency_ms"] == {"p50": 40.0, "p95": 40.0, "p99": 40.0, "samples": 2}
    assert cost["rows_per_second"] == pytest.approx(40.0)  # 1/200 s and 1/50 s for a row
    assert cost["throughput"] == [{"threads": 1, "batch": 1, "rows_per_second": pytest.approx(25.0)}]


def test_throughput_has_one_order_with_those_of_lengths_at_the_end() -> None:
    rates = {
        Case(1, 32, "short"): 9.0,
        Case(2, 1): 4.0,
        Case(1, 256): 3.0,
        Case(1, 32): 2.0,
        Case(1, 1): 1.0,
    }

    assert throughput([rates]) == [
        {"threads": 1, "batch": 1, "rows_per_second": 1.0},
        {"threads": 1, "batch": 32, "rows_per_second": 2.0},
        {"threads": 1, "batch": 256, "rows_per_second": 3.0},
        {"threads": 2, "batch": 1, "rows_per_second": 4.0},
        {"threads": 1, "batch": 32, "length": "short", "rows_per_second": 9.0},
    ]


def test_members_have_a_throughput_together_only_where_each_was_timed() -> None:
    together = throughput([{Case(1, 1): 10.0, Case(1, 32): 60.0}, {Case(1, 32): 30.0}])

    assert together == [{"threads": 1, "batch": 32, "rows_per_second": pytest.approx(20.0)}]


def test_speed_is_compared_with_the_teacher_and_its_int8_file_or_not_at_all() -> None:
    student, teacher = seconds([FAST]), seconds([FAST, SLOW])

    both = with_speedups(student, teacher=teacher, int8={"size_mb": 1.0, **seconds([SLOW])})
    neither = with_speedups(student, teacher=seconds([]), int8=None)

    assert (both["speedup_over_teacher"], both["speedup_over_teacher_int8"]) == (4.0, 3.0)
    assert neither == {**student, "speedup_over_teacher": None, "speedup_over_teacher_int8": None}


def test_nothing_that_was_not_timed_has_a_speed() -> None:
    unknown = seconds([])

    assert with_speedups(unknown, teacher=unknown, int8=seconds([FAST])) == {
        "engine": None,
        "latency_ms": None,
        "rows_per_second": None,
        "throughput": None,
        "speedup_over_teacher": None,
        "speedup_over_teacher_int8": None,
    }


def test_an_encoder_is_timed_with_as_much_of_a_text_as_it_reads(tmp_path: Path) -> None:
    subject = teacher_subject(encoder(tmp_path / "1", size=10))

    assert (subject.kind, subject.folder, subject.max_length) == ("teacher", tmp_path / "1", 32)


def test_an_exported_model_is_timed_as_it_ships(make_model: MakeModel) -> None:
    model = make_model("int8")

    subject = model_subject("teacher-int8", model)

    assert (subject.name, subject.kind, subject.folder) == ("teacher-int8", "model", model.folder)
    assert subject.engine == "auto"


def test_throughput_of_one_text_a_call_is_that_of_all_samples_and_of_a_case_the_median() -> None:
    model = TimedModel(
        cases={
            Case(4, 1): Timing([10.0, 30.0], [100.0, 100 / 3]),
            Case(4, 256, shrinks=True): Timing([1.0], [7.0]),
            Case(4, 32): Timing([1.0], [100.0, 500.0, 200.0]),
        }
    )

    assert rates(model) == {Case(4, 1): 50.0, Case(4, 32): 200.0}


def test_timed_rows_are_all_rows_in_an_order_of_their_own() -> None:
    rows = Rows.of(ids=[str(n) for n in range(50)], texts=[str(n) for n in range(50)])

    order = timed_rows(rows)

    assert order != rows.texts
    assert sorted(map(str, order)) == sorted(rows.texts)
    assert order == timed_rows(rows)


def test_every_batch_is_timed_the_first_by_length_too_and_then_all_on_all_cores() -> None:
    section = SECTION.model_copy(update={"throughput_batches": [32, 256], "threads": 2})

    own = [Case(2, 32), Case(2, 256), Case(2, 32, "short"), Case(2, 32, "long")]
    assert throughput_cases(section, 10, cores=4) == [*own, Case(4, 1), Case(4, 32), Case(4, 256)]
    assert throughput_cases(section, 10, cores=2) == own
    assert throughput_cases(section, 1, cores=2) == own[:2]  # one row has no halves
    assert throughput_cases(SECTION, 10, cores=4) == []


def plans_by_case(rows: Sequence[Row], **given: Any) -> dict[Case, Any]:
    section = SECTION.model_copy(update={"throughput_batches": [2, 100], **given})
    return {plan.case: plan for plan in report_plans(section, rows, cores=1)}


def test_the_table_of_throughput_is_timed_after_latency_and_rows_per_second() -> None:
    plans = plans_by_case(ROWS)

    assert {case: plan.block for case, plan in plans.items() if plan.block == 0} == {
        Case(1, 1): 0,
        Case(1, 30, shrinks=True): 0,
    }


def test_texts_of_a_case_are_all_or_one_half_by_length_in_their_order() -> None:
    plans = plans_by_case(ROWS, latency_rounds=1)

    assert plans[Case(1, 2)].texts[0][:4] == ROWS
    assert plans[Case(1, 2, "short")].texts[0][:2] == ["a", "bb"]
    assert plans[Case(1, 2, "long")].texts[0][:2] == ["dddd", "ccc"]


def test_both_texts_of_a_pair_count_for_its_length() -> None:
    plans = plans_by_case([("a", "bbbbb"), ("ccc", "")], latency_rounds=1)

    assert set(plans[Case(1, 2, "long")].texts[0]) == {("a", "bbbbb")}


def test_every_round_begins_at_another_text() -> None:
    plans = plans_by_case(ROWS, latency_rounds=2, latency_rows=4)

    assert plans[Case(1, 1)].texts == [ROWS, ["ccc", "bb", "dddd", "a"]]


def test_there_are_texts_enough_for_a_call_and_for_many_calls_of_few() -> None:
    plans = plans_by_case(ROWS)

    assert [len(plans[Case(1, batch)].texts[0]) for batch in (2, 100)] == [LEAST_ROWS, 100]


def test_models_take_turns_over_the_same_texts(fake_worker: FakeWorker) -> None:
    command, calls = fake_worker
    subjects = [Subject(name, kind="model", folder=Path(name)) for name in ("slow", "fast")]

    found = time_for_report(SECTION, subjects=subjects, rows=ROWS, reporter=SilentReporter(), command=command)

    asked = [words[:2] for words in calls()]
    warm_up = [["slow", "1"]] * 16 + [["slow", "16"]] * 2 + [["fast", "1"]] * 16 + [["fast", "16"]] * 2
    first = [["slow", "1"]] * 2 + [["fast", "1"]] * 2 + [["slow", "30"], ["fast", "30"]]
    second = [["fast", "1"]] * 2 + [["slow", "1"]] * 2 + [["fast", "30"], ["slow", "30"]]
    assert asked == warm_up + first + second
    assert [len(model.cases[Case(1, 1)].samples_ms) for model in found] == [4, 4]
    assert [len(model.cases[Case(1, 30, shrinks=True)].rates) for model in found] == [2, 2]
    assert [list(rates(model)) for model in found] == [[Case(1, 1)]] * 2


def test_the_teacher_is_timed_like_the_others(tiny_teacher_folder: Path, make_model: MakeModel) -> None:
    """Loads torch in a worker."""
    teacher = Subject("teacher", kind="teacher", folder=tiny_teacher_folder, max_length=32)
    subjects = [teacher, model_subject("bilstm", make_model("bilstm"))]

    found = time_for_report(SECTION, subjects=subjects, rows=["a gorgeous film"], reporter=SilentReporter())

    of_teacher, of_student = (seconds([model]) for model in found)
    assert of_teacher["engine"] == "pytorch"
    assert of_teacher["latency_ms"]["p50"] > of_student["latency_ms"]["p50"] > 0
    assert of_student["rows_per_second"] > of_teacher["rows_per_second"] > 0


def rows_of(texts: Sequence[str]) -> Rows:
    return Rows.of(ids=[str(number) for number in range(len(texts))], texts=texts, labels=[0] * len(texts))


def labels_of(folder: Path, said: Sequence[Sequence[float]]) -> TeacherLabels:
    """What the teacher said of rows 0, 1, 2 …"""
    with written_atomically(folder, kind="labels", key=Key(section={}, inputs={})) as scratch:
        ids = [str(number) for number in range(len(said))]
        save_teacher_labels(scratch, ids=ids, logits=np.array(said, dtype=np.float32).reshape(-1, 2), facts={})
    return TeacherLabels(folder)


def test_the_share_of_rows_with_the_teachers_label(tmp_path: Path, make_model: MakeModel) -> None:
    """The file takes "gorgeous" for the second class; of the last row the teacher said nothing."""
    rows = rows_of(["gorgeous", "dreadful", "gorgeous film", "dreadful film", "gorgeous story", "dreadful story"])
    labels = labels_of(tmp_path / "labels", [[0, 1], [1, 0], [0, 1], [1, 0], [5, 0]])

    found = int8_agreement(make_model("int8"), labels=labels, rows=rows, reporter=SilentReporter())

    assert found == {"agreement": 0.8, "agreement_rows": 5}


def test_sets_of_labels_must_be_the_same(tmp_path: Path, make_model: MakeModel) -> None:
    rows = rows_of(["gorgeous", "dreadful"])
    labels = labels_of(tmp_path / "labels", [[-1, 1], [2, -2]])

    found = int8_agreement(make_model("int8", multi_label=True), labels=labels, rows=rows, reporter=SilentReporter())

    assert found == {"agreement": 1.0, "agreement_rows": 2}


def test_a_file_that_says_other_things_is_not_timed_and_noted(
    tmp_path: Path, make_model: MakeModel, notes: Any
) -> None:
    labels = labels_of(tmp_path / "labels", [[1, 0], [1, 0]])

    found = int8_agreement(make_model("int8"), labels=labels, rows=rows_of(["gorgeous", "dreadful"]), reporter=notes)

    assert found is None
    assert "50.0% of 2 rows" in notes.lines[0]


def test_where_the_teacher_said_nothing_there_is_nothing_to_agree_with(tmp_path: Path, make_model: MakeModel) -> None:
    labels = labels_of(tmp_path / "labels", [])

    found = int8_agreement(make_model("int8"), labels=labels, rows=rows_of(["gorgeous"]), reporter=SilentReporter())

    assert found == {"agreement": None, "agreement_rows": 0}


@pytest.mark.parametrize(
    ("characters", "asked"), [(8, MOST_ROWS_ASKED), (MOST_CHARACTERS // 10, 10), (MOST_CHARACTERS, 1)]
)
def test_of_long_texts_fewer_are_asked(tmp_path: Path, make_model: MakeModel, characters: int, asked: int) -> None:
    texts = ["gorgeous".ljust(characters)] * 300
    labels = labels_of(tmp_path / "labels", [[0, 1]] * 300)

    found = int8_agreement(make_model("int8"), labels=labels, rows=rows_of(texts), reporter=SilentReporter())

    assert found == {"agreement": 1.0, "agreement_rows": asked}

"""What a teacher costs is what its members cost together, if that can be known."""

from pathlib import Path

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.timing.clock import Timing
from limbeck.timing.cost import seconds, teacher_size, teacher_subject, throughput, weighable, with_speedups
from limbeck.timing.throughput import ThroughputCase

FAST = Timing(samples_ms=[10.0, 10.0, 10.0], rates=[200.0])
SLOW = Timing(samples_ms=[30.0, 30.0], rates=[50.0])


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
        save_teacher_facts(scratch, facts)
    return TeacherFolder(folder)


@pytest.mark.parametrize("weights", ["model.safetensors", "model.onnx"])
def test_a_student_of_another_run_has_a_size_and_can_be_timed(tmp_path: Path, weights: str) -> None:
    member = student(tmp_path / "student", weights=weights)

    subject = teacher_subject(member)

    assert weighable([member]) == [member]
    assert teacher_size([member]) == {"parameters": 100, "parameters_without_embeddings": 50, "size_mb": 0.002}
    assert (subject.kind, subject.folder, subject.max_length) == ("student", member.folder, 16)
    assert member.is_exported == (weights == "model.onnx")


def test_members_are_weighed_together_or_not_at_all(tmp_path: Path) -> None:
    one, other, file = encoder(tmp_path / "1", size=10), encoder(tmp_path / "2", size=10), answers_file(tmp_path / "3")

    assert weighable([one, other]) == [one, other]
    assert weighable([one, file]) == weighable([file]) == weighable([]) == []


def test_sizes_are_sums_over_the_weights_of_the_members(tmp_path: Path) -> None:
    members = [encoder(tmp_path / "1", size=3_000), encoder(tmp_path / "2", size=1_000)]

    assert teacher_size(members) == {"parameters": 4_000, "parameters_without_embeddings": 2_000, "size_mb": 0.004}


def test_a_teacher_without_weights_has_no_size() -> None:
    assert set(teacher_size([]).values()) == {None}


def test_members_are_asked_one_after_the_other() -> None:
    cost = seconds([FAST, SLOW])

    assert cost["latency_ms"] == {"p50": 40.0, "p95": 40.0, "p99": 40.0, "samples": 2}
    assert cost["rows_per_second"] == pytest.approx(40.0)  # 1/200 s and 1/50 s for a row
    assert cost["throughput"] == [{"threads": 1, "batch": 1, "rows_per_second": pytest.approx(25.0)}]


def test_throughput_stands_in_one_order_and_those_of_lengths_behind() -> None:
    rates = {
        ThroughputCase(1, 32, "short"): 9.0,
        ThroughputCase(2, 1): 4.0,
        ThroughputCase(1, 256): 3.0,
        ThroughputCase(1, 32): 2.0,
        ThroughputCase(1, 1): 1.0,
    }

    assert throughput([rates]) == [
        {"threads": 1, "batch": 1, "rows_per_second": 1.0},
        {"threads": 1, "batch": 32, "rows_per_second": 2.0},
        {"threads": 1, "batch": 256, "rows_per_second": 3.0},
        {"threads": 2, "batch": 1, "rows_per_second": 4.0},
        {"threads": 1, "batch": 32, "length": "short", "rows_per_second": 9.0},
    ]


def test_members_have_a_throughput_together_only_where_each_was_timed() -> None:
    together = throughput([{ThroughputCase(1, 1): 10.0, ThroughputCase(1, 32): 60.0}, {ThroughputCase(1, 32): 30.0}])

    assert together == [{"threads": 1, "batch": 32, "rows_per_second": pytest.approx(20.0)}]


def test_speed_is_told_against_the_teacher_and_its_int8_file_or_not_at_all() -> None:
    student, teacher = seconds([FAST]), seconds([FAST, SLOW])

    both = with_speedups(student, teacher=teacher, int8={"size_mb": 1.0, **seconds([SLOW])})
    neither = with_speedups(student, teacher=seconds([]), int8=None)

    assert (both["speedup_over_teacher"], both["speedup_over_teacher_int8"]) == (4.0, 3.0)
    assert neither == {**student, "speedup_over_teacher": None, "speedup_over_teacher_int8": None}


def test_nothing_that_was_not_timed_has_a_speed() -> None:
    unknown = seconds([])

    assert with_speedups(unknown, teacher=unknown, int8=seconds([FAST])) == {
        "latency_ms": None,
        "rows_per_second": None,
        "throughput": None,
        "speedup_over_teacher": None,
        "speedup_over_teacher_int8": None,
    }


def test_an_encoder_is_timed_with_as_much_of_a_text_as_it_reads(tmp_path: Path) -> None:
    subject = teacher_subject(encoder(tmp_path / "1", size=10))

    assert (subject.kind, subject.folder, subject.max_length) == ("teacher", tmp_path / "1", 32)

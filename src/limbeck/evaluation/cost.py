"""What models cost: parameters, megabytes, milliseconds; of a teacher the sums over its members, or unknown."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.evaluation.clock import Subject, Timing

Cost = dict[str, Any]

WEIGHTS = (".safetensors", ".onnx")


def weighable(members: Sequence[TeacherFolder]) -> list[TeacherFolder]:
    """The members, if each of them can be run; else none: what a file's answers cost, nobody here can tell."""
    return list(members) if all(member.is_weighable for member in members) else []


def teacher_subject(member: TeacherFolder) -> Subject:
    """An encoder, or a student of another run, as something to be timed."""
    max_length = member.facts.max_length
    assert max_length is not None  # all that can be run have one
    kind: Literal["teacher", "student"] = "teacher" if member.is_encoder else "student"
    return Subject(name="teacher", kind=kind, folder=member.folder, max_length=max_length)


def teacher_size(members: Sequence[TeacherFolder]) -> Cost:
    """Parameters and the size of the weights, of all members together; None where there are none."""
    if not members:
        return {"parameters": None, "parameters_without_embeddings": None, "size_mb": None}
    facts = [member.facts for member in members]
    files = [path for member in members for path in member.folder.rglob("*") if path.suffix in WEIGHTS]
    return {
        "parameters": sum(member.parameters or 0 for member in facts),
        "parameters_without_embeddings": sum(member.parameters_without_embeddings or 0 for member in facts),
        "size_mb": sum(path.stat().st_size for path in files) / 1e6,
    }


def seconds(timings: Sequence[Timing]) -> Cost:
    """Time of one model, or of several that are asked one after the other; None where there are none."""
    if not timings:
        return {"latency_ms": None, "rows_per_second": None}
    return {
        "latency_ms": {
            "p50": sum(timing.p50_ms for timing in timings),
            "p95": sum(timing.p95_ms for timing in timings),
            "samples": min(len(timing.samples_ms) for timing in timings),
        },
        "rows_per_second": 1 / sum(1 / timing.rows_per_second for timing in timings),
    }


def with_speedup(cost: Cost, *, teacher: Mapping[str, Any]) -> Cost:
    """The cost, and how many times the teacher's p50 it takes less; None where the teacher has none."""
    known = teacher["latency_ms"] is not None
    return {**cost, "speedup_over_teacher": teacher["latency_ms"]["p50"] / cost["latency_ms"]["p50"] if known else None}

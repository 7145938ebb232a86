"""What models cost: parameters, megabytes, milliseconds; of a teacher the sums over its members, or unknown."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.runtime.classifier import Classifier
from limbeck.timing.clock import Subject, Timing
from limbeck.timing.throughput import ThroughputCase

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


def engine_of(subject: Subject) -> str:
    """What runs it: an exported model is loaded as `limbeck.load` does it by default, all else runs in PyTorch."""
    exported = ModelFolder(subject.folder)
    return Classifier(exported).engine if exported.graph.is_file() else "pytorch"


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
        return {"latency_ms": None, "rows_per_second": None, "throughput": None}
    return {
        "latency_ms": {
            "p50": sum(timing.p50_ms for timing in timings),
            "p95": sum(timing.p95_ms for timing in timings),
            "p99": sum(timing.p99_ms for timing in timings),
            "samples": min(len(timing.samples_ms) for timing in timings),
        },
        "rows_per_second": one_after_the_other([timing.rows_per_second for timing in timings]),
        "throughput": throughput([timing.throughput for timing in timings]),
    }


def throughput(measured: Sequence[Mapping[ThroughputCase, float]]) -> list[Cost]:
    """The cases that each of the models was timed in: first those of all texts, then those of short and long ones."""
    shared = [case for case in measured[0] if all(case in rates for rates in measured)]
    return [
        {
            "threads": case.threads,
            "batch": case.batch,
            **({"length": case.length} if case.length else {}),
            "rows_per_second": one_after_the_other([rates[case] for rates in measured]),
        }
        for case in sorted(shared, key=lambda case: (case.length is not None, case.threads, case.batch))
    ]


def one_after_the_other(rates: Sequence[float]) -> float:
    """Rows per second where each row is asked of one model after the other."""
    return 1 / sum(1 / rate for rate in rates)


def with_speedups(cost: Cost, *, teacher: Cost, int8: Cost | None) -> Cost:
    """The cost, and how many times less than the teacher's p50 its own is, and than that of the teacher's int8 file;
    None where one of the two is not known."""
    return {
        **cost,
        "speedup_over_teacher": _speedup(cost, over=teacher),
        "speedup_over_teacher_int8": _speedup(cost, over=int8),
    }


def _speedup(cost: Cost, *, over: Cost | None) -> float | None:
    if not over or not over["latency_ms"] or not cost["latency_ms"]:
        return None
    return float(over["latency_ms"]["p50"] / cost["latency_ms"]["p50"])

"""Training on a GPU, on docs/results.md: a whole run, and the steps of student training and of labelling alone."""

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.page_parts import machine_name, table

Numbers = Mapping[str, Any]


def gpu_section(results: Path) -> str:
    """The section, from what was measured; empty where nothing was."""
    parts = [
        *_from(results / "whole_run.json", _whole_run),
        *_from(results / "gpu_training.json", _steps),
    ]
    return "\n\n".join(["## Training on a GPU", *parts]) + "\n" if parts else ""


def _from(file: Path, sentences: Callable[[Numbers], list[str]]) -> list[str]:
    return sentences(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else []


def _whole_run(found: Numbers) -> list[str]:
    whole = found["seconds"]
    stages = sorted(found["stages"].items(), key=lambda stage: -stage[1])
    rows = [[name, f"{seconds:.0f}", f"{seconds / whole:.0%}"] for name, seconds in stages if seconds >= 1]
    at_most = (
        f", at most {found['peak_memory_mb'] / 1024:.1f} GiB of the GPU's memory" if "peak_memory_mb" in found else ""
    )
    busy = f"; it was busy {found['busy_percent']:.0f} % of the time" if "busy_percent" in found else ""
    beside = (
        f" Also running on the same GPU, and included in both of these numbers: {found['beside']}."
        if found["beside"]
        else ""
    )
    return [
        f"A whole run by `python benchmarks/whole_run.py`, from files to exported students "
        f"({machine_name(found['machine'])}): `{found['command']}` took **{whole / 60:.1f} minutes**{at_most}{busy}."
        + beside,
        table(["stage", "seconds", "share"], rows),
        f"The teacher takes {found['share_of_teacher']:.0%} of the time, fine-tuning and labelling together. It "
        f"labelled {found['rows_asked']:,} rows, {found['labelling_rows_per_second']:,.0f} a second. "
        f"{found['students']} students, those alone among them, read "
        f"{found['training_rows_per_second']:,} rows a second together, up to "
        f"{found['rows_of_a_student']:,} in an epoch. {_reached(found['dev_accuracy'])}",
        *(_again(other) for other in found.get("again", [])),
    ]


def _again(found: Numbers) -> str:
    """One more run of the same, in other company."""
    seconds = found["stages"]
    reached = ", ".join(_students(found["dev_accuracy"]))
    beside = f" Also running: {found['beside']}." if found["beside"] else ""
    busy = f" The GPU was busy {found['busy_percent']:.0f} % of the time." if "busy_percent" in found else ""
    return (
        f"Once more ({machine_name(found['machine'])}): {found['seconds'] / 60:.1f} minutes, {seconds['teacher']:.0f} "
        f"seconds of them to fine-tune the teacher, {seconds['labels']:.0f} to ask it and {seconds['students']:.0f} "
        f"for the students, which reached: {reached}.{busy}{beside}"
    )


def _reached(accuracy: Mapping[str, Sequence[float]]) -> str:
    """How good the students became: another run of a recipe that stands above, so the two may differ."""
    return (
        f"On dev they reached: {', '.join(_students(accuracy))}. If the recipe is in a table above, this is "
        "another run of it, with a teacher of its own: together they show how far runs may differ."
    )


def other_runs(results: Path, recipe: str) -> list[float]:
    """What the students of a recipe came to in whole runs of it, each with a teacher of its own: means of seeds."""
    file = results / "whole_run.json"
    if not file.is_file():
        return []
    found = json.loads(file.read_text(encoding="utf-8"))
    runs = [run for run in (found, *found.get("again", [])) if run["command"] == f"limbeck run {recipe} --until export"]
    return [statistics.mean(run["dev_accuracy"]["bilstm"]) for run in runs if "bilstm" in run["dev_accuracy"]]


def _students(accuracy: Mapping[str, Sequence[float]]) -> list[str]:
    """Kind by kind, the mean of the seeds and each of them."""
    return [
        f"{name} {100 * statistics.mean(seeds):.1f} ({' '.join(f'{100 * seed:.1f}' for seed in seeds)})"
        for name, seeds in sorted(accuracy.items(), key=lambda kind: statistics.mean(kind[1]))
    ]


def _steps(found: Numbers) -> list[str]:
    student = found["student"]
    training = [
        [
            f"training, batches of {line['batch_size']}",
            line["precision"],
            f"{line['limbeck']['rows_per_second']:,.0f}",
            f"{line['one_by_one']['rows_per_second']:,.0f}" if "one_by_one" in line else "",
            f"{line['plain']['rows_per_second']:,.0f}",
            f"{line['limbeck_to_plain']:.2f}",
            f"{line['limbeck']['peak_memory_mb']:,.0f}",
        ]
        for line in found["training"]
    ]
    labelling = [
        ["labelling", line["precision"], f"{line['rows_per_second']:,.0f}", *[""] * 3, f"{line['peak_memory_mb']:,.0f}"]
        for line in found["labelling"]
    ]
    heads = ["step", "arithmetic", "rows/s", "without CUDA graphs, rows/s", "plain PyTorch, rows/s", "ratio", "peak MB"]
    return [
        f"The steps alone, by `python benchmarks/gpu_training.py` ({machine_name(found['machine'])}): one Bi-LSTM "
        f"(hidden {student['hidden_size']}, {student['words']:,} words of width {student['width']}, frozen) "
        f"and a teacher of BERT-base's shape, rows of {found['words_a_row']:.0f} words. Plain PyTorch is a loop by "
        "hand around one cuDNN LSTM over packed rows."
        + (f" Also running: {found['beside']}." if found.get("beside") else ""),
        table(heads, [*training, *labelling], words={"arithmetic"}),
    ]

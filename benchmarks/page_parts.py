"""What the sections of docs/results.md are put together from."""

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, words: Collection[str] = ()) -> str:
    """Columns without any value are left out. The first and those of `words` are left-aligned, others right-aligned."""
    full = [[*row, *[""] * (len(headings) - len(row))] for row in rows]
    kept = [place for place in range(len(headings)) if place == 0 or any(row[place] not in ("", "–") for row in full)]
    lines = [[headings[place] for place in kept], *([row[place] for place in kept] for row in full)]
    marks = ["---", *("---" if headings[place] in words else "---:" for place in kept[1:])]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], marks, *lines[1:]])


def percents(by_set: Mapping[str, float], sets: Sequence[str]) -> list[str]:
    """In the order of the sets, and their mean."""
    return [f"{100 * value:.1f}" for value in (*(by_set[name] for name in sets), mean(by_set[name] for name in sets))]


def put_between(page: Path, text: str, *, start: str, end: str) -> None:
    """Put a text between two marks of a page."""
    written = page.read_text(encoding="utf-8")
    before, after = written.index(start) + len(start), written.index(end)
    page.write_text(f"{written[:before]}\n\n{text}\n\n{written[after:]}", encoding="utf-8")


def only_recurrent(lines: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The lines whose student is a Bi-LSTM: they are compared with each other, a transformer is another model."""
    return {name: line for name, line in lines.items() if line["student"]["kind"] == "bilstm"}


def strongest_alone(lines: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The line whose student alone is the best, the first of several; None where there is none alone."""
    alone = {name: line["alone"]["accuracy"] for name, line in lines.items() if line.get("alone")}
    return max(alone, key=lambda name: alone[name]) if alone else None


def machine_name(machine: Mapping[str, Any]) -> str:
    """GPU, processor and cores, of what a report says of its machine."""
    return ", ".join([*([machine["gpu"]] if "gpu" in machine else []), machine["cpu"], f"{machine['cores']} cores"])


def machines_of(names: Iterable[str]) -> str:
    """The machines of several lines in one phrase: those that differ in their cores alone are named once."""
    cores: dict[str, set[int]] = {}
    for name in names:
        machine, _, count = name.removesuffix(" cores").rpartition(", ")
        cores.setdefault(machine, set()).add(int(count))
    return " and ".join(f"{machine}, {_or(sorted(counts))} cores" for machine, counts in cores.items())


def _or(counts: Sequence[int]) -> str:
    *others, last = map(str, counts)
    return f"{', '.join(others)} or {last}" if others else last


def without_timing(command: str) -> str:
    """The command without keys of [evaluation], which change no student."""
    words = shlex.split(command)
    left_out = {place for place, word in enumerate(words) if word.startswith("evaluation.")}
    return shlex.join(word for place, word in enumerate(words) if place not in left_out and place + 1 not in left_out)

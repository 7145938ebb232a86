"""The ablation on docs/results.md: for each thing a picture, its numbers, and what they say in one line."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.ablation_lines import ABLATIONS, Ablation
from benchmarks.page_parts import without_timing
from benchmarks.results_pictures import Measured, accuracy_by_setting

Numbers = Mapping[str, Any]
NOISE = 1.0  # points
HEAD = """## What the SST-2 result is made of

The recipe `sst2-text` with one thing changed at a time, by `python benchmarks/ablation.py`; accuracy on dev, mean ±
spread over seeds, same teacher and same labels throughout, but where the teacher itself is what changes. A difference
of less than a point is within what other rows would change. Where a command says so, all settings of a thing had less
text and fewer epochs than the recipe. Some changes bring others with them: GloVe's vectors are narrower, random ones
have to learn, and with more text there are more words."""


def ablation_section(results: Path, *, pictures: Path) -> str:
    """The section; empty where nothing was run, and without the things of which fewer than two settings were."""
    if not results.is_file():
        return ""
    lines: dict[str, Numbers] = json.loads(results.read_text(encoding="utf-8"))["lines"]
    parts = [_part(ablation, lines, pictures=pictures) for ablation in ABLATIONS]
    return "\n\n".join([HEAD, *filter(None, parts)]) + "\n" if any(parts) else ""


def ablation_runs(results: Path, recipe: str) -> list[float]:
    """What a recipe came to here without a change: another run of it, with a teacher of its own."""
    if not results.is_file():
        return []
    lines: dict[str, Numbers] = json.loads(results.read_text(encoding="utf-8"))["lines"]
    plain = f"limbeck run {recipe} --set 'distillation.seeds=[0, 1, 2]'"
    return [line["student"]["accuracy"] for line in lines.values() if without_timing(line["command"]) == plain]


def _part(ablation: Ablation, lines: Mapping[str, Numbers], *, pictures: Path) -> str:
    found = {
        setting.name: lines[f"{ablation.name}:{setting.name}"]
        for setting in ablation.settings
        if f"{ablation.name}:{setting.name}" in lines
    }
    if len(found) < 2:
        return ""
    measured = [
        Measured(name, place, round(100 * line["student"]["accuracy"], 1), 100 * line["student"]["accuracy_sd"])
        for place, (name, line) in enumerate(found.items())
    ]
    file = pictures / f"ablation-{ablation.name}.svg"
    accuracy_by_setting(measured, xlabel=ablation.title, is_number=ablation.is_number, file=file)
    rows = [
        f"| {one.name} | {one.accuracy:.1f} ± {one.spread:.1f} | {_words(line)} | `{without_timing(line['command'])}` |"
        for one, line in zip(measured, found.values(), strict=True)
    ]
    table = [f"| {ablation.title} | accuracy | parameters | command |", "|---|---:|---:|---|", *rows]
    title = f"### {ablation.title[0].upper()}{ablation.title[1:]}"
    picture = f"![Accuracy by {ablation.title}](results/{file.name})"
    return "\n\n".join([title, f"**{lesson(ablation, measured)}**", "\n".join(table), picture])


def _words(line: Numbers) -> str:
    return f"{line['student']['parameters'] / 1e6:.1f}M"


def lesson(ablation: Ablation, measured: Sequence[Measured]) -> str:
    """What the numbers say, and no more than that."""
    if ablation.is_number:
        first, before, last = measured[0], measured[-2], measured[-1]
        whole = f"From {first.name} to {last.name}: {last.accuracy - first.accuracy:+.1f} points"
        step = f"; the last step, from {before.name}, brings {last.accuracy - before.accuracy:+.1f} of them"
        return (whole + (step if len(measured) > 2 else "") + ".").replace("-", "−")
    ranked = sorted(measured, key=lambda one: -one.accuracy)
    level = [one.name for one in ranked if ranked[0].accuracy - one.accuracy < NOISE]
    behind = ", ".join(f"{one.name} {one.accuracy - ranked[0].accuracy:+.1f}" for one in ranked[len(level) :])
    best = f"Best: {level[0]}" if len(level) == 1 else f"Best, and less than a point apart: {', '.join(level)}"
    return f"{best}{'; behind: ' if behind else ''}{behind}.".replace("-", "−")

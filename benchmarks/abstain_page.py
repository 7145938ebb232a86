"""The tables of docs/abstaining.md, from benchmarks/results/abstain.json and abstain_teach.json."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.page_parts import put_between, table

TAUGHT = Path(__file__).resolve().parent / "results" / "abstain_teach.json"
PAGE = Path(__file__).resolve().parent.parent / "docs" / "abstaining.md"
TITLES = {"hwu64": "HWU64", "snips": "SNIPS"}
MEASURES = {"aurc": "AURC", "auroc": "AUROC", "recall_at_5": "recall at 5 %", "fpr95": "FPR95"}
COVERAGES = ("50%", "80%", "90%", "95%", "100%")


def write_page(found: Mapping[str, Any]) -> None:
    """Put all tables between their marks."""
    for name, text in (
        ("scores", scores(found)),
        ("foreign", foreign(found)),
        ("curve", curve(found)),
        ("time", times(found)),
        ("teach", taught(json.loads(TAUGHT.read_text(encoding="utf-8")))),
    ):
        put_between(PAGE, text, start=f"<!-- {name} -->", end=f"<!-- /{name} -->")


def _draws(found: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return [draw for draw in found["draws"] if draw["set"] == name]


def _mean(draws: Sequence[Mapping[str, Any]], *keys: str) -> str:
    values = []
    for draw in draws:
        value: Any = draw
        for key in keys:
            value = value[key]
        values.append(100 * value)
    return f"{mean(values):.1f}"


def scores(found: Mapping[str, Any]) -> str:
    """Every score of the distilled student, in per cent."""
    names = list(found["draws"][0]["bilstm"])
    names.remove("thresholds")
    headings = ["score", *(f"{title}: {measure}" for title in TITLES.values() for measure in MEASURES.values())]
    lines = [
        [name, *(_mean(_draws(found, one), "bilstm", name, measure) for one in TITLES for measure in MEASURES)]
        for name in names
    ]
    return table(headings, lines)


def foreign(found: Mapping[str, Any]) -> str:
    """What thresholds do that were fitted on dev."""
    wishes = list(found["draws"][0]["bilstm"]["thresholds"])
    measures = {"coverage": "answered", "error": "wrong of these", "withheld": "foreign without label"}
    headings = ["fitted for", *(f"{title}: {measure}" for title in TITLES.values() for measure in measures.values())]
    lines = [
        [
            wish,
            *(_mean(_draws(found, one), "bilstm", "thresholds", wish, key) for one in TITLES for key in measures),
        ]
        for wish in wishes
    ]
    return table(headings, lines)


def curve(found: Mapping[str, Any]) -> str:
    """Error among the surest rows, distilled and alone."""
    lines = [
        [
            f"{title}, {said}",
            *(_mean(_draws(found, name), variant, "probability", f"error at {share}") for share in COVERAGES),
            "{} ({}–{})".format(
                *(_mean(_draws(found, name), variant, "probability", key) for key in ("aurc", "aurc_low", "aurc_high"))
            ),
        ]
        for name, title in TITLES.items()
        for variant, said in (("bilstm", "distilled"), ("bilstm-alone", "alone"))
    ]
    headings = [
        "student",
        *(f"wrong of the surest {share.replace('%', ' %')}" for share in COVERAGES),
        "AURC (95 % interval)",
    ]
    return table(headings, lines)


def times(found: Mapping[str, Any]) -> str:
    """Time with abstaining, as a ratio to that without."""
    lines = [
        [
            f"{one['kind']}, {one['classes']} classes, {one['engine'].split()[0]}",
            *(f"{one[f'ratio, {size} at a time']:.2f}" for size in (1, 256)),
        ]
        for one in found["time"]
    ]
    return table(["student", "one text at a time", "256 texts at a time"], lines)


def taught(found: Mapping[str, Any]) -> str:
    """The students that learned foreign text, beside the same ones without."""
    kinds = ("unseen intents", "tweets", "general text, written alike", "general text")
    measures = {"auroc": "AUROC", "recall_at_5": "recall at 5 %"}
    keys = {"accuracy": "accuracy in scope", "aurc": "AURC"}
    keys |= {f"{kind}: {key}": f"{kind}: {title}" for kind in kinds for key, title in measures.items()}
    lines = [
        [name, *(f"{100 * mean(draw[name][key] for draw in found['draws']):.1f}" for key in keys)]
        for name in found["draws"][0]
    ]
    return table(["taught", *keys.values()], lines)

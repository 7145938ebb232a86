"""What is known of a model from dev: how confident it is there, and when the teacher is worth asking (profile.json)."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from limbeck.artifacts.dev_sketch import QUANTILES as QUANTILES
from limbeck.artifacts.dev_sketch import DevSketch, is_sketch, read_sketch
from limbeck.artifacts.manifest import MOST_BYTES_OF_JSON, read_small_json

PROFILE = "profile.json"
BINS = 10  # of the histogram of confidence, each as wide
MOST_POINTS, MOST_EXAMPLES, MOST_ROWS = 1_000, 1_000, 1 << 40
LONGEST_TEXT = 1_000  # characters of a text of an example
FROM_ROUNDING = 0.01  # how far a histogram may be from one, in sum
KEYS_OF_CURVE = {"rows", "points", "cheapest", "student_accuracy", "teacher_accuracy"}
SHARES_OF_FOREIGN = ("auroc", "recall_at_5", "fpr95", "withheld")
OPTIONAL = {"sketch", "abstain"}  # keys that need not be there

Texts: TypeAlias = str | tuple[str, str]  # of a row


@dataclass(frozen=True)
class CascadePoint:
    """The teacher is asked where the student's confidence is at most the threshold."""

    threshold: float
    asked_share: float  # of the rows
    accuracy: float  # of both together


@dataclass(frozen=True)
class CascadeOnDev:
    """The cascade of this model and the teacher on dev, from never asking it to asking it always."""

    rows: int  # those that have a label and an answer of the teacher
    points: tuple[CascadePoint, ...]  # by rising threshold
    cheapest: CascadePoint  # asks least among those that are at least as accurate as the teacher
    student_accuracy: float
    teacher_accuracy: float


@dataclass(frozen=True)
class AbstainOnDev:
    """What the threshold of model.json is worth on the rows that it was fitted on."""

    rows: int
    wanted: dict[str, float]  # "error" or "coverage"; empty: the threshold that treats most rows right
    is_reached: bool
    coverage: float  # share of the rows that are answered
    error: float | None  # among these; None: dev has no labels, or nothing is answered
    aurc: float | None  # area under the risk-coverage curve
    foreign: dict[str, Any] | None  # rows that belong to no class: their source, and how well scores tell them


@dataclass(frozen=True)
class ModelProfile:
    """The content of profile.json. Confidence is that of `limbeck.runtime.probabilities.confidence`."""

    rows: int  # of dev, which the numbers are about
    confidence_quantiles: tuple[float, ...]  # evenly spread over the rows, from the least confident to the most
    confidence_histogram: tuple[float, ...]  # share of the rows in each tenth of confidence, from 0 to 1
    label_shares: tuple[float, ...] | None  # share of the labelled rows of train with each label, in the model's order
    unknown_words: float | None  # share of the words in dev that the model does not know; None: it knows no words
    cascade: CascadeOnDev | None  # None: the teacher did not answer dev
    examples: tuple[Texts, ...] = ()  # rows of dev to try the model with, if the recipe keeps any
    sketch: DevSketch | None = None  # to notice drift; None in a profile of an earlier version
    abstain: AbstainOnDev | None = None  # None: the model always gives a label


def save_profile(folder: Path, profile: ModelProfile) -> None:
    """Write profile.json into a scratch folder."""
    content = {name: value for name, value in asdict(profile).items() if name not in OPTIONAL or value is not None}
    if profile.cascade is not None:  # points are lists: the names of their numbers would be most of the file
        points = [astuple(point) for point in profile.cascade.points]
        content["cascade"] |= {"points": points, "cheapest": astuple(profile.cascade.cheapest)}
    (folder / PROFILE).write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def read_profile(path: Path, *, labels: Sequence[str], pair: bool) -> ModelProfile:
    """The profile of a model with these labels. Raises OSError, or ValueError with what is wrong with it."""
    found = read_small_json(path, most_bytes=MOST_BYTES_OF_JSON)
    if faults := _faults(found, labels=len(labels), pair=pair):
        raise ValueError(faults[0])
    curve = found["cascade"]
    return ModelProfile(
        rows=found["rows"],
        confidence_quantiles=tuple(found["confidence_quantiles"]),
        confidence_histogram=tuple(found["confidence_histogram"]),
        label_shares=None if found["label_shares"] is None else tuple(found["label_shares"]),
        unknown_words=found["unknown_words"],
        cascade=None if curve is None else _curve(curve),
        examples=tuple(row if isinstance(row, str) else (row[0], row[1]) for row in found["examples"]),
        sketch=read_sketch(found["sketch"]) if "sketch" in found else None,
        abstain=AbstainOnDev(**found["abstain"]) if "abstain" in found else None,
    )


def _curve(found: dict[str, Any]) -> CascadeOnDev:
    points = tuple(CascadePoint(*point) for point in found["points"])
    return CascadeOnDev(**{**found, "points": points, "cheapest": CascadePoint(*found["cheapest"])})


def _faults(found: Any, *, labels: int, pair: bool) -> list[str]:
    """What is wrong with the content of profile.json: anybody may have written it."""
    known = {field.name for field in fields(ModelProfile)}
    if not isinstance(found, dict) or not known - OPTIONAL <= set(found) <= known:
        return [f"it is no table of the keys {', '.join(sorted(known))}"]
    is_right: dict[str, Callable[[Any], bool]] = {
        "rows": lambda rows: _is_whole(rows, most=MOST_ROWS),
        "confidence_quantiles": lambda quantiles: _are_shares(quantiles, count=QUANTILES) and _is_rising(quantiles),
        "confidence_histogram": lambda bins: _are_shares(bins, count=BINS) and abs(sum(bins) - 1) <= FROM_ROUNDING,
        "label_shares": lambda shares: shares is None or _are_shares(shares, count=labels),
        "unknown_words": lambda share: share is None or _is_share(share),
        "cascade": lambda curve: curve is None or _is_curve(curve),
        "examples": lambda rows: _are_examples(rows, pair=pair),
        "sketch": is_sketch,
        "abstain": _is_abstain,
    }
    faulty = [name for name, check in is_right.items() if name in found and not check(found[name])]
    if not faulty and "sketch" in found and len(found["sketch"]["predicted"]) != labels:
        return [f"sketch is about {len(found['sketch']['predicted']):,} labels, not about the model's {labels:,}"]
    return [f"{name} is not what a model has there" for name in faulty]


def _is_whole(value: Any, *, most: int) -> bool:
    return type(value) is int and 1 <= value <= most


def _is_share(value: Any) -> bool:
    """Not NaN, which is neither less nor more."""
    return type(value) in (int, float) and 0 <= value <= 1


def _are_shares(values: Any, *, count: int) -> bool:
    return isinstance(values, list) and len(values) == count and all(map(_is_share, values))


def _is_rising(values: list[float]) -> bool:
    return all(one <= other for one, other in pairwise(values))


def _is_curve(curve: Any) -> bool:
    if not isinstance(curve, dict) or set(curve) != KEYS_OF_CURVE or not isinstance(curve["points"], list):
        return False
    if not 1 <= len(curve["points"]) <= MOST_POINTS or not _is_whole(curve["rows"], most=MOST_ROWS):
        return False
    are_points = all(map(_is_point, [*curve["points"], curve["cheapest"]]))
    if not are_points or not _is_rising([point[0] for point in curve["points"]]):
        return False
    return _is_share(curve["student_accuracy"]) and _is_share(curve["teacher_accuracy"])


def _is_abstain(found: Any) -> bool:
    if not isinstance(found, dict) or set(found) != {field.name for field in fields(AbstainOnDev)}:
        return False
    wanted, measured = found["wanted"], found["foreign"]
    return (
        _is_whole(found["rows"], most=MOST_ROWS)
        and isinstance(wanted, dict)
        and set(wanted) <= {"error", "coverage"}
        and type(found["is_reached"]) is bool
        and all(found[name] is None or _is_share(found[name]) for name in ("error", "aurc"))
        and all(map(_is_share, [found["coverage"], *wanted.values()]))
        and (measured is None or _are_measures(measured))
    )


def _are_measures(found: Any) -> bool:
    if not isinstance(found, dict) or set(found) != {"source", "rows", *SHARES_OF_FOREIGN}:
        return False
    is_known = found["source"] in ("labelled", "files", "general") and _is_whole(found["rows"], most=MOST_ROWS)
    return is_known and all(_is_share(found[name]) for name in SHARES_OF_FOREIGN)


def _is_point(point: Any) -> bool:
    return _are_shares(point, count=3)


def _are_examples(rows: Any, *, pair: bool) -> bool:
    if not isinstance(rows, list) or len(rows) > MOST_EXAMPLES:
        return False
    if not pair:
        return all(map(_is_text, rows))
    return all(isinstance(row, list) and len(row) == 2 and all(map(_is_text, row)) for row in rows)


def _is_text(value: Any) -> bool:
    """JSON can spell half a character, which cannot be written anywhere."""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True

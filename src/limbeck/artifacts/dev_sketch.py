"""What a profile keeps of the texts of dev, of the answers to them and of features, to notice when they change; no text
is in it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

QUANTILES = 101  # at every percent of the rows
MOST_TOKENS = 64
HIGHEST_ID = 1 << 31
LARGEST = 1e12  # of a mean or a quantile
MOST_DIRECTIONS = 24  # that features are projected to
WIDEST = 1 << 20  # features


@dataclass(frozen=True)
class QuantileSketch:
    """A number of each text: the mean, and quantiles that are evenly spread, each of them the number of some text."""

    mean: float
    quantiles: tuple[float, ...]


@dataclass(frozen=True)
class FeatureSketch:
    """Features of training rows, projected to a few directions, and how far those of dev are from their mean."""

    width: int  # of the features
    center: tuple[float, ...]  # the mean in each direction
    spread: tuple[float, ...]  # lower triangle, row by row, of the matrix that makes the variances one
    distances: QuantileSketch  # of dev


@dataclass(frozen=True)
class DevSketch:
    """The rows are those of the profile."""

    characters: QuantileSketch
    unknown: QuantileSketch | None  # share of a text's words that the model does not know; None: it knows no words
    predicted: tuple[float, ...]  # share of the rows that the model gives each label, in its order
    tokens: tuple[tuple[int, float], ...]  # frequent ones by id, with the share of the texts that have them
    token_rows: int  # which the shares of tokens are about: others than those that the tokens were chosen by
    features: FeatureSketch | None = None  # None: not known, or a profile of an earlier version


def read_sketch(found: Mapping[str, Any]) -> DevSketch:
    """From JSON that has no faults."""
    unknown = found["unknown"]
    return DevSketch(
        characters=_quantiles(found["characters"]),
        unknown=None if unknown is None else _quantiles(unknown),
        predicted=tuple(found["predicted"]),
        tokens=tuple((number, share) for number, share in found["tokens"]),
        token_rows=found["token_rows"],
        features=_features(found.get("features")),
    )


def _features(found: Mapping[str, Any] | None) -> FeatureSketch | None:
    if found is None:
        return None
    return FeatureSketch(found["width"], tuple(found["center"]), tuple(found["spread"]), _quantiles(found["distances"]))


def _quantiles(found: Mapping[str, Any]) -> QuantileSketch:
    return QuantileSketch(found["mean"], tuple(found["quantiles"]))


def is_sketch(found: Any) -> bool:
    """Whether this, from JSON that anybody may have written, can be one of a model with some number of labels."""
    known = {field.name for field in fields(DevSketch)}
    if not isinstance(found, dict) or not known - {"features"} <= set(found) <= known:
        return False
    predicted, tokens, rows = found["predicted"], found["tokens"], found["token_rows"]
    return (
        _are_quantiles(found["characters"], most=LARGEST)
        and (found["unknown"] is None or _are_quantiles(found["unknown"], most=1))
        and isinstance(predicted, list)
        and all(_is_number(share, most=1) for share in predicted)
        and isinstance(tokens, list)
        and len(tokens) <= MOST_TOKENS
        and all(map(_is_token, tokens))
        and type(rows) is int
        and 0 <= rows <= LARGEST
        and (found.get("features") is None or _are_features(found["features"]))
    )


def _are_features(found: Any) -> bool:
    if not isinstance(found, dict) or set(found) != {field.name for field in fields(FeatureSketch)}:
        return False
    width, center, spread = found["width"], found["center"], found["spread"]
    if type(width) is not int or not 1 <= width <= WIDEST or not isinstance(center, list):
        return False
    count = min(width, MOST_DIRECTIONS)
    if len(center) != count or not isinstance(spread, list) or len(spread) != count * (count + 1) // 2:
        return False
    return all(map(_is_any_number, [*center, *spread])) and _are_quantiles(found["distances"], most=LARGEST)


def _is_any_number(value: Any) -> bool:
    return type(value) in (int, float) and -LARGEST <= value <= LARGEST


def _are_quantiles(found: Any, *, most: float) -> bool:
    if not isinstance(found, dict) or set(found) != {"mean", "quantiles"} or not _is_number(found["mean"], most=most):
        return False
    values = found["quantiles"]
    if not isinstance(values, list) or len(values) != QUANTILES:
        return False
    return all(_is_number(value, most=most) for value in values) and all(a <= b for a, b in pairwise(values))


def _is_token(found: Any) -> bool:
    if not isinstance(found, list) or len(found) != 2:
        return False
    return type(found[0]) is int and 0 <= found[0] <= HIGHEST_ID and _is_number(found[1], most=1)


def _is_number(value: Any, *, most: float) -> bool:
    """Not NaN, which is neither less nor more."""
    return type(value) in (int, float) and 0 <= value <= most

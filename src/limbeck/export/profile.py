"""The profile of an exported file: confidence and texts of dev, and what a cascade with the teacher is worth there."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.dev_sketch import FeatureSketch
from limbeck.artifacts.foreign import Foreign
from limbeck.artifacts.manifest import fingerprint_of
from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.artifacts.model_profile import (
    BINS,
    QUANTILES,
    AbstainOnDev,
    CascadeOnDev,
    CascadePoint,
    ModelProfile,
    save_profile,
)
from limbeck.artifacts.rows import Rows, runtime_rows
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.runtime.drift.features import feature_reader, feature_sketch
from limbeck.runtime.drift.sketch import dev_sketch, marked
from limbeck.runtime.probabilities import confidence, probabilities_of
from limbeck.runtime.row import Row, characters, columns_of
from limbeck.runtime.unknown_words import WordCounter, word_counter
from limbeck.training.skill import predicted
from limbeck.training.threshold_curve import Curve, curve_of

Floats = npt.NDArray[np.float64]
Logits = npt.NDArray[np.float32]
Positions = npt.NDArray[np.int64]
MOST_ROWS = 2_000  # of dev: enough to fit a temperature, and for shares to a percent
MOST_TRAINED = 1_000  # of train, whose features are read
MOST_POINTS = 51
FORM = "3"  # raised when a profile keeps more than before: then models are exported again
DIGITS = 8  # of a confidence, of which many are near one
LONGEST_EXAMPLE, FEWEST_WORDS = 300, 3  # characters; words, where there are such rows
OF_ALL = 1 / 3  # examples are among the shorter third of the rows


@dataclass(frozen=True)
class Origin:
    """What a profile says beyond the model and dev."""

    label_shares: tuple[float, ...] | None = None  # of train
    teacher: TeacherLabels | None = None
    foreign: Foreign | None = None
    train: Rows | None = None  # whose features are kept, as a mean and variances


def origin_of(train: Rows, *, classes: int, teacher: TeacherLabels | None, foreign: Foreign | None = None) -> Origin:
    """Of a model with this many classes that was trained on these rows."""
    return Origin(label_shares=_label_shares(train, classes=classes), teacher=teacher, foreign=foreign, train=train)


def _label_shares(rows: Rows, *, classes: int) -> tuple[float, ...] | None:
    labels = rows.labels[rows.is_labelled]
    if not len(labels) or labels.dtype.kind == "f":
        return None
    counts = labels.sum(axis=0) if labels.ndim == 2 else np.bincount(labels, minlength=classes)
    return tuple(_rounded(counts / len(labels)))


def profile_rows(rows: Rows) -> Positions:
    """Positions of the rows of dev that a profile is about, at most 2,000, evenly spread: labelled ones, if any are.

    These are the rows that temperatures are fitted on.
    """
    labelled = np.flatnonzero(rows.is_labelled)
    among = labelled if len(labelled) else np.arange(len(rows))
    return among[np.linspace(0, len(among) - 1, num=min(MOST_ROWS, len(among)), dtype=np.int64)]


def answers_fingerprint(labels: TeacherLabels, rows: Rows) -> str:
    """Of the teacher's answers to the rows of a profile, which the profile depends on."""
    dev = rows.select(profile_rows(rows))
    known = dev.select(np.flatnonzero(labels.covers(dev.ids)))
    logits = labels.for_rows(known.ids) if len(known) else np.zeros((0, 0), dtype=np.float32)
    return fingerprint_of("\n".join([*known.ids, logits.tobytes().hex()]))


def write_profile(
    folder: Path,
    facts: ModelFacts,
    *,
    rows: Rows,
    logits_of: Callable[[list[Row]], Logits],
    origin: Origin,
    examples: int = 0,
    abstain: AbstainOnDev | None = None,
) -> None:
    """Write profile.json for the model in a scratch folder. `rows` are all of dev; `logits_of` asks the file.

    None is written without rows.
    """
    dev = rows.select(profile_rows(rows))
    if not len(dev):
        return
    asked = runtime_rows(dev)
    logits, counter = logits_of(asked), word_counter(ModelFolder(folder), facts)
    given = marked(predicted(logits, multi_label=facts.multi_label), classes=len(facts.labels))
    scaled = logits / np.float32(facts.temperature)
    sure = confidence(probabilities_of(scaled, multi_label=facts.multi_label), multi_label=facts.multi_label)
    save_profile(
        folder,
        ModelProfile(
            rows=len(dev),
            confidence_quantiles=tuple(_rounded(np.quantile(sure, np.linspace(0, 1, QUANTILES)))),
            confidence_histogram=tuple(_rounded(np.histogram(sure, bins=BINS, range=(0, 1))[0] / len(sure))),
            label_shares=origin.label_shares,
            unknown_words=_unknown_words(counter, asked),
            cascade=_cascade(dev, logits, sure, origin.teacher) if origin.teacher else None,
            examples=tuple(_examples(dev, asked, logits, sure, most=examples)),
            sketch=dev_sketch(asked, counter, given=given, features=_features(folder, facts, asked, origin.train)),
            abstain=abstain,
        ),
    )


def _rounded(values: npt.NDArray[np.floating]) -> list[float]:
    """A few digits: rounded, a rising list still rises."""
    return [min(1.0, float(f"{value:.{DIGITS}g}")) for value in values.tolist()]


def _features(folder: Path, facts: ModelFacts, dev: Sequence[Row], train: Rows | None) -> FeatureSketch | None:
    """None without training rows, and for a graph whose features are not known."""
    if train is None or not len(train) or (reader := feature_reader(ModelFolder(folder), facts)) is None:
        return None
    places = np.linspace(0, len(train) - 1, num=min(MOST_TRAINED, len(train)), dtype=np.int64)
    return feature_sketch(reader.features(runtime_rows(train.select(places))), reader.features(dev))


def _unknown_words(counter: WordCounter | None, rows: Sequence[Row]) -> float | None:
    if counter is None:
        return None
    unknown, words = counter.counts(rows)
    return round(unknown / max(words, 1), 6)


def _cascade(dev: Rows, logits: Logits, sure: Floats, teacher: TeacherLabels) -> CascadeOnDev | None:
    """The curve on the rows that have a label and an answer of the teacher; None without any."""
    places = np.flatnonzero(teacher.covers(dev.ids) & dev.is_labelled)
    if not len(places):
        return None
    known = dev.select(places)
    right = [_right(one, known.labels) for one in (logits[places], teacher.for_rows(known.ids))]
    found = curve_of(sure[places], student_right=right[0], teacher_right=right[1])
    return CascadeOnDev(
        rows=found.rows,
        points=tuple(_shortened(_point(found, place)) for place in found.spread(MOST_POINTS)),
        cheapest=_point(found, found.cheapest),
        student_accuracy=float(right[0].mean()),
        teacher_accuracy=float(right[1].mean()),
    )


def _right(logits: Logits, labels: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    same = predicted(logits, multi_label=labels.ndim == 2) == labels
    return np.asarray(same.all(axis=1) if labels.ndim == 2 else same)


def _point(curve: Curve, place: int) -> CascadePoint:
    point = curve.point(place, student_ms=None, teacher_ms=None)
    return CascadePoint(point["threshold"], point["asked_share"], point["accuracy"])


def _shortened(point: CascadePoint) -> CascadePoint:
    """With few digits, as the file is to be small; the threshold that is used keeps all of them."""
    return CascadePoint(*(float(f"{value:.6g}") for value in (point.threshold, point.asked_share, point.accuracy)))


def _examples(dev: Rows, asked: Sequence[Row], logits: Logits, sure: Floats, *, most: int) -> list[Row]:
    """Short rows of every label in turn, those first that the model is right and sure about; different ones, and the
    same ones for the same file. A wrong answer may be a wrong label: such rows come last."""
    if not most:
        return []
    answers = predicted(logits, multi_label=dev.labels.ndim == 2)
    labelled = bool(dev.is_labelled.any())
    right = _right(logits, dev.labels) if labelled else np.ones(len(dev), dtype=np.bool_)
    groups: dict[bytes, list[int]] = {}
    for place in np.flatnonzero([characters(row) <= LONGEST_EXAMPLE for row in asked]).tolist():
        label = dev.labels[place] if labelled else answers[place]
        groups.setdefault(np.asarray(label).tobytes(), []).append(place)
    ranked = [_ranked(group, asked, right, sure) for _, group in sorted(groups.items())]
    rounds = range(max(map(len, ranked), default=0))
    in_turn = [group[turn] for turn in rounds for group in ranked if turn < len(group)]
    return list(dict.fromkeys(asked[place] for place in sorted(in_turn, key=lambda at: not right[at])))[:most]


def _ranked(places: Sequence[int], rows: Sequence[Row], right: npt.NDArray[np.bool_], sure: Floats) -> list[int]:
    """Rows of one label, the best examples first: the surest of the shorter third, then the others by length."""
    by_length = sorted(
        places, key=lambda at: (not right[at], _words(rows[at]) < FEWEST_WORDS, characters(rows[at]), at)
    )
    short = by_length[: math.ceil(len(places) * OF_ALL)]
    fit = sorted(short, key=lambda at: (not right[at], _words(rows[at]) < FEWEST_WORDS, -round(float(sure[at]), 2)))
    return [*fit, *by_length[len(short) :]]


def _words(row: Row) -> int:
    return sum(len(text.split()) for (text,) in columns_of([row]))

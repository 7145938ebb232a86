"""The signals of drift: a number of dev and of a stream, a test that fits to it, and a sentence about both."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.dev_sketch import DevSketch, FeatureSketch
from limbeck.artifacts.model_folder import ModelFacts
from limbeck.artifacts.model_profile import ModelProfile
from limbeck.runtime.drift.features import FeatureReader, distances
from limbeck.runtime.drift.p_values import fisher_p, holm, kolmogorov_p, shares_p
from limbeck.runtime.drift.sketch import marked, text_numbers
from limbeck.runtime.drift.tallies import LabelTally, QuantileTally, TokenTally
from limbeck.runtime.probabilities import THRESHOLD, confidence
from limbeck.runtime.row import Row
from limbeck.runtime.unknown_words import WordCounter

DIGITS_OF = {"length": 1, "features": 2}  # of the signals that are no shares


@dataclass(frozen=True)
class DriftSignal:
    """One comparison. `there` is dev, `here` the rows that are compared with it."""

    name: str
    there: float
    here: float
    effect: float  # from 0, no difference, to 1: what it is depends on the test
    test: str
    p: float
    meaning: str  # of both numbers: "of the words are unknown"
    p_corrected: float = 1.0  # for the number of signals
    is_drift: bool = False
    sentence: str = ""


class Tallies:
    """What is counted of a stream."""

    def __init__(
        self,
        profile: ModelProfile,
        facts: ModelFacts,
        counter: WordCounter | None,
        reader: FeatureReader | None = None,
    ) -> None:
        self._profile, self._facts, self._counter = profile, facts, counter
        self.has_words, self.rows = counter is not None, 0
        kept_features = profile.sketch.features if profile.sketch else None
        self._features = _FeatureTally(kept_features, reader) if kept_features and reader else None
        kept = profile.confidence_quantiles
        mean = (sum(kept) - (kept[0] + kept[-1]) / 2) / (len(kept) - 1)  # of values between them
        self._confidence = QuantileTally(kept, mean=mean, slack=1 / profile.rows)
        self._texts = _TextTallies(profile.sketch, classes=len(facts.labels)) if profile.sketch else None

    def add(self, rows: Sequence[Row], probabilities: npt.NDArray[np.float32]) -> None:
        """Count rows and the model's answers to them."""
        several = self._facts.multi_label
        self._confidence.add(confidence(probabilities, multi_label=several))
        self.rows += len(rows)
        if self._features is not None:
            self._features.add(rows)
        if self._texts is not None:
            predicted = (probabilities >= THRESHOLD).astype(np.int64) if several else probabilities.argmax(axis=1)
            self._texts.add(rows, self._counter, predicted)

    def signals(self) -> list[DriftSignal]:
        """Those that the profile has, not corrected yet."""
        found = [_by_quantiles("confidence", self._confidence, others=self._profile.rows, meaning="mean confidence")]
        if self._texts is not None:
            found += self._texts.signals(self._profile.rows, self._facts)
        if self._features is not None:
            found.append(self._features.signal(self._profile.rows))
        return found


class _FeatureTally:
    """How far the features of a stream are from those of the training rows."""

    def __init__(self, sketch: FeatureSketch, reader: FeatureReader) -> None:
        self._sketch, self._reader = sketch, reader
        self._distances = QuantileTally.of(sketch.distances)

    def add(self, rows: Sequence[Row]) -> None:
        self._distances.add(distances(self._sketch, self._reader.features(rows)))

    def signal(self, others: int) -> DriftSignal:
        meaning = "mean distance of a text's features from those of the training rows"
        return _by_quantiles("features", self._distances, others=others, meaning=meaning)


class _TextTallies:
    """What a profile with a sketch can be compared with."""

    def __init__(self, sketch: DevSketch, *, classes: int) -> None:
        self._sketch = sketch
        self._length = QuantileTally.of(sketch.characters)
        self._unknown = QuantileTally.of(sketch.unknown) if sketch.unknown else None
        self._labels = LabelTally(classes)
        self._tokens = TokenTally([token for token, _ in sketch.tokens])

    def add(self, rows: Sequence[Row], counter: WordCounter | None, predicted: npt.NDArray[np.int64]) -> None:
        self._labels.add(marked(predicted, classes=len(self._labels.counts)))
        numbers = text_numbers(rows, counter)
        self._length.add(numbers.characters)
        self._tokens.add(numbers.tokens)
        if self._unknown is not None and numbers.unknown is not None:
            self._unknown.add(numbers.unknown)

    def signals(self, others: int, facts: ModelFacts) -> list[DriftSignal]:
        """`others` is the number of rows of dev."""
        found = [_of_labels(self._labels, self._sketch, others=others, facts=facts)]
        found.append(_by_quantiles("length", self._length, others=others, meaning="mean number of characters"))
        if self._unknown is not None and self._unknown.rows:
            meaning = "mean share of a text's words that the model does not know"
            found.insert(0, _by_quantiles("unknown words", self._unknown, others=others, meaning=meaning))
        if self._tokens.counts and self._tokens.rows:
            found.append(_of_tokens(self._tokens, self._sketch))
        return found


def _by_quantiles(name: str, tally: QuantileTally, *, others: int, meaning: str) -> DriftSignal:
    return DriftSignal(
        name=name,
        there=tally.there,
        here=tally.here,
        effect=tally.gap,
        test="Kolmogorov-Smirnov",
        p=kolmogorov_p(tally.gap, rows=tally.rows, others=others),
        meaning=meaning,
    )


def _of_labels(tally: LabelTally, sketch: DevSketch, *, others: int, facts: ModelFacts) -> DriftSignal:
    """The answers, held against those to dev: a model that is wrong in the same way as there is no drift."""
    there, here = np.array(sketch.predicted), tally.counts / max(tally.rows, 1)
    gaps, counts = np.abs(here - there), tally.counts.tolist()
    most = int(gaps.argmax())
    several = facts.multi_label
    return DriftSignal(
        name="labels",
        there=float(there[most]),
        here=float(here[most]),
        effect=float(gaps[most] if several else gaps.sum() / 2),
        test="Fisher" if several else "chi-squared",
        p=_least_fisher(counts, tally.rows, sketch.predicted, others)
        if several
        else shares_p(counts, np.rint(there * others).tolist()),
        meaning=f"share of the answer '{facts.labels[most]}'",
    )


def _least_fisher(counts: Sequence[int], rows: int, there: Sequence[float], others: int) -> float:
    """The least p-value of several shares, corrected for their number (Bonferroni)."""
    tests = [fisher_p(count, rows, round(share * others), others) for count, share in zip(counts, there, strict=True)]
    return min(1.0, min(tests) * len(tests))


def _of_tokens(tally: TokenTally, sketch: DevSketch) -> DriftSignal:
    there = [share for _, share in sketch.tokens]
    counts = list(tally.counts.values())
    gaps = [abs(count / tally.rows - share) for count, share in zip(counts, there, strict=True)]
    most = int(np.argmax(gaps))
    p = _least_fisher(counts, tally.rows, there, sketch.token_rows) if sketch.token_rows else 1.0
    here = counts[most] / tally.rows
    meaning = "share of texts with the frequent word that changed most"
    return DriftSignal("frequent words", there[most], here, gaps[most], "Fisher", p, meaning)


def corrected(signals: Sequence[DriftSignal], *, level: float) -> list[DriftSignal]:
    """The same, corrected for their number (Holm), with what follows from that, in words."""
    values = holm([signal.p for signal in signals])
    return [
        replace(one, p_corrected=p, is_drift=p <= level, sentence=_sentence(one, is_drift=p <= level))
        for one, p in zip(signals, values, strict=True)
    ]


def _sentence(signal: DriftSignal, *, is_drift: bool) -> str:
    there, here = (_number(signal.name, value) for value in (signal.there, signal.here))
    follows = "more than luck explains" if is_drift else "no more than luck explains"
    return f"{signal.meaning[0].upper()}{signal.meaning[1:]}: {here} here, {there} on dev. {_size(signal)}, {follows}."


def _number(name: str, value: float) -> str:
    return f"{value:,.{DIGITS_OF[name]}f}" if name in DIGITS_OF else f"{100 * value:.1f} %"


def _size(signal: DriftSignal) -> str:
    """What the effect is."""
    percent = f"{100 * signal.effect:.1f}"
    if signal.test == "Kolmogorov-Smirnov":
        return f"Up to {percent} % of the texts lie elsewhere"
    if signal.test == "chi-squared":
        return f"{percent} % of the answers would have to be others to match"
    return f"The shares are {percent} points apart"

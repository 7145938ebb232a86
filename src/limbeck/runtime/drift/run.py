"""`limbeck drift`: a file of rows against what a model's profile keeps of dev (the base install, little memory)."""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.artifacts.model_profile import ModelProfile
from limbeck.errors import ArtifactError, NeedsClasses, NothingToPredict
from limbeck.runtime.classifier import Classifier, load
from limbeck.runtime.drift.features import FeatureReader, feature_reader
from limbeck.runtime.drift.signals import DriftSignal, Tallies, corrected
from limbeck.runtime.entries import Trained, Wanted, opened_rows
from limbeck.runtime.row import Row
from limbeck.runtime.run_recipe import as_in_training
from limbeck.runtime.unknown_words import word_counter
from limbeck.tables.formats import Column, FileFormat
from limbeck.tables.opening import Source, path_of

ALPHA = 0.01
CHUNK_ROWS = 1024
SEED = 0


class NothingKeptOfDev(ArtifactError):
    """A model's folder keeps nothing of dev."""

    def __init__(self, *, folder: Path) -> None:
        super().__init__(
            f"'{folder}' keeps nothing of the rows that the model was chosen on",
            found="it has no profile.json, which an earlier version of Limbeck did not write",
            advice="Run its recipe again, which makes the file: `limbeck run RECIPE`.",
        )


@dataclass(frozen=True)
class DriftResult:
    """What was found. A signal is an alarm if its corrected p-value is at most `level`."""

    model: str
    file: str
    rows: int  # compared
    rows_of_file: int
    dev_rows: int
    alpha: float  # the chance that any signal of any look is an alarm although nothing has changed, at most
    looks: int  # that are planned, this one among them
    level: float  # alpha / looks
    is_drift: bool
    signals: list[DriftSignal]
    not_compared: dict[str, str]  # signals that the profile or the model does not have, and why

    def as_json(self) -> dict[str, Any]:
        """All of it, for programs."""
        return asdict(self)


def drift(
    model: str | Path,
    source: Source,
    *,
    alpha: float = ALPHA,
    looks: int = 1,
    sample: int | None = None,
    format: FileFormat = "auto",
    text: Column | None = None,
    pair: Column | None = None,
    header: bool | None = None,
    quoting: bool | None = None,
    encoding: str = "utf-8",
    threads: int | None = None,
    watch: Callable[[int], None] = lambda _: None,
) -> DriftResult:
    """Compare rows, read as `predict` reads them, with the dev rows of a model.

    `sample` compares so many rows of the file, drawn at random, which are kept in memory; otherwise all, in constant
    memory. `watch` is called with the number of rows after each part. Raises NothingKeptOfDev for a model without
    profile, and NeedsClasses for one of scores.
    """
    _refuse_numbers(alpha=alpha, looks=looks, sample=sample)
    classifier = load(model, threads=threads)
    if not classifier.facts.task.has_classes:
        raise NeedsClasses(
            what="drift", name=classifier.facts.name, advice="Compare the scores of both texts yourself."
        )
    folder = ModelFolder(classifier.folder)
    profile = folder.profile()
    if profile is None:
        raise NothingKeptOfDev(folder=folder.folder)
    wanted = _wanted(classifier, text=text, pair=pair, trained=as_in_training(folder.folder))
    reader = _reader(folder, classifier.facts, profile)
    tallies = Tallies(profile, classifier.facts, word_counter(folder, classifier.facts), reader)
    with opened_rows(source, wanted, format=format, header=header, quoting=quoting, encoding=encoding) as rows:
        counted = _CountedInput(row for chunk in rows.chunks(CHUNK_ROWS) for row in chunk.rows)
        for part in _parts(counted if sample is None else drawn(counted, sample)):
            tallies.add(part, classifier.predict_proba(part))
            watch(len(part))
    if not tallies.rows:
        raise NothingToPredict(reason=f"'{path_of(source)}' has no rows", advice="Give a file with rows to compare.")
    signals = corrected(tallies.signals(), level=alpha / looks)
    return DriftResult(
        model=str(model),
        file=str(path_of(source)),
        rows=tallies.rows,
        rows_of_file=counted.rows,
        dev_rows=profile.rows,
        alpha=alpha,
        looks=looks,
        level=alpha / looks,
        is_drift=any(signal.is_drift for signal in signals),
        signals=signals,
        not_compared=not_compared(profile, has_words=tallies.has_words, has_features=reader is not None),
    )


def _reader(folder: ModelFolder, facts: ModelFacts, profile: ModelProfile) -> FeatureReader | None:
    """None if the profile keeps nothing to compare features with, or what it keeps is about another network."""
    kept = profile.sketch.features if profile.sketch else None
    reader = feature_reader(folder, facts) if kept is not None else None
    if kept is None or reader is None:
        return None
    width = reader.features([("", "") if facts.pair else ""]).shape[1]
    return reader if width == kept.width else None


def _refuse_numbers(*, alpha: float, looks: int, sample: int | None) -> None:
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, not {alpha}")
    if looks < 1 or (sample is not None and sample < 1):
        raise ValueError("looks and sample must be at least 1")


def _wanted(classifier: Classifier, *, text: Column | None, pair: Column | None, trained: Trained) -> Wanted:
    if pair is not None and not classifier.facts.pair:
        raise NothingToPredict(reason="the model reads one text per row, not two", advice="Leave `--pair` out.")
    return Wanted(text=text, pair=pair, is_pair=classifier.facts.pair, trained=trained)


class _CountedInput:
    """Rows, and how many of them have been read."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._of_file, self.rows = rows, 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._of_file:
            self.rows += 1
            yield row


def _parts(rows: Iterable[Row]) -> Iterator[list[Row]]:
    source = iter(rows)
    while part := list(islice(source, CHUNK_ROWS)):
        yield part


def drawn(rows: Iterable[Row], most: int) -> list[Row]:
    """So many of the rows at random, each as likely as any other (Vitter 1985, doi:10.1145/3147.3165); all, if there
    are not more. The same ones every time."""
    dice, kept = random.Random(SEED), list[Row]()
    for number, row in enumerate(rows):
        if len(kept) < most:
            kept.append(row)
        elif (place := dice.randrange(number + 1)) < most:
            kept[place] = row
    return kept


def not_compared(profile: ModelProfile, *, has_words: bool, has_features: bool) -> dict[str, str]:
    """The signals that are missing, and why."""
    if profile.sketch is None:
        old = "the profile of an earlier version does not keep it; run the recipe again"
        return dict.fromkeys(("unknown words", "labels", "length", "frequent words", "features"), old)
    found = {}
    if not has_features:
        found["features"] = "the profile keeps nothing of this network's features; run the recipe again"
    if not has_words or profile.sketch.unknown is None:
        found["unknown words"] = "to this model no word is unknown"
    if not has_words or not profile.sketch.tokens:
        found["frequent words"] = "this model has no vocabulary of words" if not has_words else "dev is too small"
    return found

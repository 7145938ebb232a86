"""Signals of drift: texts and answers of the last ten minutes, beside those of dev and train."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from limbeck.runtime.row import Row, characters
from limbeck.serving.metrics import Metrics
from limbeck.serving.served_models import ServedModel, ServedModels

WINDOW_SECONDS = 600.0
ROWS_A_SECOND = 20  # whose words are looked up: reading all texts twice would cost more than it tells
LONGEST_SAMPLED = 2_000  # characters
LABELS, WORDS, UNKNOWN = "limbeck_labels", "limbeck_words", "limbeck_unknown_words"
COUNTERS = {LABELS: ("model", "label"), WORDS: ("model",), UNKNOWN: ("model",)}

Totals = Mapping[str, Mapping[tuple[str, ...], float]]


@dataclass
class Drift:
    """Compares what is seen with what the model's profile holds. No text is kept."""

    metrics: Metrics
    models: ServedModels
    _history: deque[tuple[float, Totals]] = field(default_factory=deque)
    _allowed: float = ROWS_A_SECOND
    _sampled_at: float = field(default_factory=time.monotonic)

    def sample(self, model: ServedModel, rows: Sequence[Row]) -> None:
        """Count the unknown words of some of the rows."""
        now = time.monotonic()
        self._allowed = min(ROWS_A_SECOND, self._allowed + (now - self._sampled_at) * ROWS_A_SECOND)
        self._sampled_at = now
        few = [row for row in rows[: int(self._allowed)] if characters(row) <= LONGEST_SAMPLED]
        if not few:
            return
        self._allowed -= len(few)
        if model.words is not None:
            unknown, words = model.words.counts(few)
            self.metrics.read(model.name, words=words, unknown=unknown)

    def totals(self) -> Totals:
        """What was counted so far, by all workers."""
        return self.metrics.totals(COUNTERS)

    def update(self, totals: Totals) -> None:
        """Set the gauges by what was counted in the last minutes; called every few seconds."""
        now = time.monotonic()
        self._history.append((now, totals))
        while len(self._history) > 1 and now - self._history[1][0] >= WINDOW_SECONDS:
            self._history.popleft()
        for model in self.models:
            self._labels(model)
            self._words(model)

    def _recent(self, name: str) -> dict[tuple[str, ...], float]:
        earliest, latest = self._history[0][1][name], self._history[-1][1][name]
        if len(self._history) == 1:
            return dict(latest)
        return {key: value - earliest.get(key, 0.0) for key, value in latest.items()}

    def _labels(self, model: ServedModel) -> None:
        counts = {key[1]: count for key, count in self._recent(LABELS).items() if key[0] == model.name}
        total = sum(counts.get(label, 0.0) for label in model.facts.labels)
        if not total:
            return
        shares = {label: counts.get(label, 0.0) / total for label in model.facts.labels}
        for label, share in shares.items():
            self._set("limbeck_label_share", "Share of a label among recent answers", share, model, label=label)
        if model.profile is None or model.profile.label_shares is None:
            return
        trained = dict(zip(model.facts.labels, model.profile.label_shares, strict=True))
        whole = sum(trained.values()) or 1.0  # more than one with several labels a row
        for label, share in trained.items():
            self._set("limbeck_label_share_train", "Share of a label in train", share / whole, model, label=label)
        shift = sum(abs(shares[label] - share / whole) for label, share in trained.items()) / 2
        self._set("limbeck_label_shift", "Share of answers that would need another label to match train", shift, model)

    def _words(self, model: ServedModel) -> None:
        words = self._recent(WORDS).get((model.name,), 0.0)
        if words:
            share = self._recent(UNKNOWN).get((model.name,), 0.0) / words
            self._set("limbeck_unknown_words_share", "Share of recent words that the model does not know", share, model)
        if model.profile is not None and model.profile.unknown_words is not None:
            known = model.profile.unknown_words
            self._set("limbeck_unknown_words_share_dev", "The same in dev", known, model)

    def _set(self, name: str, meaning: str, value: float, model: ServedModel, **labels: str) -> None:
        self.metrics.gauge(name, meaning, round(value, 6), model=model.name, **labels)

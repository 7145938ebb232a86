"""Signals: the answers against those to dev, not against the labels of train; what each says, and the correction."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.dev_sketch import QUANTILES, DevSketch, QuantileSketch
from limbeck.artifacts.model_folder import ModelFacts
from limbeck.artifacts.model_profile import ModelProfile
from limbeck.runtime.drift.signals import DriftSignal, Tallies, corrected

LENGTHS = QuantileSketch(mean=4.0, quantiles=(4.0,) * QUANTILES)
SKETCH = DevSketch(characters=LENGTHS, unknown=None, predicted=(0.9, 0.1), tokens=(), token_rows=0)
PROFILE = ModelProfile(
    rows=2_000,
    confidence_quantiles=(0.8,) * QUANTILES,
    confidence_histogram=(0.0,) * 8 + (1.0, 0.0),
    label_shares=(0.5, 0.5),  # of train: the model's answers to dev are others
    unknown_words=None,
    cascade=None,
    sketch=SKETCH,
)
TEXTS: list[Any] = ["film"] * 500


def facts(*, several: bool = False) -> ModelFacts:
    sizes: dict[str, Any] = {"max_length": 8, "parameters": 1, "parameters_without_embeddings": 1}
    names: dict[str, Any] = {"name": "stub", "kind": "bilstm", "precision": "fp32", "language": "en"}
    return ModelFacts(**names, labels=["bad", "good"], pair=False, multi_label=several, **sizes)


def signals_of(bad: int, *, several: bool = False, profile: ModelProfile = PROFILE) -> dict[str, DriftSignal]:
    """Of 500 texts, of which so many are answered 'bad'."""
    tallies = Tallies(profile, facts(several=several), None)
    rows = np.array([[0.8, 0.2]] * bad + [[0.2, 0.8]] * (500 - bad), dtype=np.float32)
    tallies.add(TEXTS, rows)
    return {signal.name: signal for signal in corrected(tallies.signals(), level=0.01)}


@pytest.mark.parametrize("several", [False, True])
def test_a_biased_model_that_stays_as_it_was_raises_no_alarm(several: bool) -> None:
    found = signals_of(450, several=several)["labels"]

    assert (found.is_drift, found.p_corrected) == (False, 1.0)
    assert "no more than luck explains" in found.sentence


@pytest.mark.parametrize("several", [False, True])
def test_other_answers_raise_one_even_if_they_are_now_as_train_was(several: bool) -> None:
    found = signals_of(250, several=several)["labels"]

    assert found.is_drift
    assert found.effect == pytest.approx(0.4)
    assert found.sentence.startswith("Share of the answer 'bad': 50.0 % here, 90.0 % on dev.")


def test_a_model_that_knows_no_words_has_three_signals() -> None:
    assert sorted(signals_of(450)) == ["confidence", "labels", "length"]
    assert not any(signal.is_drift for signal in signals_of(450).values())


def test_a_profile_without_sketch_has_one() -> None:
    assert list(signals_of(0, profile=replace(PROFILE, sketch=None))) == ["confidence"]


def test_p_values_are_corrected_for_the_number_of_signals() -> None:
    one = DriftSignal("length", 1.0, 2.0, 0.1, "Kolmogorov-Smirnov", 0.004, "mean number of characters")

    assert corrected([one], level=0.01)[0].is_drift
    several = corrected([one, replace(one, p=0.9), replace(one, p=0.9)], level=0.01)
    assert [signal.p_corrected for signal in several] == pytest.approx([0.012, 1.0, 1.0])
    assert not any(signal.is_drift for signal in several)

"""`limbeck drift`: rows like dev raise no more alarms than the stated rate, others do, and messages say what to do."""

import io
import json
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.manifest import MANIFEST, Key, write_manifest
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.model_profile import save_profile
from limbeck.artifacts.rows import Rows
from limbeck.errors import NothingToPredict
from limbeck.export.profile import Origin, write_profile
from limbeck.runtime.classifier import load
from limbeck.runtime.drift.features import feature_sketch
from limbeck.runtime.drift.run import DriftResult, NothingKeptOfDev, drawn, drift

NEUTRAL = ["film", "story", "scene", "camera", "music", "city", "garden", "the", "a", "slowly"]
DEV_ROWS = 400
NAMES = ["confidence", "unknown words", "labels", "length", "frequent words", "features"]


def texts_of(dice: random.Random, rows: int, *, gorgeous: float = 0.5, unknown: float = 0.05) -> list[str]:
    """Texts of neutral words, one that decides, and some that nobody knows."""
    found = []
    for _ in range(rows):
        words = ["xyzzy" if dice.random() < unknown else dice.choice(NEUTRAL) for _ in range(dice.randint(2, 12))]
        found.append(" ".join([*words, "gorgeous" if dice.random() < gorgeous else "dreadful"]))
    return found


def signed(folder: Path) -> Path:
    (folder / MANIFEST).unlink(missing_ok=True)
    write_manifest(folder, kind="model", key=Key(section={}, inputs={}))
    return folder


@pytest.fixture
def with_dev(model_folder: Path, tmp_path: Path) -> Callable[[Sequence[Any]], Path]:
    """with_dev(texts): a copy of the model with the profile of these rows."""
    return lambda texts: profiled(model_folder, tmp_path / "model", texts)


def profiled(model: Path, folder: Path, texts: Sequence[Any], *, trained: Sequence[Any] | None = None) -> Path:
    if not folder.exists():
        shutil.copytree(model, folder)
    rows, train = rows_of(texts), rows_of(trained or train_texts(texts))
    made = ModelFolder(folder)
    write_profile(folder, made.facts(), rows=rows, logits_of=load(model).logits, origin=Origin(train=train))
    return signed(folder)


def rows_of(texts: Sequence[Any]) -> Rows:
    firsts = [text if isinstance(text, str) else text[0] for text in texts]
    pairs = None if isinstance(texts[0], str) else [text[1] for text in texts]
    return Rows.of(ids=[str(number) for number in range(len(texts))], texts=firsts, pairs=pairs)


def train_texts(like: Sequence[Any]) -> Sequence[Any]:
    return texts_of(random.Random(99), 300) if isinstance(like[0], str) else like


def compared(model: Path, texts: Sequence[str], **options: Any) -> DriftResult:
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    return drift(model, io.BytesIO(lines.encode()), format="jsonl", threads=1, **options)


def test_rows_like_dev_raise_no_more_alarms_than_the_stated_rate(with_dev: Callable[..., Path]) -> None:
    dice, alpha, streams = random.Random(1), 0.05, 60
    alarms = 0
    for number in range(streams):
        model = with_dev(texts_of(dice, DEV_ROWS))
        alarms += compared(model, texts_of(dice, (15, 60, 300)[number % 3]), alpha=alpha).is_drift

    chances = [comb(streams, found) * alpha**found * (1 - alpha) ** (streams - found) for found in range(streams)]
    most = next(found for found in range(streams) if 1 - sum(chances[: found + 1]) < 0.01)
    assert alarms <= most


@pytest.mark.parametrize(
    ("changes", "signal"),
    [({"unknown": 0.3}, "unknown words"), ({"gorgeous": 0.9}, "frequent words"), ({"unknown": 1.0}, "frequent words")],
)
def test_other_rows_raise_an_alarm(with_dev: Callable[..., Path], changes: dict[str, float], signal: str) -> None:
    dice = random.Random(2)
    model = with_dev(texts_of(dice, DEV_ROWS))

    found = compared(model, texts_of(dice, 300, **changes))

    assert found.is_drift
    assert signal in [one.name for one in found.signals if one.is_drift]


def test_longer_rows_are_a_signal_of_their_own(with_dev: Callable[..., Path]) -> None:
    dice = random.Random(3)
    model = with_dev(texts_of(dice, DEV_ROWS))

    found = compared(model, [f"{text} {text} {text}" for text in texts_of(dice, 100)])

    (length,) = [one for one in found.signals if one.name == "length"]
    assert length.is_drift
    assert length.here > 2 * length.there
    assert "Mean number of characters" in length.sentence
    assert "more than luck explains" in length.sentence


def test_everything_is_said_of_a_comparison(with_dev: Callable[..., Path]) -> None:
    texts = texts_of(random.Random(4), DEV_ROWS)
    model = with_dev(texts)

    found = compared(model, texts, alpha=0.02, looks=4)

    assert sorted(one.name for one in found.signals) == sorted(NAMES)
    assert (found.rows, found.rows_of_file, found.dev_rows) == (DEV_ROWS, DEV_ROWS, DEV_ROWS)
    assert (found.alpha, found.looks, found.level, found.not_compared) == (0.02, 4, 0.005, {})
    assert not found.is_drift
    assert all(one.effect < 0.1 and one.p_corrected >= one.p for one in found.signals)
    assert json.loads(json.dumps(found.as_json()))["signals"][0]["name"] in NAMES


def test_more_looks_ask_for_smaller_p_values(with_dev: Callable[..., Path]) -> None:
    dice = random.Random(5)
    model = with_dev(texts_of(dice, DEV_ROWS))
    texts = texts_of(dice, 150, unknown=0.13)

    once = compared(model, texts, alpha=0.05)
    least = min(one.p_corrected for one in once.signals)

    assert once.is_drift
    assert not compared(model, texts, alpha=0.05, looks=int(0.05 / least) + 2).is_drift


def test_a_sample_is_drawn_from_the_whole_file(with_dev: Callable[..., Path]) -> None:
    texts = texts_of(random.Random(6), DEV_ROWS)

    found = compared(with_dev(texts), texts, sample=50)

    assert (found.rows, found.rows_of_file) == (50, DEV_ROWS)
    assert drawn(map(str, range(3)), 5) == ["0", "1", "2"]
    assert len(set(drawn(map(str, range(1000)), 5))) == 5
    assert drawn(map(str, range(1000)), 5) == drawn(map(str, range(1000)), 5)


def test_a_profile_of_an_earlier_version_says_what_cannot_be_compared(with_dev: Callable[..., Path]) -> None:
    texts = texts_of(random.Random(7), DEV_ROWS)
    model = with_dev(texts)
    kept = ModelFolder(model).profile()
    assert kept is not None
    save_profile(model, replace(kept, sketch=None))

    found = compared(signed(model), texts)

    assert [one.name for one in found.signals] == ["confidence"]
    assert set(found.not_compared) == {*NAMES} - {"confidence"}
    assert "earlier version" in found.not_compared["labels"]


def test_features_of_another_network_are_not_compared(with_dev: Callable[..., Path]) -> None:
    texts = texts_of(random.Random(7), DEV_ROWS)
    model = with_dev(texts)
    kept = ModelFolder(model).profile()
    assert kept is not None
    assert kept.sketch is not None
    assert kept.sketch.features is not None
    wider = feature_sketch(np.eye(40), np.eye(40))

    for features in (None, wider):
        save_profile(model, replace(kept, sketch=replace(kept.sketch, features=features)))
        found = compared(signed(model), texts)

        assert "features" not in [one.name for one in found.signals]
        assert "nothing of this network's features" in found.not_compared["features"]


def test_a_model_without_profile_is_refused_with_advice(model_folder: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(model_folder, bare)
    (bare / "profile.json").unlink(missing_ok=True)

    with pytest.raises(NothingKeptOfDev, match=r"no profile\.json") as refused:
        compared(signed(bare), ["a film"])

    assert "limbeck run RECIPE" in str(refused.value)


def test_a_file_without_rows_is_refused(with_dev: Callable[..., Path]) -> None:
    with pytest.raises(NothingToPredict, match="has no rows"):
        compared(with_dev(["a film", "a road"]), [])


def test_numbers_that_make_no_sense_are_refused(with_dev: Callable[..., Path]) -> None:
    model = with_dev(["a film", "a road"])

    for options in ({"alpha": 0.0}, {"looks": 0}, {"sample": 0}):
        with pytest.raises(ValueError, match="must be"):
            compared(model, ["a film"], **options)


def test_empty_texts_and_few_rows_are_no_error(with_dev: Callable[..., Path]) -> None:
    found = compared(with_dev(["a film", "a road", ""]), ["", " ", "film"])

    assert found.rows == 3
    assert not found.is_drift


def test_several_labels_are_compared_one_by_one(multi_label_folder: Path, tmp_path: Path) -> None:
    texts = texts_of(random.Random(8), DEV_ROWS)

    found = compared(profiled(multi_label_folder, tmp_path / "model", texts), texts)

    (labels,) = [one for one in found.signals if one.name == "labels"]
    assert (labels.test, labels.is_drift) == ("Fisher", False)


def test_pairs_and_special_tokens_are_compared_too(framed_pair_folder: Path, tmp_path: Path) -> None:
    dice = random.Random(9)
    texts = texts_of(dice, 2 * DEV_ROWS)
    pairs = list(zip(texts[::2], texts[1::2], strict=True))
    model = profiled(framed_pair_folder, tmp_path / "model", pairs)
    lines = "".join(json.dumps({"text": one, "pair": other}) + "\n" for one, other in pairs)

    found = drift(model, io.BytesIO(lines.encode()), format="jsonl")

    assert not found.is_drift
    assert "length" in [one.name for one in found.signals]

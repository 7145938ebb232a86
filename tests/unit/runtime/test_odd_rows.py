"""Rows as the world sends them: any iterable, any text; each is answered, or refused with its place."""

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.errors import EngineUnusable, NothingToPredict
from limbeck.runtime import batches
from limbeck.runtime.classifier import Classifier, load

ToyRows = tuple[tuple[str, str], ...]
Load = Callable[[Path], Classifier]


@pytest.fixture(params=["onnx", "native"])
def load_with(request: pytest.FixtureRequest) -> Load:
    """load_with(folder): the model, run by one engine and then by the other; skipped where there is only one."""

    def loaded(folder: Path) -> Classifier:
        try:
            return load(folder, threads=2, engine=request.param)
        except EngineUnusable as error:
            pytest.skip(str(error))

    return loaded


# ---- texts ----


def test_every_odd_text_has_an_answer_and_leaves_its_neighbours_alone(
    load_with: Load, model_folder: Path, odd_texts: dict[str, str], half_texts: dict[str, str]
) -> None:
    model = load_with(model_folder)
    (plain,) = model.predict_proba(["a gorgeous film"])

    for name, text in (odd_texts | half_texts).items():
        first, odd, last = model.predict_proba(["a gorgeous film", text, "a gorgeous film"])

        assert np.isfinite(odd).all(), name
        np.testing.assert_allclose([first, last], [plain, plain], atol=1e-5, err_msg=name)


def test_every_odd_text_has_an_answer_on_either_side_of_a_pair(
    load_with: Load, pair_model_folder: Path, odd_texts: dict[str, str], half_texts: dict[str, str]
) -> None:
    model, texts = load_with(pair_model_folder), [*odd_texts.values(), *half_texts.values()]

    probabilities = model.predict_proba([pair for text in texts for pair in ((text, "a film"), ("a film", text))])

    assert np.isfinite(probabilities).all()
    assert len(probabilities) == 2 * len(texts)


def test_two_halves_are_the_character_they_make_and_one_is_an_unknown(load_with: Load, model_folder: Path) -> None:
    model = load_with(model_folder)

    joined, unknown, lone = model.logits(["film \ud83c\udfac", "film 🎬", "film \ud83c"])

    np.testing.assert_allclose(joined, unknown, atol=1e-6)
    np.testing.assert_allclose(lone, unknown, atol=1e-6)  # one unknown token each


@pytest.mark.parametrize("nothing", ["\u200b", "\x00", "\ufeff", "\u202e"])
def test_no_more_than_a_bounded_part_of_a_text_is_read(load_with: Load, model_folder: Path, nothing: str) -> None:
    """Characters that are no token come before the word: were all of them read, it would be found."""
    model = load_with(model_folder)

    near, far, empty = model.logits([nothing * 100 + " gorgeous", nothing * 1_000_000 + " gorgeous", ""])

    np.testing.assert_allclose(far, empty, atol=1e-6)
    assert np.abs(near - empty).max() > 0.01


# ---- iterables ----


@pytest.mark.parametrize(
    "wrapped",
    [
        tuple,
        iter,
        dict.fromkeys,
        lambda texts: dict.fromkeys(texts).keys(),
        lambda texts: dict(enumerate(texts)).values(),
        lambda texts: (text for text in texts),
        lambda texts: map(str, texts),
        np.array,
        lambda texts: np.array(texts, dtype=object),
    ],
    ids=["tuple", "iterator", "dict", "keys", "values", "generator", "map", "array", "object array"],
)
def test_texts_may_come_in_any_iterable_but_a_mapping(
    load_with: Load, model_folder: Path, toy_rows: ToyRows, wrapped: Callable[[list[str]], Any]
) -> None:
    model, texts = load_with(model_folder), [text for text, _ in toy_rows]
    rows = wrapped(texts)

    if isinstance(rows, dict):
        with pytest.raises(NothingToPredict, match="not a single dict"):
            model.predict(rows)
    else:
        assert model.predict(rows) == model.predict(texts)


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda texts, others: zip(texts, others, strict=True),
        lambda texts, others: ([text, other] for text, other in zip(texts, others, strict=True)),
        lambda texts, others: np.array([texts, others]).T,
        lambda texts, others: np.array([texts, others], dtype=object).T,
    ],
    ids=["zip", "generator of lists", "array", "object array"],
)
def test_pairs_may_come_in_any_iterable_too(
    load_with: Load, pair_model_folder: Path, toy_rows: ToyRows, wrapped: Callable[[list[str], list[str]], Any]
) -> None:
    model, texts = load_with(pair_model_folder), [text for text, _ in toy_rows[:50]]

    answers = model.predict(wrapped(texts, texts[::-1]))

    assert answers == model.predict(list(zip(texts, texts[::-1], strict=True)))


def test_what_a_generator_raises_comes_out_unchanged(load_with: Load, model_folder: Path) -> None:
    class OutOfTape(Exception):
        pass

    broken = OutOfTape("no more")

    def texts() -> Iterator[str]:
        yield from ["a film"] * 100
        raise broken

    with pytest.raises(OutOfTape) as raised:
        load_with(model_folder).predict(texts())

    assert raised.value is broken
    assert raised.value.__cause__ is None


def test_a_generator_is_read_chunk_by_chunk(
    load_with: Load, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "CHUNK_CHARACTERS", 1_000_000)
    model, length = load_with(model_folder), 50_000
    texts = (f"{number} film " + "x" * length for number in range(400))

    tracemalloc.start()
    try:
        answers = model.logits(texts)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(answers) == 400
    assert peak < 400 * length / 4


@pytest.mark.parametrize("missing", [None, float("nan"), b"a film", 7, ["a film"]])
def test_a_missing_text_far_into_an_array_is_refused_with_its_place(
    load_with: Load, model_folder: Path, missing: object
) -> None:
    rows = np.full(5_000, "a film", dtype=object)
    rows[4_711] = missing

    with pytest.raises(NothingToPredict, match=r"row 4,711 \(counted from 0\) is .*, not a text"):
        load_with(model_folder).predict(rows)

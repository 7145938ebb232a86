from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.augmentation import word_vectors as room
from limbeck.augmentation.word_vectors import word_vectors
from limbeck.recipe.augmentation import WordVectors

VECTORS = {
    "good": [1.0, 0.1],
    "great": [2.0, 0.1],
    "fine": [1.0, 0.3],
    "bad": [-1.0, 0.1],
    "awful": [-3.0, 0.2],
    "Paris": [0.0, 1.0],
    "nothing": [0.0, 0.0],
}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"{word} {x} {y}\n" for word, (x, y) in VECTORS.items()), encoding="utf-8")
    return str(path)


def section(file: str, *, neighbours: int = 1, fraction: float = 1.0) -> WordVectors:
    return WordVectors(kind="word_vectors", path=file, neighbours=neighbours, fraction=fraction)


def test_a_word_is_replaced_by_one_of_its_neighbours(
    file: str, make_context: Any, make_rows: Any, make_copies: Any
) -> None:
    method = word_vectors(section(file, neighbours=2), make_rows(["good bad"]), make_context())

    copies = make_copies([method], "good bad", copies=200)

    assert {copy.sides[0].split()[0] for copy in copies} == {"great", "fine"}
    assert {copy.sides[0].split()[1] for copy in copies} == {"awful", "Paris"}


def test_words_that_are_not_in_the_file_stay(file: str, make_context: Any, make_rows: Any, make_copies: Any) -> None:
    text = "a good film, nothing"
    method = word_vectors(section(file), make_rows([text]), make_context())

    [copy] = make_copies([method], text)

    assert copy.sides == ["a great film, nothing"]


def test_a_word_is_known_by_its_lower_case_and_is_not_its_own_neighbour(
    file: str, make_context: Any, make_rows: Any, make_copies: Any
) -> None:
    text = "Good GOOD good"
    method = word_vectors(section(file, neighbours=4), make_rows([text]), make_context())

    copies = make_copies([method], text, copies=300)

    for place in range(3):
        assert {copy.sides[0].split()[place] for copy in copies} == {"great", "fine", "bad", "Paris"}


def test_a_fraction_of_the_known_words_is_replaced(
    file: str, make_context: Any, make_rows: Any, make_copies: Any, within_four_sigma: Any
) -> None:
    text = " ".join(["good"] * 10_000)
    method = word_vectors(section(file, fraction=0.1), make_rows([text]), make_context())

    [copy] = make_copies([method], text)

    assert within_four_sigma(copy.sides[0].count("great"), trials=10_000, chance=0.1)


def test_neighbours_are_the_nearest_in_all_blocks(
    tmp_path: Path, make_context: Any, make_rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "WORDS_AT_ONCE", 7)
    rng = np.random.default_rng(0)
    words, vectors = [f"w{number}" for number in range(60)], rng.standard_normal((60, 5)).astype(np.float32)
    path = tmp_path / "random.txt"
    lines = [f"{word} {' '.join(map(repr, map(float, row)))}\n" for word, row in zip(words, vectors, strict=True)]
    path.write_text("".join(lines), encoding="utf-8")

    method = word_vectors(section(str(path), neighbours=3), make_rows([" ".join(words[:30])]), make_context())

    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for number, word in enumerate(words[:30]):
        similarity = unit @ unit[number]
        similarity[number] = -2
        found = [method.pool[place] for place in method.neighbours[method.row_of[word]]]
        assert found == [words[place] for place in np.argsort(-similarity)[:3]]


def test_only_frequent_words_of_the_file_and_words_of_train_are_neighbours(
    file: str, make_context: Any, make_rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "FREQUENT_WORDS", 2)

    method = word_vectors(section(file, neighbours=15), make_rows(["bad awful bad"]), make_context())

    assert sorted(method.pool) == ["awful", "bad", "good", "great"]
    assert sorted(method.row_of) == ["awful", "bad"]
    assert method.neighbours.shape == (2, 3)


def test_a_file_without_any_of_the_words_changes_nothing(
    file: str, make_context: Any, make_rows: Any, make_copies: Any
) -> None:
    method = word_vectors(section(file), make_rows(["unknown words"]), make_context())

    [copy] = make_copies([method], "unknown words")

    assert copy.sides == ["unknown words"]


def test_a_general_student_gives_neighbours_that_the_rows_lack(
    make_context: Any, make_rows: Any, make_copies: Any
) -> None:
    text = "Angry weather , 7"
    method = word_vectors(section("general:english", neighbours=5), make_rows([text]), make_context())

    copies = make_copies([method], text, copies=100)

    words = [copy.sides[0].split() for copy in copies]
    assert {"anger", "enraged"} & {first for first, *_ in words}
    assert {"climate", "rain", "meteorological"} & {second for _, second, *_ in words}
    assert {tuple(signs) for _, _, *signs in words} == {(",", "7")}  # they have vectors, and are not words
    assert "angry" not in {first.lower() for first, *_ in words}

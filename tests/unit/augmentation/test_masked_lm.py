"""TinyBERT's augmentation: words of the language model, of word vectors, and whole words in Chinese."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.transfer_text import TransferText
from limbeck.augmentation import augment, portions, processes
from limbeck.augmentation.language_model import LanguageModelUnfit
from limbeck.augmentation.masked_lm import FillInWords, masked_lm
from limbeck.augmentation.words import cut_words
from limbeck.progress import SilentReporter
from limbeck.recipe.augmentation import Augmentation, MaskedLm
from limbeck.text.jieba_words import jieba_dictionary

WORDS = ["film", "story", "actor", "scene", "camera", "evening", "garden", "letter", "good", "bad", "long", "short"]
PIECES = [*WORDS, "the", "a", "is", ",", ".", "##s", "##ful", "won", "##der", "well", "-", "made"]


@pytest.fixture
def prepare(make_context: Any, make_rows: Any) -> Any:
    """prepare(folder, *texts, language="en", fraction=1.0, **section): the method, ready for these texts."""

    def prepare(folder: Path, *texts: str, language: str = "en", fraction: float = 1.0, **options: Any) -> FillInWords:
        section = MaskedLm(kind="masked_lm", checkpoint=str(folder), fraction=fraction, **options)
        return masked_lm(section, make_rows(list(texts)), make_context(language=language))

    return prepare


def test_words_are_replaced_by_the_models_predictions(prepare: Any, make_language_model: Any, make_copies: Any) -> None:
    text = "The film is a wonderful story, 1984 GOOD."
    method = prepare(make_language_model(PIECES, liked=["actor", "film", "scene", "evening"]), text, candidates=2)

    copies = make_copies([method], text, copies=300)

    seen = [cut_words(copy.sides[0], language="en").words for copy in copies]
    assert {words[1] for words in seen} == {"actor", "scene"}, "the word itself is none of the two"
    assert {words[5] for words in seen} == {"actor", "film"}
    assert {words[8] for words in seen} == {"ACTOR", "FILM"}
    stayed = {(*words[:1], *words[2:5], *words[6:8], *words[9:]) for words in seen}
    assert stayed == {("The", "is", "a", "wonderful", ",", "1984", ".")}


def test_candidates_are_equally_likely(
    prepare: Any, make_language_model: Any, make_copies: Any, within_four_sigma: Any
) -> None:
    text = " ".join(["film"] * 1_000)
    method = prepare(make_language_model(PIECES, liked=["actor", "scene", "garden"]), text, candidates=3)

    copies = make_copies([method], text, copies=10)

    words = [word for copy in copies for word in copy.sides[0].split()]
    assert all(
        within_four_sigma(words.count(word), trials=10_000, chance=1 / 3) for word in ("actor", "scene", "garden")
    )


def test_a_fraction_of_the_words_is_replaced(
    prepare: Any, make_language_model: Any, make_copies: Any, within_four_sigma: Any
) -> None:
    text = " ".join(["film"] * 10_000)
    method = prepare(make_language_model(PIECES), text, fraction=0.4)

    [copy] = make_copies([method], text)

    changed = sum(word != "film" for word in copy.sides[0].split())
    assert within_four_sigma(changed, trials=10_000, chance=0.4)
    assert copy.changes == [changed]


def test_words_of_several_pieces_become_neighbours_among_word_vectors(
    prepare: Any, make_language_model: Any, make_copies: Any, tmp_path: Path
) -> None:
    vectors = {
        "wonderful": "1 0",
        "splendid": "1 0.1",
        "superb": "1 0.2",
        "film": "0 1",
        "the": "0.1 1",
        "not": "0 1.1",
    }
    (tmp_path / "glove.txt").write_text("".join(f"{word} {numbers}\n" for word, numbers in vectors.items()))
    text = "The Wonderful wonderful film is not well-made"
    folder = make_language_model(PIECES, liked=["actor"])
    method = prepare(folder, text, candidates=2, word_vectors=str(tmp_path / "glove.txt"))

    copies = make_copies([method], text, copies=200)

    seen = [copy.sides[0].split() for copy in copies]
    assert {words[1] for words in seen} == {"Splendid", "Superb"}
    assert {words[2] for words in seen} == {"splendid", "superb"}
    assert "film" not in {words[3] for words in seen}, "a word of one piece is the model's"
    assert {(words[0], *words[4:]) for words in seen} == {("The", "is", "not", "well-made")}


def test_an_unknown_text_stays(prepare: Any, make_language_model: Any, make_copies: Any) -> None:
    method = prepare(make_language_model(PIECES), "a good film")

    [copy] = make_copies([method], "a good story")

    assert copy.sides == ["a good story"]


def test_chinese_words_become_the_most_probable_whole_words(
    prepare: Any, make_language_model: Any, make_copies: Any
) -> None:
    liked = "早晚旅餐饭馆"
    method = prepare(make_language_model(["a", *"酒店", *liked], liked=[*liked]), "酒店", language="zh", candidates=6)

    copies = make_copies([method], "酒店", copies=300, language="zh")

    strength = {character: len(liked) - place for place, character in enumerate(liked)}
    pairs = {one + two: strength[one] + strength[two] for one in liked for two in liked}
    words = [pair for pair in pairs if jieba_dictionary().get(pair, 0) > 0]
    ranked = sorted(words, key=lambda word: -pairs[word])
    assert pairs[ranked[5]] > pairs[ranked[6]], "no two words are equally probable at the end"
    assert {copy.sides[0] for copy in copies} == set(ranked[:6])


def test_no_character_is_replaced_out_of_a_chinese_word(
    prepare: Any, make_language_model: Any, make_copies: Any
) -> None:
    characters = "我喜欢酒店早餐的很好差旅馆晚饭讨厌菜色味"
    text = "我喜欢酒店的早餐，很好"
    method = prepare(make_language_model(["，", *characters]), text, language="zh", candidates=len(characters))

    copies = make_copies([method], text, copies=300, language="zh")

    assert cut_words(text, language="zh").words == ["我", "喜欢", "酒店", "的", "早餐", "，", "很", "好"]
    assert {len(copy.sides[0]) for copy in copies} == {len(text)}
    assert {(copy.sides[0][5], copy.sides[0][8]) for copy in copies} == {("的", "，")}
    for start, end in ((0, 1), (1, 3), (3, 5), (6, 8), (9, 10), (10, 11)):
        words = {copy.sides[0][start:end] for copy in copies}
        assert len(words) > 5
        assert text[start:end] not in words
        assert all(jieba_dictionary().get(word, 0) > 0 for word in words)


def test_words_of_the_rows_count_as_chinese_words(
    prepare: Any, make_language_model: Any, make_copies: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limbeck.augmentation.masked_lm.jieba_dictionary", dict)
    folder = make_language_model(["a", *"酒店早餐晚饭"])

    method = prepare(folder, "早餐", "酒店", language="zh")

    assert {copy.sides[0] for copy in make_copies([method], "早餐", copies=50, language="zh")} == {"酒店"}


def test_a_full_store_gives_the_same_copies(
    prepare: Any, make_language_model: Any, make_copies: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "the long film is a good story"
    folder = make_language_model(PIECES)
    first = make_copies([prepare(folder, text)], text, copies=20)

    def refuse(*_: object, **__: object) -> Any:
        raise AssertionError("asked again")

    monkeypatch.setattr("limbeck.augmentation.language_model.load_language_model", refuse)
    again = make_copies([prepare(folder, text)], text, copies=20)

    assert again == first


def test_a_checkpoint_without_a_head_is_refused(prepare: Any, tiny_teacher_folder: Path) -> None:
    with pytest.raises(LanguageModelUnfit, match="no trained head"):
        prepare(tiny_teacher_folder, "a good film")


def run(corpus: Any, folder: Path, out: Path, *, key: Key, count: int) -> TransferText:
    methods = [{"kind": "masked_lm", "checkpoint": str(folder)}, {"kind": "ngram"}]
    return augment(
        Augmentation.model_validate({"methods": methods, "copies": 4, "processes": count}),
        corpus=corpus,
        store=out.with_name(f"{out.name}-store"),
        out=out,
        key=key,
        reporter=SilentReporter(),
    )


def test_copies_do_not_depend_on_the_number_of_processes(
    make_texts_corpus: Any, make_language_model: Any, key: Key, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "SECONDS_WORTH_PROCESSES", 0.0)
    monkeypatch.setattr(portions, "ROWS_AT_ONCE", 16)
    texts = [" ".join(WORDS[(at * number + at) % 12] for at in range(3 + number % 9)) for number in range(60)]
    corpus, folder = make_texts_corpus(texts), make_language_model(PIECES)

    alone = run(corpus, folder, tmp_path / "alone", key=key, count=1)
    together = run(corpus, folder, tmp_path / "together", key=key, count=2)

    assert together.rows.texts == alone.rows.texts
    assert len(alone.rows) > 100
    [numbers, _] = alone.quality["methods"]
    assert numbers["kind"] == "masked_lm"
    assert 0.3 < numbers["words_changed_share"] < 0.5
    assert numbers["sources_used"] > 50


def test_processes_that_make_copies_load_no_torch(prepare: Any, make_language_model: Any, tmp_path: Path) -> None:
    """Each of them unpickles the method and loads what that needs."""
    method = prepare(make_language_model(PIECES), "a good film")
    (tmp_path / "method").write_bytes(pickle.dumps(method))
    code = (
        "import pickle, sys; from limbeck.augmentation.portions import copy_portion;"
        f"pickle.load(open({str(tmp_path / 'method')!r}, 'rb')); print('torch' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.strip() == "False"

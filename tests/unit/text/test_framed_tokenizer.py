"""Texts between special tokens: the ids that transformers' own tokenizers give, without transformers."""

import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from limbeck.text.framed_tokenizer import FramedTokenizer, kept_lengths
from limbeck.text.framing import framed_teacher_tokenizer

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = ["the", "a", "film", "story", "gorgeous", "dreadful", "camera", "evening"]
TEXTS = ["the film", "", "a gorgeous story, a dreadful evening", "the xyz camera " * 9, "电影 film", "Gorgeous\n film"]
PAIRS = ["a story " * 5, "film", "", "the evening", "the camera the camera", "a " * 40]


def word_pieces(*special: str) -> dict[str, int]:
    pieces = [*special, *WORDS, *LETTERS, *(f"##{letter}" for letter in LETTERS), ","]
    return {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}


def byte_pairs(*special: str) -> dict[str, Any]:
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=list(special), initial_alphabet=alphabet, show_progress=False
    )
    learner.train_from_iterator([f" {word}" for word in WORDS for _ in range(3)], trainer)
    learned = json.loads(learner.to_str())["model"]
    return {"vocab": learned["vocab"], "merges": [tuple(merge) for merge in learned["merges"]]}


def unigrams(*special: str) -> list[tuple[str, float]]:
    pieces = dict.fromkeys([f"▁{word}" for word in WORDS], -2.0) | {"▁": -5.0} | dict.fromkeys(LETTERS, -8.0)
    return [*((name, 0.0) for name in special), *pieces.items()]


TEACHERS: dict[str, Callable[[], Any]] = {
    "bert": lambda: transformers.BertTokenizer(vocab=word_pieces("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")),
    "roberta": lambda: transformers.RobertaTokenizer(**byte_pairs("<s>", "<pad>", "</s>", "<unk>", "<mask>")),
    "mpnet": lambda: transformers.MPNetTokenizer(vocab=word_pieces("<s>", "<pad>", "</s>", "[UNK]", "<mask>")),
    "albert": lambda: transformers.AlbertTokenizer(vocab=unigrams("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")),
}


@pytest.fixture(scope="module", params=TEACHERS)
def teacher(request: pytest.FixtureRequest) -> Any:
    """The tokenizer of a teacher."""
    return TEACHERS[request.param]()


def framed(teacher: Any, **options: Any) -> FramedTokenizer:
    state = teacher.backend_tokenizer.to_str()
    known = {"pad_id": teacher.pad_token_id, "mask_token": teacher.mask_token, "has_types": True}
    return framed_teacher_tokenizer(state, **{**known, **options})


@pytest.mark.parametrize("max_length", [4, 7, 12, 13, 200])
def test_texts_are_read_as_transformers_reads_them(teacher: Any, max_length: int) -> None:
    theirs = teacher(TEXTS, truncation=True, max_length=max_length)["input_ids"]

    assert framed(teacher).encode(TEXTS, max_length=max_length) == theirs


@pytest.mark.parametrize("max_length", [4, 7, 12, 13, 40, 200])
def test_pairs_are_read_and_cut_as_transformers_does(teacher: Any, max_length: int) -> None:
    rows = list(product(TEXTS, PAIRS))
    texts, pairs = [text for text, _ in rows], [pair for _, pair in rows]
    theirs = teacher(texts, pairs, truncation=True, max_length=max_length, return_token_type_ids=True)

    ids, types = framed(teacher).encode_pairs(texts, pairs, max_length=max_length)

    assert ids == theirs["input_ids"]
    assert types == theirs["token_type_ids"]


def test_words_that_were_read_before_are_read_as_transformers_reads_them(
    teacher: Any, strange_texts: Callable[..., list[str]]
) -> None:
    tokenizer = framed(teacher)
    renamed = [text.replace("<mask>", "") for text in strange_texts(300, seed=6) if teacher.pad_token not in text]
    theirs = [text.replace("[MASK]", teacher.mask_token) for text in renamed]
    pairs, their_pairs = renamed[::-1], theirs[::-1]

    for max_length in (12, 200, 33):
        ids, types = tokenizer.encode_pairs(renamed, pairs, max_length=max_length)

        expected = teacher(theirs, their_pairs, truncation=True, max_length=max_length, return_token_type_ids=True)
        assert (ids, types) == (expected["input_ids"], expected["token_type_ids"])
        alone = teacher(theirs, truncation=True, max_length=max_length)["input_ids"]
        assert tokenizer.encode(renamed, max_length=max_length) == alone


def test_the_longer_text_is_cut_first_as_the_library_does() -> None:
    plain = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    dice = random.Random(5)
    for _ in range(300):
        first, second, room = (dice.randint(0, 9) for _ in range(3))
        plain.enable_truncation(max_length=room, strategy="longest_first")
        ids = plain.encode("a " * first, "b " * second).ids

        assert kept_lengths(first, second, most=room) == (ids.count(0), ids.count(1))


def test_second_texts_have_a_type_if_the_model_distinguishes_types() -> None:
    bert, roberta = TEACHERS["bert"](), TEACHERS["roberta"]()

    assert framed(bert).has_types
    assert not framed(roberta).has_types
    assert framed(bert).encode_pairs(["film"], ["a story"], max_length=9)[1] == [[0, 0, 0, 1, 1, 1]]


def test_types_can_be_omitted() -> None:
    tokenizer = framed(TEACHERS["bert"](), has_types=False)

    ids, types = tokenizer.encode_pairs(["film"], ["story"], max_length=9)

    assert not tokenizer.has_types
    assert types == [[0] * 5]
    assert [tokenizer.vocabulary[number] for number in ids[0]] == ["[CLS]", "film", "[SEP]", "story", "[SEP]"]


def test_a_masked_word_is_the_mask_of_the_vocabulary(teacher: Any) -> None:
    text = "the [MASK] story"
    theirs = teacher(text.replace("[MASK]", teacher.mask_token))["input_ids"]

    (row,) = framed(teacher).encode([text], max_length=30)

    assert row == theirs
    assert teacher.mask_token_id in row


def test_without_a_mask_of_its_own_a_masked_word_is_unknown() -> None:
    vocabulary = word_pieces("[PAD]", "[UNK]", "[CLS]", "[SEP]")
    plain = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    plain.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    plain.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    plain.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))

    tokenizer = framed_teacher_tokenizer(plain.to_str(), pad_id=0, mask_token=None, has_types=True)

    assert tokenizer.encode(["film [MASK]"], max_length=9) == [[2, vocabulary["film"], 1, 3]]


def test_no_text_produces_padding(teacher: Any) -> None:
    tokenizer = framed(teacher)

    (row,) = tokenizer.encode([f"film {teacher.pad_token} story"], max_length=30)

    assert tokenizer.pad_id == teacher.pad_token_id
    assert tokenizer.pad_id not in row
    assert teacher.unk_token_id in row


@pytest.mark.parametrize("text", ["\ud800 film", "\x00 film", "🎬🏽 film", "x" * 1_000_000, " " * 1_000_000 + "film"])
def test_strange_texts_are_read(teacher: Any, text: str) -> None:
    tokenizer = framed(teacher)

    (row,), ((pair,), _) = (
        tokenizer.encode([text], max_length=16),
        tokenizer.encode_pairs([text], [text], max_length=16),
    )

    assert 3 <= len(row) <= 16
    assert 5 <= len(pair) <= 16


def test_the_form_is_applied_before_the_teachers_own_normaliser() -> None:
    bert = TEACHERS["bert"]()

    tokenizer = framed(bert, form=("narrow", "lowercase"))

    assert tokenizer.encode(["ＦＩＬＭ"], max_length=9) == [bert("film")["input_ids"]]


def test_saved_and_loaded_it_encodes_the_same(teacher: Any, tmp_path: Path) -> None:
    tokenizer = framed(teacher)

    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = FramedTokenizer.load(tmp_path / "tokenizer.json")

    pairs = PAIRS[: len(TEXTS)]
    assert loaded.encode(TEXTS, max_length=12) == tokenizer.encode(TEXTS, max_length=12)
    assert loaded.encode_pairs(TEXTS, pairs, max_length=12) == tokenizer.encode_pairs(TEXTS, pairs, max_length=12)
    assert (loaded.pad_id, loaded.has_types) == (tokenizer.pad_id, tokenizer.has_types)
    assert loaded.to_json() == tokenizer.to_json()


def test_transformers_reads_the_saved_file_the_same_way(teacher: Any, tmp_path: Path) -> None:
    tokenizer = framed(teacher)
    tokenizer.save(tmp_path / "tokenizer.json")

    plain = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))

    assert plain(TEXTS, truncation=True, max_length=12)["input_ids"] == tokenizer.encode(TEXTS, max_length=12)


def test_every_id_has_its_token(teacher: Any) -> None:
    tokenizer = framed(teacher)

    ids = teacher.get_vocab()
    assert len(tokenizer) == len(tokenizer.vocabulary) == max(ids.values()) + 1
    assert all(tokenizer.vocabulary[ids[token]] == token for token in ids if token != teacher.mask_token)
    assert tokenizer.vocabulary[teacher.mask_token_id] == "[MASK]"


def test_threads_share_one_with_different_lengths(teacher: Any) -> None:
    tokenizer = framed(teacher)
    lengths = [4, 7, 12, 30] * 8

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda length: tokenizer.encode(TEXTS * 20, max_length=length), lengths))

    assert found == [tokenizer.encode(TEXTS * 20, max_length=length) for length in lengths]


def test_many_texts_keep_their_order() -> None:
    tokenizer = framed(TEACHERS["bert"]())
    texts = ["film " * (1 + number % 3) for number in range(20_000)]

    rows, _ = tokenizer.encode_pairs(texts, texts[::-1], max_length=20)

    expected = [3 + 1 + number % 3 + 1 + (19_999 - number) % 3 for number in range(20_000)]
    assert [len(row) for row in rows] == expected
    assert [len(row) for row in tokenizer.encode(texts, max_length=20)] == [3 + number % 3 for number in range(20_000)]


def test_a_file_without_padding_or_special_tokens_is_refused() -> None:
    plain = Tokenizer(models.WordLevel({"a": 0, "[PAD]": 1}, unk_token="a"))

    with pytest.raises(ValueError, match="pads"):
        FramedTokenizer.from_json(plain.to_str())
    plain.enable_padding(pad_id=1, pad_token="[PAD]")
    with pytest.raises(ValueError, match="around a text"):
        FramedTokenizer.from_json(plain.to_str())

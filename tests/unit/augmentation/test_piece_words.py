"""Which pieces are whole words, and which words are single pieces, for each kind of vocabulary."""

import json
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import AlbertTokenizer, BertTokenizer, RobertaTokenizer

from limbeck.augmentation.piece_words import PieceWords, blanks_in, vocabulary_of
from limbeck.augmentation.words import cut_words

WORDS = ["film", "Paris", "story", "café"]


def bert() -> Any:
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *WORDS,
        "cafe",
        "paris",
        "##s",
        "##ing",
        "a",
        ",",
        "酒",
        "店",
    ]
    return BertTokenizer(vocab={piece: number for number, piece in enumerate(pieces)}, do_lower_case=False)


def roberta() -> Any:
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=special,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    learner.train_from_iterator([f" {word}" for word in WORDS for _ in range(3)], trainer)
    merges = json.loads(learner.to_str())["model"]["merges"]
    return RobertaTokenizer(vocab=learner.get_vocab(), merges=[tuple(merge) for merge in merges])


def albert() -> Any:
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    letters = [(letter, -8.0) for letter in "abcdefghijklmnopqrstuvwxyzP"]
    words = [(f"▁{word}", -2.0) for word in WORDS]
    return AlbertTokenizer(vocab=[*((name, 0.0) for name in special), *words, ("▁", -5.0), *letters])


def vocabulary(tokenizer: Any) -> PieceWords:
    return vocabulary_of(tokenizer, size=len(tokenizer))


def asked(tokenizer: Any, text: str, *, language: str = "en") -> list[str]:
    """The words of the text that the model can be asked about."""
    row = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    cut = cut_words(text, language=language)
    unknown = tokenizer.unk_token_id
    blanks = blanks_in(text, cut, row["input_ids"], row["offset_mapping"], language=language, unknown=unknown)
    assert all(
        blank.end - blank.first == (1 if blank.kind == "word" else len(cut.words[blank.word])) for blank in blanks
    )
    return [cut.words[blank.word] for blank in blanks]


@pytest.mark.parametrize(("family", "mark"), [(bert, "##"), (roberta, "Ġ"), (albert, "▁")])
def test_pieces_that_are_whole_words_are_known_by_their_kind(family: Any, mark: str) -> None:
    found = vocabulary(family())

    assert found.mark == mark
    assert {word for word in found.words if word} >= {"film", "paris", "story", "café"}


def test_parts_of_words_letters_marks_and_special_pieces_are_not_words() -> None:
    tokenizer = bert()

    found = vocabulary(tokenizer)

    names = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    assert [name for name, word in zip(names, found.words, strict=True) if word] == [*WORDS, "cafe", "paris"]
    assert [character for character in found.characters if character] == ["酒", "店"]


def test_pieces_of_byte_level_vocabularies_without_a_space_are_not_words() -> None:
    tokenizer = roberta()

    words = vocabulary(tokenizer).words

    assert all(words[number] is None for piece, number in tokenizer.get_vocab().items() if not piece.startswith("Ġ"))


def test_pieces_beyond_the_models_size_are_dropped() -> None:
    tokenizer = bert()

    assert vocabulary_of(tokenizer, size=6).words == [None] * 5 + ["film"]


@pytest.mark.parametrize("family", [bert, roberta, albert])
def test_words_of_one_piece_are_asked_about(family: Any) -> None:
    assert asked(family(), " the film  films story, filming film") == ["film", "story", "film"]


def test_words_next_to_marks_are_asked_about() -> None:
    assert asked(bert(), "(film)story,Paris") == ["film", "story", "Paris"]


def test_unknown_words_are_several_pieces() -> None:
    assert asked(bert(), "film 電影 unknown story") == ["film", "story"]


def test_words_that_lose_their_accents_are_still_one_piece() -> None:
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cafe", "in", "paris"]
    tokenizer = BertTokenizer(vocab={piece: number for number, piece in enumerate(pieces)}, do_lower_case=True)

    assert asked(tokenizer, "Café in PARIS") == ["Café", "PARIS"]


def test_chinese_words_are_asked_about_if_each_character_is_a_piece() -> None:
    assert asked(bert(), "酒店的film", language="zh") == ["酒店", "film"]
    assert asked(albert(), "酒店 film", language="zh") == ["film"]


def test_function_words_are_not_asked_about() -> None:
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "film"]
    tokenizer = BertTokenizer(vocab={piece: number for number, piece in enumerate(pieces)}, do_lower_case=True)

    assert asked(tokenizer, "The film") == ["film"]

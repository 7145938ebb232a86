"""A model is asked about many texts at once, and predicts the same as for each word alone."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    AlbertConfig,
    AlbertForMaskedLM,
    AlbertTokenizer,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaTokenizer,
)

from limbeck.augmentation.language_model import LanguageModel, load_language_model
from limbeck.augmentation.masked_predictions import TextFrame, answers_about
from limbeck.augmentation.piece_words import Blank

WORDS = [f"{first}{second}" for first in ("ba", "co", "di", "fe", "gu") for second in ("lom", "ras", "tin", "vex")]
PIECES = [*WORDS, "##s", "##ly", "the", "a", ".", ","]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
TEXTS = [
    "balom the coras, ditin.",
    "",
    "gulom",
    "the feras of a gutin the balom coras dilom, fevex and guvex batin the cotin of a diras",
    "unknown words . 1984",
]


def opened(folder: Path, *, max_length: int = 32) -> LanguageModel:
    """In full precision: otherwise the order of nearly equally probable words depends on the size of a batch."""
    return replace(load_language_model(folder, name="toy", max_length=max_length), arithmetic="fp32")


def roberta(folder: Path) -> LanguageModel:
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    learner.train_from_iterator([f" {word}" for word in WORDS for _ in range(3)], trainer)
    merges = json.loads(learner.to_str())["model"]["merges"]
    tokenizer = RobertaTokenizer(vocab=learner.get_vocab(), merges=[tuple(merge) for merge in merges])
    sizes = {**SIZES, "vocab_size": len(tokenizer), "pad_token_id": 1, "type_vocab_size": 1}
    RobertaForMaskedLM(RobertaConfig(**sizes, max_position_embeddings=66)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return opened(folder)


def albert(folder: Path) -> LanguageModel:
    special = [(name, 0.0) for name in ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")]
    letters = [(letter, -8.0) for letter in "abcdefghijklmnopqrstuvwxyz"]
    tokenizer = AlbertTokenizer(vocab=[*special, *((f"▁{word}", -2.0) for word in WORDS), ("▁", -5.0), *letters])
    config = AlbertConfig(**SIZES, vocab_size=len(tokenizer), embedding_size=8, max_position_embeddings=64)
    AlbertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return opened(folder)


def found(model: LanguageModel, text: str, *, most: int = 15, language: str = "en") -> dict[int, list[str]]:
    """The model's predictions, by position of the word."""
    [answer] = answers_about([text], model, language=language, most=most)
    return {word: words.split() for word, words in zip(answer.words, answer.found, strict=True)}


def test_the_most_probable_words_come_first(make_language_model: Any) -> None:
    model = opened(make_language_model(PIECES, liked=["guvex", "balom", "coras", "ditin"]))

    assert found(model, "the feras .", most=3) == {1: ["guvex", "balom", "coras"]}


def test_the_word_itself_is_dropped(make_language_model: Any) -> None:
    model = opened(make_language_model(PIECES, liked=["guvex", "balom", "coras"]))

    assert found(model, "the balom", most=2) == {1: ["guvex", "coras"]}


def test_only_whole_words_are_proposed(make_language_model: Any) -> None:
    liked = ["[MASK]", "##ly", ".", "[SEP]", "a", "[UNK]", ",", "guvex"]
    model = opened(make_language_model(PIECES, liked=liked))

    assert found(model, "feras", most=1) == {0: ["guvex"]}


def test_words_that_differ_in_case_are_one(make_language_model: Any) -> None:
    pieces = ["Film", "film", "FILM", "Story", "story", "actor"]
    model = opened(make_language_model(pieces, liked=["Film", "film", "story", "FILM", "Story"], lowercase=False))

    assert found(model, "actor", most=2) == {0: ["film", "story"]}


def test_a_vocabulary_of_fewer_words_gives_fewer(make_language_model: Any) -> None:
    model = opened(make_language_model(["film", "story", "actor", "."]))

    assert {len(words) for words in found(model, "film story .", most=15).values()} == {2}


def test_for_chinese_words_characters_are_predicted_at_each_position(make_language_model: Any) -> None:
    model = opened(make_language_model(["film", *"酒店早餐的"], liked=[*"餐早店酒", "film"]))

    [answer] = answers_about(["酒店的 film"], model, language="zh", most=3)

    assert answer.words == [0, 0, 2]
    assert answer.found[:2] == ["餐 早 店", "餐 早 店"]
    assert answer.logits[0] == answer.logits[1] == [5.0, 4.0, 3.0]
    assert answer.found[2] == ""


def test_predictions_equal_those_of_one_call_per_word(make_language_model: Any) -> None:
    """The reference makes one call per word, with logits for every token."""
    model = opened(make_language_model(PIECES))
    tokenizer, text = model.tokenizer, TEXTS[0]
    ids = tokenizer(text)["input_ids"]

    answers = found(model, text, most=5)

    for position, piece in ((0, "balom"), (2, "coras"), (4, "ditin")):
        place = ids.index(tokenizer.convert_tokens_to_ids(piece))
        row = torch.tensor([[*ids[:place], tokenizer.mask_token_id, *ids[place + 1 :]]])
        with torch.inference_mode():
            logits = model.model(input_ids=row).logits[0, place].numpy()
        names = tokenizer.convert_ids_to_tokens(np.argsort(-logits))
        assert answers[position] == [name for name in names if name in (*WORDS, "the") and name != piece][:5]


@pytest.mark.parametrize("family", ["bert", "roberta", "albert"])
def test_batches_give_the_same_as_single_texts(
    family: str, make_language_model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = {"bert": lambda: opened(make_language_model(PIECES)), "roberta": lambda: roberta(tmp_path),
            "albert": lambda: albert(tmp_path)}  # fmt: skip
    model = make[family]()

    together = answers_about(TEXTS, model, language="en", most=5)

    alone = [answers_about([text], model, language="en", most=5, tokens_per_batch=1)[0] for text in TEXTS]
    assert together == alone
    assert [len(answer.words) for answer in together] == [3, 0, 1, 10, 0]
    monkeypatch.setattr("limbeck.augmentation.masked_predictions.LOGITS_PER_BATCH", 1)
    assert answers_about(TEXTS, model, language="en", most=5) == together


@pytest.mark.parametrize(("family", "mark"), [(roberta, "Ġ"), (albert, "▁")])
def test_models_that_mark_the_start_of_a_word_propose_pieces_with_the_mark(
    family: Any, mark: str, tmp_path: Path
) -> None:
    model = family(tmp_path)

    answers = found(model, "balom, coras ditin", most=4)

    assert set(answers) == {0, 2, 3}
    for words in answers.values():
        assert len(set(words)) == 4
        assert {mark + word for word in words} <= set(model.tokenizer.get_vocab())


def test_of_a_long_text_every_word_is_asked_about(make_language_model: Any) -> None:
    model = opened(make_language_model(PIECES), max_length=16)
    text = " ".join(WORDS[number % 20] for number in range(100))

    answers = found(model, text, most=3)

    assert list(answers) == list(range(100))
    [window] = answers_about([" ".join(text.split()[43:57])], model, language="en", most=3)
    assert answers[50] == window.found[7].split()


def test_bf16_is_used_for_the_body_alone_and_ends_with_the_call(make_language_model: Any) -> None:
    model = replace(opened(make_language_model(PIECES)), arithmetic="bf16")
    seen: list[torch.dtype] = []
    model.model.cls.register_forward_hook(lambda _module, _inputs, output: seen.append(output.dtype))
    model.model.bert.encoder.layer[0].attention.self.query.register_forward_hook(
        lambda _module, _inputs, output: seen.append(output.dtype)
    )

    answers_about(TEXTS[:1], model, language="en", most=3)

    assert seen == [torch.bfloat16, torch.float32]
    assert not torch.is_autocast_enabled("cpu")
    assert model.model(input_ids=torch.tensor([[5, 6, 7]])).logits.shape[:2] == (1, 3), "nothing stays behind"


def test_beside_the_original_the_word_itself_may_be_predicted(make_language_model: Any) -> None:
    model = opened(make_language_model(PIECES, liked=["feras", "guvex", "balom"]))

    [answer] = answers_about(["the feras ."], model, language="en", most=2, with_original=True)

    assert answer.found == ["feras guvex"]
    assert found(model, "the feras .", most=2) == {1: ["guvex", "balom"]}


def test_the_original_is_the_second_text(make_language_model: Any) -> None:
    model = opened(make_language_model(PIECES, liked=["guvex"]))
    tokenizer = model.tokenizer
    text = tokenizer("the feras", add_special_tokens=False)["input_ids"]
    frame = TextFrame.of(tokenizer, max_length=32, with_original=True)

    masked = frame.masked([text], [(0, Blank(word=1, first=1, end=2, kind="word"))])

    expected = tokenizer("the feras", "the feras")
    ids = list(expected["input_ids"])
    ids[2] = tokenizer.mask_token_id
    assert masked.inputs["input_ids"][0].tolist() == ids
    assert masked.columns.tolist() == [2]
    if "token_type_ids" in masked.inputs:
        assert masked.inputs["token_type_ids"][0].tolist() == expected["token_type_ids"]
    assert frame.length(len(text)) == len(ids)


def test_a_long_text_and_its_original_fit_together(make_language_model: Any) -> None:
    model = opened(make_language_model(PIECES, liked=["guvex"]), max_length=16)
    frame = TextFrame.of(model.tokenizer, max_length=16, with_original=True)

    masked = frame.masked([[7] * 40], [(0, Blank(word=30, first=30, end=31, kind="word"))])

    assert masked.inputs["input_ids"].shape[1] <= 16
    [column] = masked.columns.tolist()
    assert masked.inputs["input_ids"][0, column] == model.tokenizer.mask_token_id

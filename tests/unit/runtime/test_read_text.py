"""Where the tokens of a text come from: the same tokens as the engines get, and places that are right in the text."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.runtime.read_text import ReadText, RowReader
from limbeck.text.ngrams import NgramSettings
from limbeck.text.student_tokenizer import StudentTokenizer
from limbeck.text.word_tokenizer import build_word_tokenizer

ENGLISH = ["A gorgeous, dreadful film about the sea. Don't miss it!", "café 😀 naïve story at the lake"]
CHINESE = ["这部电影拍得真好看，看完久久不能忘怀。", "电池两天就坏了，客服一直不回复。"]
FORM: Any = ("narrow", "narrow_marks", "lowercase", "spaced")
LETTERS = [*"aB'.,-!() \t\n", "\u3000", "电", "影", "，", "😀", "\u200d", "\ufe0f", "\u0301", "Ｆ", "½", "Σ", "İ", "ﬁ"]
LETTERS += [
    "\u1100",
    "\u1161",
    "각",
    "\U0001f1e9",
    "\U0001f3fd",
    "[MASK]",
    "[PAD]",
    "don't",
    "\ud83d",
    "\ude00",
    "\x00",
]
Open = Callable[..., RowReader]


@pytest.fixture
def reader_of(tmp_path: Path) -> Open:
    """reader_of(json_text, tokenizer="words", pair=False, max_length=30)"""

    def make(
        json_text: str, *, tokenizer: Literal["words", "framed"] = "words", pair: bool = False, max_length: int = 30
    ) -> RowReader:
        (tmp_path / "tokenizer.json").write_text(json_text, encoding="utf-8")
        facts = ModelFacts(
            name="x", kind="x", precision="fp32", labels=["a", "b"], language="en", pair=pair, max_length=max_length,
            parameters=1, parameters_without_embeddings=1, tokenizer=tokenizer,
        )  # fmt: skip
        return RowReader(ModelFolder(tmp_path), facts)

    return make


def shown(text: str, read: ReadText) -> list[str]:
    return [text[start:end] for start, end in read.spans]


def random_texts() -> list[str]:
    dice = random.Random(3)
    return ["".join(dice.choices(LETTERS, k=dice.randint(0, 40))) for _ in range(400)]


@pytest.mark.parametrize("form", [(), FORM])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_words_are_the_tokens_that_the_engines_get(
    reader_of: Open, language: str, form: Any, odd_texts: dict[str, str], half_texts: dict[str, str]
) -> None:
    texts = CHINESE if language == "zh" else ENGLISH
    tokenizer = build_word_tokenizer(texts, language=language, max_size=90, min_count=1, lowercase=True, form=form)
    reader = reader_of(tokenizer.to_json())

    for text in (*ENGLISH, *CHINESE, *random_texts(), *odd_texts.values(), *half_texts.values()):
        (read,) = reader.read([text])

        assert [read.ids] == tokenizer.encode([text.strip()], max_length=30), text[:100]


@pytest.mark.parametrize("form", [(), FORM])
def test_ngrams_are_the_buckets_that_the_engines_get(
    reader_of: Open, form: Any, odd_texts: dict[str, str], half_texts: dict[str, str]
) -> None:
    settings = NgramSettings(buckets=5_000, words=3, form=form).to_json()
    tokenizer, reader = StudentTokenizer(settings), reader_of(settings)

    for text in (*ENGLISH, *CHINESE, *random_texts(), *odd_texts.values(), *half_texts.values()):
        (read,) = reader.read([text])

        (expected,) = tokenizer.encode([text.strip()], max_length=30)
        assert sorted(read.ids) == sorted(expected), text[:100]
        shares = [0.0] * len(read.ids)
        for token, _, share in read.owners:
            shares[token] += share
        assert shares == pytest.approx([float(bool(read.spans))] * len(shares)), text[:100]


def test_spans_are_in_order_and_cut_no_character(reader_of: Open) -> None:
    tokenizer = build_word_tokenizer(ENGLISH, language="en", max_size=90, min_count=1, lowercase=True)

    for json_text in (tokenizer.to_json(), NgramSettings(buckets=500).to_json()):
        reader = reader_of(json_text)
        for text in random_texts():
            (read,) = reader.read([text])

            flat = [place for span in read.spans for place in span]
            assert flat == sorted(flat), text
            assert all(start < end for start, end in read.spans), text
            starts = [text[max(0, start - 1) : start + 1] for start, _ in read.spans]
            assert not any(near[0].strip() and near[1:] in ("\u0301", "\ufe0f") for near in starts), text


def byte_pairs() -> str:
    """As RoBERTa reads: bytes, so that an emoji is several tokens, and a space belongs to the word after it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<s>", "<pad>", "</s>"], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(ENGLISH, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=False)
    tokenizer.enable_padding(pad_id=1, pad_token="<pad>")
    return tokenizer.to_str()


def sentence_pieces() -> str:
    """As XLM-RoBERTa reads: between two spaces all is one word, also in Chinese."""
    pieces = [
        (piece, -2.0) for piece in ("▁", "电影", "真", "好看", "▁film", "▁gorge", "ous", *"abcdefghijklmnopqrstuvwxyz,")
    ]
    tokenizer = Tokenizer(models.Unigram([("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *pieces], 3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.enable_padding(pad_id=1, pad_token="<pad>")
    return tokenizer.to_str()


@pytest.mark.parametrize(
    ("make", "text", "words"),
    [
        (byte_pairs, "Unheard-of  film, 😀 café!", ["Unheard", "-", "of", "film", ",", "😀", "café", "!"]),
        (byte_pairs, "电影 👨‍👩‍👧x", ["电", "影", "👨‍👩‍👧", "x"]),
        (sentence_pieces, "gorgeous film, zzz", ["gorgeous", "film,", "zzz"]),
        (sentence_pieces, "电影真好看 film", ["电影", "真", "好看", "film"]),
    ],
)
def test_parts_of_a_word_are_one_span_and_chinese_words_several(
    reader_of: Open, make: Callable[[], str], text: str, words: list[str]
) -> None:
    (read,) = reader_of(make(), tokenizer="framed").read([text])

    assert shown(text, read) == words


def test_what_a_model_does_not_read_is_no_span(reader_of: Open) -> None:
    """Its special tokens count, and of a pair the longer text is cut."""
    text = "a b c d e f g h"
    one = reader_of(sentence_pieces(), tokenizer="framed", max_length=6)
    (read,) = one.read([text])
    both = reader_of(sentence_pieces(), tokenizer="framed", pair=True, max_length=8)
    first, second = both.read([text, "x y"])

    assert len(read.spans) < 6
    assert shown("x y", second)[0] == "x"
    assert len(first.spans) < len(text.split())


def test_a_text_of_one_mark_after_another_takes_no_time(reader_of: Open) -> None:
    text = "a" + "\u0301" * 9_000 + " film"

    (read,) = reader_of(NgramSettings(buckets=500, form=FORM).to_json()).read([text])

    assert shown(text, read) == ["a" + "\u0301" * 9_000, "film"]

"""Whether a text can be read word by word, and that the words of one that can are read as in the text."""

from collections.abc import Callable

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

from limbeck.text.segmenter import opened
from limbeck.text.separable import is_separable
from limbeck.text.word_patterns import ENGLISH_TOKEN

StrangeTexts = Callable[..., list[str]]


def test_a_text_is_read_as_its_parts_between_spaces_are(separable_json: str, strange_texts: StrangeTexts) -> None:
    tokenizer = opened(separable_json)
    texts = strange_texts(2_000, seed=2)

    in_parts = [text.split(" ") for text in texts]
    parts = iter(ids(tokenizer, [part for text in in_parts for part in text]))

    assert is_separable(tokenizer)
    for text, found in zip(in_parts, ids(tokenizer, texts), strict=True):
        assert [number for _ in text for number in next(parts)] == found, ascii(" ".join(text))


WORDS = models.WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]")


def built(
    *,
    normalizer: normalizers.Normalizer | None = None,
    pre_tokenizer: pre_tokenizers.PreTokenizer | None = None,
    model: models.Model = WORDS,
    added: AddedToken | None = None,
) -> Tokenizer:
    """A separable tokenizer with one property that is not."""
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizer or normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.Whitespace()
    tokenizer.add_tokens([added or AddedToken("b", normalized=False)])
    return tokenizer


NOT_SEPARABLE = {
    "runs of spaces are one": built(normalizer=normalizers.Replace(Regex(" {2,}"), " ")),
    "spaces are letters": built(normalizer=normalizers.Replace(" ", "_")),
    "strings are replaced": built(normalizer=normalizers.Replace("ab", "c")),
    "texts are stripped": built(normalizer=normalizers.Sequence([normalizers.NFC(), normalizers.Strip()])),
    "texts begin with a mark": built(normalizer=normalizers.Prepend("_")),
    "sentence pieces": built(pre_tokenizer=pre_tokenizers.Metaspace()),
    "bytes": built(pre_tokenizer=pre_tokenizers.ByteLevel()),
    "marks alone part": built(pre_tokenizer=pre_tokenizers.Punctuation()),
    "an expression of others": built(pre_tokenizer=pre_tokenizers.Split(Regex(r"\w+ ?"), "removed", invert=True)),
    "our expression, for what is between": built(pre_tokenizer=pre_tokenizers.Split(Regex(ENGLISH_TOKEN), "isolated")),
    "sentence pieces behind words": built(
        pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Metaspace()])
    ),
    "byte pairs": built(model=models.BPE({"a": 0}, [], dropout=0.1)),
    "a token with a space": built(added=AddedToken("a b", normalized=False)),
    "a token in the normalised text": built(added=AddedToken("b", normalized=True)),
    "a token between words": built(added=AddedToken("b", normalized=False, single_word=True)),
}


@pytest.mark.parametrize("kind", NOT_SEPARABLE)
def test_a_tokenizer_that_is_not_certainly_separable_counts_as_not_separable(kind: str) -> None:
    assert is_separable(built())
    assert not is_separable(NOT_SEPARABLE[kind])


def test_without_a_pre_tokenizer_a_text_is_one_word() -> None:
    tokenizer = built()
    tokenizer.pre_tokenizer = None

    assert not is_separable(tokenizer)


def test_a_model_that_samples_is_not_looked_up() -> None:
    sure, unsure = models.Unigram([("a", -1.0)], unk_id=0), models.Unigram([("a", -1.0)], unk_id=0)
    unsure.alpha, unsure.nbest_size = 0.1, 8

    assert is_separable(built(model=sure))
    assert not is_separable(built(model=unsure))


def test_other_white_space_than_spaces_can_join_words() -> None:
    """The reason why texts are split only at U+0020."""
    pieces = {piece: number for number, piece in enumerate(["[UNK]", "a", "b", "ab"])}
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()

    assert ids(tokenizer, ["a\x0bb"]) == ids(tokenizer, ["ab"]) != ids(tokenizer, ["a b"])


def ids(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    return [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

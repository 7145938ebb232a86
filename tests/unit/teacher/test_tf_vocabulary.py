"""A vocab.txt becomes BERT's fast tokenizer, and whether it lowers the case is found out."""

import json
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from limbeck.teacher.tf_config import (
    TensorFlowBertConfig,
    VocabularyUnfit,
    bert_tokenizer,
    lowers_case,
    read_vocabulary,
)

SPECIAL = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
UNCASED = [*SPECIAL, "<S>", "the", "film", "##s", "cafe", ",", "电", "影"]
CASED = [*SPECIAL, "The", "film", "##s"]
SIZES = {
    "hidden_size": 12,
    "num_hidden_layers": 1,
    "num_attention_heads": 3,
    "intermediate_size": 20,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
}


def written(folder: Path, content: bytes) -> Path:
    (folder / "vocab.txt").write_bytes(content)
    return folder / "bert_model.ckpt"


def lowered(
    folder: Path, tokens: list[str], *, asked: bool | None = None, said: bool | None = None
) -> tuple[bool, str]:
    config = TensorFlowBertConfig.model_validate({**SIZES, "vocab_size": len(tokens), "do_lower_case": said})
    return lowers_case(folder / "bert_model.ckpt", config=config, tokens=tokens, asked=asked)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "end"])
def test_every_line_is_a_token_even_where_it_is_a_line_separator(tmp_path: Path, newline: str, last: str) -> None:
    tokens = [*SPECIAL, "\u2028", "\x85", "film"]
    content = newline.join(tokens) + (newline if last == "end" else "")

    assert read_vocabulary(written(tmp_path, content.encode()), rows=9) == tokens


@pytest.mark.parametrize(
    ("content", "rows", "reason"),
    [
        ("\n".join([*SPECIAL, "film"]).encode(), 8, "it has 7 tokens, and bert/embeddings/word_embeddings has 8 rows"),
        ("\n".join([*SPECIAL, "film", ""]).encode() + b"\n", 7, "it has 8 tokens"),
        (b"[PAD]\n[UNK]\nfilm\n", 3, r"lacks the special tokens \[CLS\], \[SEP\], \[MASK\]"),
        (b"[PAD]\ncaf\xe9\n", 2, "it is not UTF-8: .* at byte 9"),
    ],
)
def test_a_vocabulary_that_is_not_the_checkpoints_is_refused(
    tmp_path: Path, content: bytes, rows: int, reason: str
) -> None:
    with pytest.raises(VocabularyUnfit, match=reason):
        read_vocabulary(written(tmp_path, content), rows=rows)


def test_capitals_in_the_vocabulary_keep_the_case(tmp_path: Path) -> None:
    assert lowered(tmp_path, UNCASED) == (True, "guessed: vocab.txt has no token with capitals")
    assert lowered(tmp_path, CASED) == (False, "guessed: vocab.txt has tokens with capitals (The)")


def test_what_is_asked_goes_before_what_is_said_and_that_before_the_guess(tmp_path: Path) -> None:
    assert lowered(tmp_path, CASED, said=True) == (True, "as bert_config.json says")

    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}), encoding="utf-8")

    assert lowered(tmp_path, UNCASED, said=True) == (False, "as tokenizer_config.json says")
    assert lowered(tmp_path, UNCASED, asked=True) == (True, "as asked")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"do_lower_case": null}'])
def test_a_tokenizer_config_that_says_nothing_leaves_it_to_the_guess(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer_config.json").write_text(content, encoding="utf-8")

    assert lowered(tmp_path, UNCASED)[1].startswith("guessed")


def test_the_tokenizer_cuts_texts_as_bert_does_and_is_found_again(tmp_path: Path) -> None:
    bert_tokenizer(UNCASED, lowercase=True, max_length=16).save_pretrained(tmp_path)

    tokenizer = AutoTokenizer.from_pretrained(tmp_path)

    assert tokenizer.is_fast
    assert (len(tokenizer), tokenizer.model_max_length) == (len(UNCASED), 16)
    assert tokenizer.tokenize("The films,电影 CAFÉ Ünknown") == [
        *("the", "film", "##s", ",", "电", "影", "cafe", "[UNK]"),
    ]
    assert tokenizer("the", "film")["input_ids"] == [
        UNCASED.index(token) for token in ("[CLS]", "the", "[SEP]", "film", "[SEP]")
    ]
    assert tokenizer("the", "film")["token_type_ids"] == [0, 0, 0, 1, 1]


def test_a_cased_tokenizer_keeps_capitals_and_accents() -> None:
    tokenizer = bert_tokenizer([*CASED, "Café"], lowercase=False, max_length=16)

    assert tokenizer.tokenize("The Café the") == ["The", "Café", "[UNK]"]

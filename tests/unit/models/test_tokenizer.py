"""A checkpoint's tokenizer is set up for its model, whatever its folder or its class has."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing
from transformers import AutoConfig, AutoTokenizer, CanineConfig, RobertaConfig

from limbeck.models import tokenizer as tokenizers
from limbeck.models.tokenizer import (
    TokenizerMissing,
    TokenizerNeedsPackages,
    TokenizerTooLarge,
    load_tokenizer,
    reads_last_token,
    refuse_tokens_without_rows,
)


def changed(path: Path, **values: Any) -> None:
    before = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**before, **values}), encoding="utf-8")


def load(folder: Path) -> Any:
    return load_tokenizer(folder, AutoConfig.from_pretrained(folder))


def test_a_model_that_reads_the_first_token_is_padded_and_cut_on_the_right(tiny_teacher_copy: Path) -> None:
    """A tokenizer that was used for something else may have been saved with other sides."""
    changed(tiny_teacher_copy / "tokenizer_config.json", padding_side="left", truncation_side="left")

    tokenizer = load(tiny_teacher_copy)

    row = tokenizer(["the film"], truncation=True, max_length=3, padding="max_length")["input_ids"][0]
    assert tokenizer.convert_ids_to_tokens(row) == ["[CLS]", "the", "[SEP]"]
    assert tokenizer.pad({"input_ids": [[2, 3], [2, 5, 3]]})["input_ids"][0] == [2, 3, 0]


def test_only_xlnets_kind_of_classifier_reads_the_last_token() -> None:
    assert reads_last_token(SimpleNamespace(summary_type="last"))
    assert not reads_last_token(SimpleNamespace(summary_type="first"))
    assert not reads_last_token(SimpleNamespace())


def test_a_model_with_one_token_type_gets_none_from_a_tokenizer_of_berts(tiny_teacher_copy: Path) -> None:
    """There are RoBERTas with BERT's tokenizer (klue/roberta-base): type 1 is beyond their table."""
    (tiny_teacher_copy / "config.json").unlink()
    RobertaConfig(type_vocab_size=1).save_pretrained(tiny_teacher_copy)

    tokenizer = load(tiny_teacher_copy)

    assert set(tokenizer("the film", "a scene")) == {"input_ids", "attention_mask"}


def test_what_was_set_is_saved(tiny_teacher_copy: Path, tmp_path: Path) -> None:
    (tiny_teacher_copy / "config.json").unlink()
    RobertaConfig(type_vocab_size=1).save_pretrained(tiny_teacher_copy)

    load(tiny_teacher_copy).save_pretrained(tmp_path / "saved")

    assert set(AutoTokenizer.from_pretrained(tmp_path / "saved")("the film")) == {"input_ids", "attention_mask"}


def test_the_special_tokens_are_those_of_the_folders_own_tokenizer_json(tiny_teacher_copy: Path) -> None:
    """Transformers 5 puts those of the class instead, with which the model was not trained."""
    path = tiny_teacher_copy / "tokenizer.json"
    own = Tokenizer.from_file(str(path))
    special = [(name, own.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    pair = "[CLS] $A [SEP] [SEP] $B [SEP]"
    own.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", pair=pair, special_tokens=special)
    own.save(str(path))

    tokenizer = load(tiny_teacher_copy)

    assert tokenizer.tokenize("film", "scene", add_special_tokens=True) == [
        *("[CLS]", "film", "[SEP]"),
        *("[SEP]", "scene", "[SEP]"),
    ]


def test_a_tokenizer_json_without_special_tokens_gets_those_of_the_class(tiny_teacher_copy: Path) -> None:
    """Transformers 5.0 saved some like this; the model was trained with [CLS] and [SEP]."""
    changed(tiny_teacher_copy / "tokenizer.json", post_processor=None)

    assert load(tiny_teacher_copy).tokenize("film", add_special_tokens=True) == ["[CLS]", "film", "[SEP]"]


def test_a_tokenizer_that_takes_packages_to_read_is_an_error_with_their_names(
    tiny_teacher_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tiny_teacher_copy / "tokenizer.json").unlink()
    (tiny_teacher_copy / "spm.model").write_bytes(b"pieces")
    monkeypatch.setattr(tokenizers, "find_spec", lambda _: None)

    with pytest.raises(TokenizerNeedsPackages, match=r"spm\.model") as raised:
        load(tiny_teacher_copy)

    assert raised.value.packages == ("sentencepiece", "protobuf")


def test_such_a_file_next_to_a_tokenizer_json_is_not_needed(
    tiny_teacher_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tiny_teacher_copy / "spm.model").write_bytes(b"pieces")
    monkeypatch.setattr(tokenizers, "find_spec", lambda _: None)

    assert load(tiny_teacher_copy).tokenize("film") == ["film"]


def test_a_folder_without_a_tokenizer_is_refused(tiny_teacher_copy: Path) -> None:
    """Transformers makes one that knows the special tokens alone."""
    for path in tiny_teacher_copy.iterdir():
        if path.name not in ("config.json", "model.safetensors"):
            path.unlink()

    with pytest.raises(TokenizerMissing, match=r"missing: tokenizer\.json, or vocab\.txt") as raised:
        load(tiny_teacher_copy)

    assert raised.value.missing == ("vocab.txt",)


def test_half_a_tokenizer_is_refused_too(tmp_path: Path) -> None:
    RobertaConfig().save_pretrained(tmp_path)
    words = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "a", "b", "ab"]
    (tmp_path / "vocab.json").write_text(json.dumps({word: number for number, word in enumerate(words)}))

    with pytest.raises(TokenizerMissing, match=r"merges\.txt"):
        load(tmp_path)


def test_letters_need_no_files(tmp_path: Path) -> None:
    CanineConfig().save_pretrained(tmp_path)

    assert load(tmp_path)("ab")["input_ids"][1:3] == [ord("a"), ord("b")]


def test_a_tokenizer_with_more_tokens_than_embeddings_is_refused_with_both_numbers(tiny_teacher_copy: Path) -> None:
    tokenizer = load(tiny_teacher_copy)
    size = len(tokenizer)
    model = SimpleNamespace(get_input_embeddings=lambda: SimpleNamespace(num_embeddings=size))
    refuse_tokens_without_rows(tokenizer, model, folder=tiny_teacher_copy)
    tokenizer.add_tokens(["one", "two"])

    with pytest.raises(TokenizerTooLarge, match=f"has {size + 2} tokens; the model has embeddings for {size}\n"):
        refuse_tokens_without_rows(tokenizer, model, folder=tiny_teacher_copy)

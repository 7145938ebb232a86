"""Loading a model that can predict masked words, and refusing one that cannot."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertModel, BertTokenizer, GPT2Config

from limbeck.augmentation.language_model import LanguageModel, LanguageModelUnfit, load_language_model
from limbeck.errors import CheckpointDamaged
from limbeck.models.tokenizer import TokenizerTooLarge

PIECES = ["film", "story", "##s", "a"]


def load(folder: Path, *, max_length: int = 32) -> LanguageModel:
    return load_language_model(folder, name="my-model", max_length=max_length)


def without(folder: Path, part: str) -> None:
    """Remove weights from a checkpoint."""
    path = folder / "model.safetensors"
    kept = {name: weight.clone() for name, weight in load_file(path).items() if part not in name}
    save_file(kept, path, metadata={"format": "pt"})


def test_a_model_with_a_trained_head_is_loaded_ready_to_be_asked(make_language_model: Any) -> None:
    model = load(make_language_model(PIECES))

    assert not model.model.training
    assert model.max_length == 32
    assert [word for word in model.vocabulary.words if word] == ["film", "story"]


def test_weights_that_the_head_shares_with_the_embeddings_are_not_missing(make_language_model: Any) -> None:
    folder = make_language_model(PIECES)
    without(folder, "cls.predictions.decoder")

    model = load(folder).model

    assert model.cls.predictions.decoder.weight is model.bert.embeddings.word_embeddings.weight


def test_max_length_never_exceeds_what_the_model_has_positions_for(make_language_model: Any) -> None:
    assert load(make_language_model(PIECES), max_length=500).max_length == 64


def test_a_classifier_is_refused(tiny_teacher_folder: Path) -> None:
    with pytest.raises(LanguageModelUnfit, match=r"'my-model'.*\n.*would be random; missing: cls\.predictions"):
        load(tiny_teacher_folder)


def test_a_plain_encoder_is_refused(make_language_model: Any) -> None:
    folder = make_language_model(PIECES)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=9, **sizes)).save_pretrained(folder)

    with pytest.raises(LanguageModelUnfit, match="no trained head"):
        load(folder)


def test_a_head_with_a_part_missing_is_refused(make_language_model: Any) -> None:
    folder = make_language_model(PIECES)
    without(folder, "cls.predictions.transform.dense")

    with pytest.raises(LanguageModelUnfit, match=r"missing: cls\.predictions\.transform\.dense\.weight"):
        load(folder)


def test_a_body_with_a_part_missing_is_damaged(make_language_model: Any) -> None:
    folder = make_language_model(PIECES)
    without(folder, "encoder.layer.1")

    with pytest.raises(CheckpointDamaged, match=r"cannot load the language model.*\n.*weights of its config"):
        load(folder)


def test_a_kind_of_model_without_such_a_head_is_refused(make_language_model: Any) -> None:
    folder = make_language_model(PIECES)
    GPT2Config().save_pretrained(folder)

    with pytest.raises(LanguageModelUnfit, match="a gpt2 has no such head"):
        load(folder)


def test_a_tokenizer_without_a_mask_is_refused(make_language_model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Maskless:
        is_fast = True
        mask_token_id = None

    monkeypatch.setattr("limbeck.augmentation.language_model.load_tokenizer", lambda *_: Maskless())

    with pytest.raises(LanguageModelUnfit, match="no mask token"):
        load(make_language_model(PIECES))


def test_a_tokenizer_without_a_fast_form_is_refused(make_language_model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow:
        is_fast = False

    monkeypatch.setattr("limbeck.augmentation.language_model.load_tokenizer", lambda *_: Slow())

    with pytest.raises(LanguageModelUnfit, match="no fast form"):
        load(make_language_model(PIECES))


def test_a_tokenizer_with_more_tokens_than_the_model_has_embeddings_is_refused(make_language_model: Any) -> None:
    folder = make_language_model(PIECES)
    size = 5 + len(PIECES)
    other = BertTokenizer.from_pretrained(folder)
    other.add_tokens(["scene", "actor"])
    other.save_pretrained(folder)

    with pytest.raises(TokenizerTooLarge) as caught:
        load(folder)

    assert (caught.value.tokens, caught.value.rows) == (size + 2, size)


def test_a_folder_that_cannot_be_read_is_named(make_language_model: Any) -> None:
    folder = make_language_model(PIECES)
    (folder / "model.safetensors").write_bytes(b"no weights")

    with pytest.raises(CheckpointDamaged, match=f"cannot load the language model from '{folder}'"):
        load(folder)


def test_pickled_weights_are_not_read(make_language_model: Any, tmp_path: Path) -> None:
    folder = make_language_model(PIECES)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    shutil.move(folder / "model.safetensors", tmp_path / "elsewhere")

    with pytest.raises(CheckpointDamaged):
        load(folder)

"""Asking an encoder: eval mode, special tokens, order, and no influence of the batch."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from safetensors.torch import load_file, save_file

from limbeck.errors import CheckpointDamaged
from limbeck.progress import SilentReporter
from limbeck.teacher.encoder import Encoder, load_encoder

TEXTS = ["the film is gorgeous", "", "a dreadful story with a long long evening and an old camera", "blue", "the film"]


@pytest.fixture
def encoder(tiny_teacher_folder: Path) -> Encoder:
    encoder = load_encoder(tiny_teacher_folder, max_length=16, arithmetic="fp32")
    with torch.no_grad():  # larger than random weights start, so that different texts get clearly different logits
        encoder.model.bert.encoder.layer[0].attention.self.query.weight.mul_(20)
        encoder.model.bert.encoder.layer[0].attention.self.value.weight.mul_(20)
        encoder.model.classifier.weight.mul_(20)
    return encoder


def test_the_teacher_is_asked_in_eval_mode_without_gradient_and_left_as_it_was(encoder: Encoder) -> None:
    """TinyBERT's code never puts its teacher into eval mode: dropout is in its targets."""
    encoder.model.train()

    first = encoder.logits(TEXTS, None, tokens_per_batch=64)
    second = encoder.logits(TEXTS, None, tokens_per_batch=64)

    assert np.array_equal(first, second)
    assert encoder.model.training


def test_logits_do_not_depend_on_the_batch_and_keep_the_order(encoder: Encoder) -> None:
    together = encoder.logits(TEXTS, None, tokens_per_batch=1000)
    alone = np.concatenate([encoder.logits([text], None, tokens_per_batch=1000) for text in TEXTS])

    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert len({tuple(row) for row in np.round(together, 3).tolist()}) == len(TEXTS)


def test_the_special_tokens_are_there_and_long_texts_are_cut(encoder: Encoder) -> None:
    """bert_distill asks its teacher without [CLS] and [SEP], which it was trained with."""
    tokenizer = encoder.tokenizer

    rows = encoder.tokenise(["the film", "film " * 100])

    assert rows[0]["input_ids"][0] == tokenizer.cls_token_id
    assert rows[0]["input_ids"][-1] == tokenizer.sep_token_id
    assert len(rows[1]["input_ids"]) == 16
    assert rows[1]["input_ids"][-1] == tokenizer.sep_token_id


def test_of_a_pair_both_texts_are_read(encoder: Encoder) -> None:
    logits = encoder.logits(["the film", "the film"], ["a gorgeous scene", "old"], tokens_per_batch=64)

    assert not np.allclose(logits[0], logits[1])
    assert encoder.tokenise(["the film"], ["old"])[0]["input_ids"].count(encoder.tokenizer.sep_token_id) == 2


def test_word_states_are_means_over_the_word_alone(encoder: Encoder) -> None:
    with SilentReporter().bar("words", total=2, unit="words") as bar:
        states = encoder.word_states(["film", "gorgeous"], are_pieces=False, tokens_per_batch=64, bar=bar)

    encoder.model.eval()
    batch = encoder.batch(encoder.tokenise(["film"]))
    with torch.no_grad():
        expected = encoder.model(**batch, output_hidden_states=True).hidden_states[-1][0, 1:-1].mean(dim=0)
    np.testing.assert_allclose(states[0], expected.numpy(), atol=1e-5)
    assert states.shape == (2, 32)


def test_the_head_is_made_for_the_corpus(tiny_teacher_folder: Path) -> None:
    labels = ["car", "game", "house", "sports"]

    encoder = load_encoder(tiny_teacher_folder, max_length=16, arithmetic="fp32", labels=labels)

    assert encoder.logits(["film"], None, tokens_per_batch=64).shape == (1, 4)
    assert encoder.model.config.id2label == dict(enumerate(labels))


def test_max_length_never_exceeds_what_the_model_has_positions_for(tiny_teacher_folder: Path) -> None:
    encoder = load_encoder(tiny_teacher_folder, max_length=5000, arithmetic="fp32")

    assert encoder.max_length == 128
    assert encoder.logits(["film " * 5000], None, tokens_per_batch=64).shape == (1, 2)


def test_truncated_weights_give_a_clear_error(tiny_teacher_copy: Path) -> None:
    weights = tiny_teacher_copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])

    with pytest.raises(CheckpointDamaged, match="tiny-teacher"):
        load_encoder(tiny_teacher_copy, max_length=16, arithmetic="fp32")


def word_states(encoder: Encoder, *words: str, are_pieces: bool = False) -> npt.NDArray[np.float32]:
    with SilentReporter().bar("words", total=len(words), unit="words") as bar:
        return encoder.word_states(words, are_pieces=are_pieces, tokens_per_batch=64, bar=bar)


def test_a_piece_is_read_as_it_is_and_not_cut_once_more(encoder: Encoder) -> None:
    """As text "##a" would be two marks and a word."""
    tokenizer = encoder.tokenizer
    ids = [tokenizer.cls_token_id, tokenizer.convert_tokens_to_ids("##a"), tokenizer.sep_token_id]

    states = word_states(encoder, "film", "##a", are_pieces=True)

    encoder.model.eval()
    with torch.no_grad():
        output = encoder.model(torch.tensor([ids]), output_hidden_states=True)
    np.testing.assert_allclose(states[1], output.hidden_states[-1][0, 1].numpy(), atol=1e-5)
    np.testing.assert_allclose(states[0], word_states(encoder, "film")[0], atol=1e-5)
    assert not np.allclose(states[1], word_states(encoder, "##a")[0], atol=1e-2)


def test_a_word_of_which_nothing_is_left_gets_the_mean_of_the_others(encoder: Encoder) -> None:
    """Zeros would be far away from every word: states have much in common."""
    states = word_states(encoder, "film", "", "[PAD]", "gorgeous")

    np.testing.assert_allclose(states[1], (states[0] + states[3]) / 2, atol=1e-6)
    np.testing.assert_allclose(states[2], states[1])


def test_weights_under_other_names_than_the_configs_are_refused(tiny_teacher_copy: Path) -> None:
    """Transformers only warns, and the teacher would start from random weights."""
    weights = load_file(tiny_teacher_copy / "model.safetensors")
    renamed = {f"student.{name}": weight for name, weight in weights.items()}
    save_file(renamed, tiny_teacher_copy / "model.safetensors", metadata={"format": "pt"})

    with pytest.raises(CheckpointDamaged, match="weights of its config are not in its files"):
        load_encoder(tiny_teacher_copy, max_length=16, arithmetic="fp32")


def test_an_encoder_without_head_and_pooler_is_taken_and_says_what_is_fresh(tiny_teacher_copy: Path) -> None:
    weights = load_file(tiny_teacher_copy / "model.safetensors")
    bare = {
        name.removeprefix("bert."): weight
        for name, weight in weights.items()
        if name.startswith("bert.") and "pooler" not in name
    }
    save_file(bare, tiny_teacher_copy / "model.safetensors", metadata={"format": "pt"})

    encoder = load_encoder(tiny_teacher_copy, max_length=16, arithmetic="fp32", labels=["a", "b"])

    loaded = encoder.model.bert.embeddings.word_embeddings.weight
    assert torch.equal(loaded, weights["bert.embeddings.word_embeddings.weight"])
    assert encoder.fresh == {
        "bert.pooler.dense.weight",
        "bert.pooler.dense.bias",
        "classifier.weight",
        "classifier.bias",
    }

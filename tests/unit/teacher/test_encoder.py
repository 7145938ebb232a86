"""Asking an encoder: eval mode, special tokens, order, and no influence of the batch."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from limbeck.progress import SilentReporter
from limbeck.teacher import encoder as module
from limbeck.teacher.encoder import Encoder, Pooling
from limbeck.teacher.loading import load_encoder

TEXTS = ["the film is gorgeous", "", "a dreadful story with a long long evening and an old camera", "blue", "the film"]


@pytest.fixture
def encoder(tiny_teacher_folder: Path) -> Encoder:
    encoder = load_encoder(tiny_teacher_folder, max_length=16, arithmetic="fp32")
    with torch.no_grad():  # larger than random weights start, so that different texts get clearly different logits
        encoder.model.bert.encoder.layer[0].attention.self.query.weight.mul_(20)
        encoder.model.bert.encoder.layer[0].attention.self.value.weight.mul_(20)
        encoder.model.classifier.weight.mul_(20)
    return encoder


class Counting:
    """A bar that remembers."""

    def __init__(self) -> None:
        self.amounts: list[int] = []

    def advance(self, amount: int = 1, *, note: str = "") -> None:  # noqa: ARG002 - a bar has notes
        self.amounts.append(amount)


def word_states(encoder: Encoder, *words: str, are_pieces: bool = False) -> npt.NDArray[np.float32]:
    with SilentReporter().bar("words", total=len(words), unit="words") as bar:
        return encoder.word_states(words, are_pieces=are_pieces, tokens_per_batch=64, bar=bar)


def test_the_teacher_is_asked_in_eval_mode_without_gradient_and_left_as_it_was(encoder: Encoder) -> None:
    """TinyBERT's code never puts its teacher into eval mode: dropout is in its targets."""
    encoder.model.train()

    first = encoder.logits(TEXTS, None, tokens_per_batch=64)
    second, _ = encoder.logits_and_features(TEXTS, None, pooling="mean", tokens_per_batch=64)

    assert np.array_equal(first, second)
    assert encoder.model.training


def test_asking_for_anything_builds_no_graph(encoder: Encoder) -> None:
    graphs = []
    encoder.model.classifier.register_forward_hook(lambda *call: graphs.append(call[-1].requires_grad))

    encoder.logits(TEXTS, None)
    encoder.logits_and_features(TEXTS, None, pooling="cls")
    word_states(encoder, "film")

    assert graphs == [False, False, False]
    assert encoder.model(**encoder.batch(encoder.tokenise(["film"]))).logits.requires_grad


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


def test_with_head_and_tail_the_middle_of_a_long_text_is_left_out(encoder: Encoder) -> None:
    encoder.long_texts, encoder.head_share, encoder.max_length = "head_and_tail", 0.5, 8
    text = "the film is gorgeous and a long old story with music today"

    long, short = encoder.tokenise([text, "the film"])

    expected = ["[CLS]", "the", "film", "is", "with", "music", "today", "[SEP]"]
    assert long["input_ids"] == encoder.tokenizer.convert_tokens_to_ids(expected)
    assert {len(column) for column in long.values()} == {8}
    assert short["input_ids"] == encoder.tokenizer.convert_tokens_to_ids(["[CLS]", "the", "film", "[SEP]"])


def test_with_head_and_tail_a_cut_pair_keeps_its_token_types(encoder: Encoder) -> None:
    encoder.long_texts, encoder.head_share, encoder.max_length = "head_and_tail", 0.5, 9
    text = "the film is gorgeous and a long old story with music today"

    row = encoder.tokenise(["blue scene"], [text])[0]

    expected = ["[CLS]", "blue", "scene", "[SEP]", "the", "film", "music", "today", "[SEP]"]
    assert row["input_ids"] == encoder.tokenizer.convert_tokens_to_ids(expected)
    assert row["token_type_ids"] == [0, 0, 0, 0, 1, 1, 1, 1, 1]


def test_texts_that_fit_are_read_alike_whatever_is_done_with_long_ones(encoder: Encoder) -> None:
    encoder.max_length = 64
    before = encoder.tokenise(TEXTS, TEXTS[::-1])

    encoder.long_texts = "head_and_tail"

    assert encoder.tokenise(TEXTS, TEXTS[::-1]) == before


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_features_do_not_depend_on_the_batch_and_keep_the_order(encoder: Encoder, pooling: Pooling) -> None:
    _, together = encoder.logits_and_features(TEXTS, None, pooling=pooling, tokens_per_batch=1000)
    alone = [encoder.logits_and_features([text], None, pooling=pooling)[1] for text in TEXTS]

    assert together.dtype == np.float16
    assert together.shape == (len(TEXTS), 32)
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-3)
    assert len({tuple(row) for row in np.round(together, 1).tolist()}) == len(TEXTS)


def test_the_bar_moves_by_the_rows_that_are_done(encoder: Encoder) -> None:
    bar = Counting()

    encoder.logits(TEXTS, None, tokens_per_batch=16, bar=bar)
    encoder.logits_and_features(TEXTS, None, pooling="cls", tokens_per_batch=1000, bar=bar)

    assert len(bar.amounts) > 2
    assert sum(bar.amounts) == 2 * len(TEXTS)
    assert bar.amounts[-1] == len(TEXTS)


@pytest.fixture
def reads_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the model were on a GPU; two rows are read at a time."""
    monkeypatch.setattr(Encoder, "_is_on_gpu", True)
    monkeypatch.setattr(module, "ROWS_AHEAD", 2)


@pytest.mark.usefixtures("reads_ahead")
@pytest.mark.parametrize("pairs", [None, TEXTS[::-1]])
def test_texts_that_are_read_ahead_keep_their_order(encoder: Encoder, pairs: list[str] | None) -> None:
    bar = Counting()

    logits, features = encoder.logits_and_features(TEXTS, pairs, pooling="mean", bar=bar)
    alone = [
        encoder.logits_and_features([text], None if pairs is None else [pairs[place]], pooling="mean")
        for place, text in enumerate(TEXTS)
    ]

    assert sum(bar.amounts) == len(TEXTS)
    np.testing.assert_allclose(logits, np.concatenate([each for each, _ in alone]), atol=1e-5)
    np.testing.assert_allclose(features, np.concatenate([each for _, each in alone]), atol=1e-3)
    np.testing.assert_array_equal(encoder.logits(TEXTS, pairs), logits)


@pytest.mark.usefixtures("reads_ahead")
def test_blocks_that_are_read_ahead_say_what_they_say_one_by_one(encoder: Encoder) -> None:
    blocks = [(TEXTS[:2], None), (TEXTS[2:4], None), (TEXTS[4:], None)]

    found = [logits for logits, _ in encoder.in_turn(blocks)]

    for (texts, _), logits in zip(blocks, found, strict=True):
        np.testing.assert_array_equal(logits, encoder.logits(texts, None))


@pytest.mark.usefixtures("reads_ahead")
def test_what_goes_wrong_while_reading_ahead_is_raised(encoder: Encoder) -> None:
    def blocks() -> Iterator[tuple[list[str], None]]:
        yield TEXTS, None
        raise OSError("the disk is gone")

    answers = encoder.in_turn(blocks())

    assert next(answers)[0].shape == (len(TEXTS), 2)
    with pytest.raises(OSError, match="the disk is gone"):
        next(answers)


def test_on_a_cpu_nothing_is_read_ahead(encoder: Encoder) -> None:
    """Reading and thinking would fight over the same cores."""
    taken = []

    def blocks() -> Iterator[tuple[list[str], None]]:
        for text in TEXTS:
            taken.append(text)
            yield [text], None

    answers = encoder.in_turn(blocks())
    next(answers)
    answers.close()

    assert taken == TEXTS[:1]


def test_no_texts_have_no_logits_and_no_features(encoder: Encoder) -> None:
    logits, features = encoder.logits_and_features([], None, pooling="mean")

    assert logits.shape == (0, 2)
    assert features.shape == (0, 32)


def test_a_masked_word_is_masked_in_the_teachers_own_way(tiny_teacher_folder: Path) -> None:
    encoder = load_encoder(tiny_teacher_folder, max_length=32, arithmetic="fp32")
    own = encoder.tokenizer.mask_token_id

    (row,) = encoder.tokenise(["a [MASK] film"])
    encoder.tokenizer.mask_token = "the"  # another tokenizer's mask is another word
    (other,) = encoder.tokenise(["a [MASK] film"])

    assert row["input_ids"].count(own) == 1
    assert other["input_ids"] == encoder.tokenise(["a the film"])[0]["input_ids"]

"""The states of a Bi-LSTM and what is read off them, against a loop over the cells in numpy."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import nn

from limbeck.models.bilstm import BiLstmConfig, BiLstmForSequenceClassification, bilstm
from limbeck.recipe.student import BiLstm

Array = npt.NDArray[np.float64]
HIDDEN = 5
TEXT = [4, 9, 2, 7]


def network(**values: Any) -> BiLstmForSequenceClassification:
    torch.manual_seed(0)
    section = BiLstm.model_validate({"hidden_size": HIDDEN, "dense_size": 7, **values})
    model = bilstm(section, vocabulary_size=11, embedding_size=3, labels=["a", "b"], pair=False)
    with torch.no_grad():
        model.embeddings.weight.mul_(10)  # so that states differ from word to word
    model.eval()
    return model


def features(model: BiLstmForSequenceClassification, text: list[int]) -> Array:
    """Of a text that is in a batch with a longer one."""
    ids = torch.tensor([[*text, 0, 0], [1, 2, 3, 4, 5, 6]])
    with torch.inference_mode():
        found: Array = model(ids).features[0].double().numpy()
    return found


def sigmoid(values: Array) -> Array:
    return 1 / (1 + np.exp(-values))


def states(cell: nn.Module, vectors: Array) -> Array:
    """(tokens, hidden): the equations of the cell, one token after the other."""
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    w, r, b, c = (cell.get_parameter(name).detach().double().numpy() for name in names)
    state, memory, found = np.zeros(HIDDEN), np.zeros(HIDDEN), []
    for vector in vectors:
        given, kept = w @ vector + b, r @ state + c
        if isinstance(cell, nn.LSTM):
            into, forget, new, out = np.split(given + kept, 4)
            memory = sigmoid(forget) * memory + sigmoid(into) * np.tanh(new)
            state = sigmoid(out) * np.tanh(memory)
        else:
            (reset, update, new), (kept_reset, kept_update, kept_new) = np.split(given, 3), np.split(kept, 3)
            candidate = np.tanh(new + sigmoid(reset + kept_reset) * kept_new)
            share = sigmoid(update + kept_update)
            state = (1 - share) * candidate + share * state
        found.append(state)
    return np.array(found)


def both_ways(model: BiLstmForSequenceClassification, text: list[int]) -> Array:
    """(tokens, 2 · hidden) of the uppermost level, in the order of the tokens."""
    found: Array = model.embeddings.weight.detach().double().numpy()[text]
    for level in model.levels:
        onward = states(level.get_submodule("forwards"), found)
        back = states(level.get_submodule("backwards"), found[::-1])[::-1]
        found = np.concatenate([onward, back], axis=1)
    return found


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_the_largest_value_of_each_state(cell: str, layers: int) -> None:
    model = network(pooling="max", cell=cell, layers=layers)

    expected = both_ways(model, TEXT).max(axis=0)

    np.testing.assert_allclose(features(model, TEXT), expected, atol=1e-6)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_the_last_state_of_each_direction_is_at_its_own_end_of_the_text(cell: str, layers: int) -> None:
    model = network(pooling="last", cell=cell, layers=layers)

    all_states = both_ways(model, TEXT)

    expected = np.concatenate([all_states[-1, :HIDDEN], all_states[0, HIDDEN:]])
    np.testing.assert_allclose(features(model, TEXT), expected, atol=1e-6)


@pytest.mark.parametrize("layers", [1, 2])
def test_the_mean_is_over_the_words_and_not_over_the_padding(layers: int) -> None:
    model = network(pooling="mean", layers=layers)

    expected = both_ways(model, TEXT).mean(axis=0)

    np.testing.assert_allclose(features(model, TEXT), expected, atol=1e-6)


@pytest.mark.parametrize("layers", [1, 2])
def test_attention_weighs_both_states_of_a_word_by_how_well_they_answer_the_question(layers: int) -> None:
    model = network(pooling="attention", layers=layers)
    with torch.no_grad():
        model.question.weight.mul_(60)  # weights far from equal, or their order would not show
    turn, shift, question = (
        parameter.detach().double().numpy()
        for parameter in (model.attention.weight, model.attention.bias, model.question.weight)
    )

    all_states = both_ways(model, TEXT)
    relevance = np.tanh(all_states @ turn.T + shift) @ question[0]
    weights = np.exp(relevance) / np.exp(relevance).sum()

    assert weights.max() > 2 * weights.min()
    np.testing.assert_allclose(features(model, TEXT), weights @ all_states, atol=1e-6)


def test_the_first_level_reads_both_channels_and_the_second_both_directions() -> None:
    model = network(static_channel=True, layers=2)

    sizes = {name: module.input_size for name, module in model.named_modules() if isinstance(module, nn.LSTM)}

    assert sizes == {
        "levels.0.forwards": 6,
        "levels.0.backwards": 6,
        "levels.1.forwards": 2 * HIDDEN,
        "levels.1.backwards": 2 * HIDDEN,
    }


def test_dropout_falls_between_levels() -> None:
    model = network(layers=2, dropout=0.9)
    model.embeddings.weight.data.fill_(1.0)
    below: list[torch.Tensor] = []
    model.get_submodule("levels.1.forwards").register_forward_pre_hook(lambda _, inputs: below.append(inputs[0]))

    model.train()(torch.tensor([[1, 2, 3, 4]] * 50))

    assert below[0].eq(0).float().mean().item() == pytest.approx(0.9, abs=0.05)


def test_a_pooling_that_does_not_exist_is_refused() -> None:
    model = BiLstmForSequenceClassification(BiLstmConfig(vocab_size=11, embedding_size=3, pooling="median"))

    with pytest.raises(ValueError, match="median"):
        model(torch.tensor([[1, 2]]))

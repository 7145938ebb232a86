"""Windows of words, worked by hand."""

from typing import Any

import numpy as np
import pytest
import torch

from limbeck.models.textcnn import TextCnnForSequenceClassification, textcnn
from limbeck.recipe.student import TextCnn


def network(**values: Any) -> TextCnnForSequenceClassification:
    torch.manual_seed(0)
    section = TextCnn.model_validate({"kind": "textcnn", "windows": [2], "filters": 1, **values})
    model = textcnn(section, vocabulary_size=6, embedding_size=2, labels=["a", "b"], pair=False)
    model.eval()
    return model


def set_up(model: TextCnnForSequenceClassification, *, filters: list[list[float]], bias: float) -> None:
    """Words 1, 2 and 3 are (1, 0), (0, 1) and (2, -1); the one filter has a vector for each place of its window."""
    with torch.no_grad():
        model.embeddings.weight[:4] = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, -1.0]])
        model.get_parameter("convolutions.0.weight").copy_(torch.tensor(filters).T[None])  # (filters, width, places)
        model.get_parameter("convolutions.0.bias").fill_(bias)


def feature(model: TextCnnForSequenceClassification, ids: list[int]) -> float:
    with torch.inference_mode():
        return float(model(torch.tensor([ids])).features.item())


@pytest.mark.parametrize(
    ("ids", "bias", "expected"),
    [
        # Windows of 1 2 3 between zeros: 0·1, 1·2, 2·3, 3·0. First place (1, 1), second place (0, 2).
        # Values: 0 + 0, 1 + 2, 1 - 2, 1 + 0.
        ([1, 2, 3], 0.0, 3.0),
        ([1, 2, 3], 0.5, 3.5),
        ([1, 2, 3], -4.0, 0.0),  # nothing above 0 is left
        ([3], 0.0, 1.0),  # one word: 0·3 is -2, 3·0 is 1
        ([3, 0, 0, 0], 0.0, 1.0),
        ([3, 0, 0, 0], 5.0, 6.0),
    ],
)
def test_the_largest_value_over_the_windows(ids: list[int], bias: float, expected: float) -> None:
    model = network()
    set_up(model, filters=[[1.0, 1.0], [0.0, 2.0]], bias=bias)

    assert feature(model, ids) == pytest.approx(expected)


def test_a_window_of_padding_does_not_count() -> None:
    """With a filter that likes no word, the bias alone would be the largest value in the longer padding."""
    model = network()
    set_up(model, filters=[[-1.0, -1.0], [-1.0, -1.0]], bias=5.0)

    assert feature(model, [1]) == pytest.approx(4.0)
    assert feature(model, [1, 0, 0, 0, 0]) == pytest.approx(4.0)


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_windows_wider_than_the_text_read_it_as_a_plain_loop_does(length: int) -> None:
    model = network(windows=[1, 3, 4], filters=5)
    ids = [1, 4, 2, 5, 3][:length]
    vectors = model.embeddings.weight.detach().double().numpy()[ids]

    expected = []
    for layer, window in zip(model.convolutions, (1, 3, 4), strict=True):
        weight, bias = (layer.get_parameter(name).detach().double().numpy() for name in ("weight", "bias"))
        zeros = np.zeros((window - 1, 2))
        padded = np.concatenate([zeros, vectors, zeros])
        values = [
            bias + np.einsum("fwp,pw->f", weight, padded[start : start + window])
            for start in range(len(padded) - window + 1)
        ]
        expected.append(np.maximum(np.max(values, axis=0), 0))

    with torch.inference_mode():
        found = model(torch.tensor([[*ids, 0, 0], [1, 2, 3, 4, 5, 1, 2][: length + 2]])).features[0]
    np.testing.assert_allclose(found.numpy(), np.concatenate(expected), atol=1e-6)


def test_the_weights_of_a_class_are_no_longer_than_they_may_be() -> None:
    """Of lengths 5 and 1, the first is scaled to 3; the second stays. Only filters that read words may grow."""
    model = network(max_norm=3.0, filters=2, dense_size=0)
    with torch.no_grad():
        model.classifier.weight.copy_(torch.tensor([[3.0, 4.0], [0.6, 0.8]]))

    model(torch.tensor([[1, 2]]))

    torch.testing.assert_close(model.classifier.weight.detach(), torch.tensor([[1.8, 2.4], [0.6, 0.8]]))


def test_without_a_limit_weights_stay_as_they_are() -> None:
    model = network(filters=2, dense_size=0)
    before = model.classifier.weight.detach().clone() * 100
    with torch.no_grad():
        model.classifier.weight.copy_(before)

    model(torch.tensor([[1, 2]]))

    assert torch.equal(model.classifier.weight, before)

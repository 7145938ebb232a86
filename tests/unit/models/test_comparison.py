"""Two texts compared word by word, worked by hand."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from limbeck.models.bag import bag, bag_multiply_adds
from limbeck.models.bilstm import bilstm, bilstm_multiply_adds
from limbeck.models.comparison import Comparison, TextStates
from limbeck.recipe.student import Bag, BiLstm

UNKNOWN, MASK, CAT, DOG, COW = 1, 2, 3, 4, 5


def comparison() -> Comparison:
    """Reads states as they are, and says of each word [own; aligned; distance; product; match], one number each."""
    found = Comparison(width=1, size=1, words=6, dropout=0.0)
    found.start_weights()
    with torch.no_grad():
        found.project.weight.fill_(1.0)
        found.project.bias.zero_()
        found.join = nn.Linear(5, 5, bias=False)
        found.join.weight.copy_(torch.eye(5))
    return found


def text(ids: list[int], states: list[float], *, padding: int = 0) -> TextStates:
    inside = [True] * len(ids) + [False] * padding
    return TextStates(
        torch.tensor([ids + [COW] * padding]),
        torch.tensor([inside]),
        torch.tensor([[[state] for state in states + [9.0] * padding]]),
    )


def features(model: Comparison, one: TextStates, other: TextStates) -> tuple[list[float], list[float]]:
    def compose(states: Tensor, inside: Tensor) -> Tensor:
        del inside
        return states

    with torch.inference_mode():
        both = model(one, other, compose=compose)
    return both[0][0].tolist(), both[1][0].tolist()


def test_a_word_is_compared_with_the_words_that_are_like_it() -> None:
    model = comparison()

    # cat is 1 against dog 2 and cow 0: e = 2 and 0, so that its shares are e²/(e² + 1) and 1/(e² + 1)
    first, _ = features(model, text([CAT], [1.0]), text([DOG, COW], [2.0, 0.0]))

    aligned = 2 * math.exp(2) / (math.exp(2) + 1)
    said = [1.0, aligned, aligned - 1, aligned, 0.0]
    assert first == pytest.approx([*said, *said, 0.0, 0.0], abs=1e-5)  # mean and largest of one word; no overlap


def test_an_equal_word_counts_more_and_is_reported() -> None:
    model = comparison()

    first, second = features(model, text([CAT], [1.0]), text([DOG, CAT], [2.0, 0.0]))

    of_dog = math.exp(2) / (math.exp(2) + math.exp(5))  # the equal word has 0 + 5
    assert first[1] == pytest.approx(2 * of_dog, abs=1e-5)
    assert first[-2:] == pytest.approx([1.0, 1.0])
    weights = [math.log(DOG + 2), math.log(CAT + 2)]  # exp of ln ln
    assert second[-2:] == pytest.approx([weights[1] / sum(weights), 0.5])


def test_unknown_words_and_masks_are_equal_to_nothing() -> None:
    model, states = comparison(), [1.0, 1.0]

    first, second = features(model, text([UNKNOWN, MASK], states), text([UNKNOWN, MASK], states))

    assert first[-2:] == second[-2:] == [0.0, 0.0]


def test_padding_of_either_text_changes_nothing_in_either() -> None:
    model = comparison()
    one, other = ([CAT, DOG], [1.0, 0.5]), ([DOG, COW, UNKNOWN], [0.3, 2.0, 0.1])

    plain = features(model, text(*one), text(*other))

    for own, others in ((3, 0), (0, 4), (2, 1)):
        padded = features(model, text(*one, padding=own), text(*other, padding=others))
        assert padded[0] == pytest.approx(plain[0], abs=1e-6)
        assert padded[1] == pytest.approx(plain[1], abs=1e-6)


def test_gradients_are_finite_with_padding_and_texts_without_a_word() -> None:
    for section in (BiLstm(pairing="attend", hidden_size=3), Bag(kind="bag", pairing="attend")):
        build: Any = bilstm if isinstance(section, BiLstm) else bag
        network = build(section, vocabulary_size=9, embedding_size=4, labels=["a", "b"], pair=True)
        ids, pair_ids = torch.tensor([[3, 4, 5], [0, 0, 0]]), torch.tensor([[4, 0], [0, 0]])

        network(ids, pair_ids=pair_ids, labels=torch.tensor([0, 1])).loss.backward()

        gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
        assert gradients
        assert all(torch.isfinite(gradient).all() for gradient in gradients)


def test_a_network_for_single_texts_has_no_comparison() -> None:
    section = BiLstm(pairing="attend", hidden_size=3)

    network = bilstm(section, vocabulary_size=9, embedding_size=4, labels=["a", "b"], pair=False)

    assert network.comparison is None


def test_multiply_adds_are_those_of_the_words_their_alignment_and_the_head() -> None:
    shape = {"pair": True, "pairing": "attend", "compare_size": 5, "dense_size": 7, "embedding_size": 6}
    config = {**shape, "static_channel": False, "hidden_size": 4, "layers": 1, "cell": "lstm", "pooling": "max"}

    of_bag = bag_multiply_adds(config, tokens=[2, 3], classes=2, exported=True)
    of_bilstm = bilstm_multiply_adds(config, tokens=[2, 3], classes=2, exported=True)

    head = 4 * (2 * 5 + 2) * 7 + 7 * 2
    assert of_bag == 5 * (6 * 5 + 21 * 5 + 5) + 3 * 6 * 5 + head
    assert of_bilstm == 5 * 2 * 16 * (6 + 4) + 5 * (8 * 5 + 21 * 5 + 5) + 3 * 6 * 5 + head
    two = bilstm_multiply_adds({**config, "layers": 2}, tokens=[2, 3], classes=2, exported=True)
    second = 5 * 2 * 16 * (5 + 4)
    assert two == 5 * 320 + second + 5 * (40 + 105 + 8) + 90 + 4 * (2 * 8 + 2) * 7 + 14

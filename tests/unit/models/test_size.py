"""Counting parameters."""

from torch import nn

from limbeck.models.bag import bag
from limbeck.models.bilstm import bilstm
from limbeck.models.size import parameter_count, parameter_count_without_embeddings
from limbeck.models.textcnn import textcnn
from limbeck.recipe.student import Bag, BiLstm, TextCnn


def test_a_bilstm_has_the_number_of_parameters_of_its_formula() -> None:
    section = BiLstm(hidden_size=5, dense_size=7)

    model = bilstm(section, vocabulary_size=11, embedding_size=3, labels=["a", "b", "c"], pair=False)

    embeddings = 11 * 3
    lstms = 2 * 4 * (5 * 3 + 5 * 5 + 2 * 5)  # two directions, four gates, PyTorch's two biases
    dense = 2 * 5 * 7 + 7
    classes = 7 * 3 + 3
    assert parameter_count(model) == embeddings + lstms + dense + classes
    assert parameter_count_without_embeddings(model) == lstms + dense + classes


def test_a_second_level_a_gru_attention_and_a_second_channel_count_as_in_their_formulas() -> None:
    section = BiLstm(hidden_size=5, dense_size=7, layers=2, cell="gru", pooling="attention", static_channel=True)

    model = bilstm(section, vocabulary_size=11, embedding_size=3, labels=["a", "b", "c"], pair=True)

    embeddings = 2 * 11 * 3
    levels = sum(2 * 3 * (5 * width + 5 * 5 + 2 * 5) for width in (2 * 3, 2 * 5))  # three gates
    attention = 10 * 10 + 10 + 10
    dense = 4 * 2 * 5 * 7 + 7
    classes = 7 * 3 + 3
    assert parameter_count(model) == embeddings + levels + attention + dense + classes
    assert parameter_count_without_embeddings(model) == levels + attention + dense + classes


def test_a_textcnn_has_the_number_of_parameters_of_its_formula() -> None:
    section = TextCnn(kind="textcnn", windows=[2, 4], filters=5)

    model = textcnn(section, vocabulary_size=11, embedding_size=3, labels=["a", "b", "c"], pair=False)

    filters = (2 + 4) * 3 * 5 + 2 * 5
    assert parameter_count_without_embeddings(model) == filters + 2 * 5 * 3 + 3
    assert parameter_count(model) == 11 * 3 + filters + 2 * 5 * 3 + 3


def test_the_weights_of_words_count_with_the_embeddings() -> None:
    section = Bag(kind="bag", dense_size=7)

    model = bag(section, vocabulary_size=11, embedding_size=3, labels=["a", "b", "c"], pair=False)

    head = 3 * 7 + 7 + 7 * 3 + 3
    assert parameter_count(model) == 11 * 3 + 11 + head
    assert parameter_count_without_embeddings(model) == head


def test_every_embedding_table_is_excluded_also_one_below_another_module() -> None:
    model = nn.ModuleDict(
        {"below": nn.Sequential(nn.Embedding(10, 4), nn.LayerNorm(4)), "positions": nn.Embedding(6, 4)}
    )

    assert parameter_count(model) == 10 * 4 + 6 * 4 + 8
    assert parameter_count_without_embeddings(model) == 8


def test_a_weight_that_two_modules_share_is_counted_once_and_as_an_embedding() -> None:
    model = nn.ModuleDict({"words": nn.Embedding(10, 4), "back": nn.Linear(4, 10, bias=False)})
    model["back"].weight = model["words"].weight

    assert parameter_count(model) == 40
    assert parameter_count_without_embeddings(model) == 0


def test_frozen_weights_count_too() -> None:
    model = nn.Linear(4, 3)
    model.weight.requires_grad_(False)

    assert parameter_count(model) == 15

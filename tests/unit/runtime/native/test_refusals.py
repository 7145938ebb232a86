from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

LogitsOf = Callable[..., npt.NDArray[np.float32]]

WORDS, WIDTH = 10, 4


def bag_arguments(**more: Any) -> dict[str, Any]:
    zeros = np.zeros((WORDS + 1, WIDTH), dtype=np.float32)
    classifier = (np.zeros((3, WIDTH), dtype=np.float32), np.zeros(3, dtype=np.float32))
    return {"embeddings": zeros, "classifier": classifier} | more


def lstm_arguments(**more: Any) -> dict[str, Any]:
    hidden = 2
    layer = (
        *(np.zeros((2, 4 * hidden, WIDTH), dtype=np.float32), None),
        *(np.zeros((2, 4 * hidden, hidden), dtype=np.float32), None),
        np.zeros((2, 8 * hidden), dtype=np.float32),
    )
    return bag_arguments(cell="lstm", pooling="max", layers=[layer]) | more


def convolution_arguments(**more: Any) -> dict[str, Any]:
    filters, bias = np.zeros((WIDTH, 12), dtype=np.float32), np.zeros(4, dtype=np.float32)
    return bag_arguments(windows=[1, 2], filters=filters, bias=bias) | {"windows": [3], **more}


@pytest.mark.parametrize("id_", [WORDS, -1, 2**40, 2**70, -(2**70)])
def test_an_id_that_is_no_word_is_refused(extension: Any, logits_of: LogitsOf, id_: int) -> None:
    network = extension.Bag(**bag_arguments())

    with pytest.raises(ValueError, match="no such word"):
        logits_of(network, [[[0, 1], [2, id_]]])


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ([[[]]], ValueError, "a text has no tokens"),
        ([[b""]], ValueError, "a text has no tokens"),
        ([[b"\1\0\0"]], ValueError, "a text has half an id"),
        ([[WORDS.to_bytes(4, "little")]], ValueError, "no such word: 10 of 10"),
        ([[b"\xff\xff\xff\xff"]], ValueError, "no such word: -1 of 10"),
        ([[bytearray(4)]], TypeError, "a text must be a list of ints"),
        ([[[1]], [[1]]], ValueError, "the model reads 1 texts a row"),
        ([], ValueError, "the model reads 1 texts a row"),
        ([[(1, 2)]], TypeError, "a text must be a list of ints"),
        ([[["1"]]], TypeError, "a text must be a list of ints"),
        ([[[1.0]]], TypeError, "a text must be a list of ints"),
        ([[[np.int64(1)]]], TypeError, "a text must be a list of ints"),
        ([((1,),)], TypeError, "a column must be a list of texts"),
        (([[1]],), TypeError, "columns must be a list"),
    ],
)
def test_rows_that_are_none_are_refused(extension: Any, columns: Any, error: type[Exception], message: str) -> None:
    network = extension.Bag(**bag_arguments())

    with pytest.raises(error, match=message):
        network.logits(columns, np.zeros((1, 3), dtype=np.float32), 1)


def test_columns_of_different_lengths_are_refused(extension: Any) -> None:
    classifier = (np.zeros((3, 4 * WIDTH), dtype=np.float32), np.zeros(3, dtype=np.float32))
    network = extension.Bag(**bag_arguments(pair=True, classifier=classifier))

    with pytest.raises(ValueError, match="columns have not the same length"):
        network.logits([[[1], [2]], [[1]]], np.zeros((2, 3), dtype=np.float32), 1)


@pytest.mark.parametrize(
    ("out", "error"),
    [
        (np.zeros((1, 3)), ValueError),
        (np.zeros((2, 3), dtype=np.float32), ValueError),
        (np.zeros((1, 6), dtype=np.float32)[:, ::2], TypeError),
        (np.broadcast_to(np.float32(0), (1, 3)), TypeError),
        (bytes(12), TypeError),
    ],
)
def test_an_out_that_cannot_take_the_logits_is_refused(extension: Any, out: Any, error: type[Exception]) -> None:
    network = extension.Bag(**bag_arguments())

    with pytest.raises(error, match="out must"):
        network.logits([[[1]]], out, 1)


def test_a_network_works_on_after_it_refused_rows(extension: Any, logits_of: LogitsOf) -> None:
    network = extension.Bag(**bag_arguments())
    with pytest.raises(ValueError, match="no such word"):
        logits_of(network, [[[WORDS]]])

    assert logits_of(network, [[[1]]]).tolist() == [[0.0, 0.0, 0.0]]


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return np.zeros(shape, dtype=np.float32)


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        ("Bag", bag_arguments(level="sse"), "no such level: 'sse'"),
        ("Bag", bag_arguments(embeddings=floats(WORDS)), "embeddings must have the shape"),
        ("Bag", bag_arguments(embeddings=np.zeros((3, WIDTH))), "embeddings must be float32 or int8"),
        ("Bag", bag_arguments(embeddings=floats(1, WIDTH)), "embeddings must hold a word"),
        ("Bag", bag_arguments(embedding_scales=floats(WORDS + 1)), "embedding_scales must be given with int8"),
        ("Bag", bag_arguments(embeddings=np.zeros((3, WIDTH), dtype=np.int8)), "embedding_scales must be given"),
        ("Bag", bag_arguments(classifier=(floats(3, 5), floats(3))), "the weight of classifier must have the shape"),
        ("Bag", bag_arguments(classifier=(floats(3, 4), floats(2))), "the bias of classifier must hold 3 numbers"),
        ("Bag", bag_arguments(classifier=(floats(3, 4),)), "classifier must have 2 items"),
        ("Bag", bag_arguments(classifier=(floats(0, 4), floats(0))), "classifier must have an output"),
        ("Bag", bag_arguments(dense=(floats(0, 4), floats(0))), "dense must have an output"),
        ("Bag", bag_arguments(dense=(floats(5, 4), floats(5))), "the weight of classifier must have the shape"),
        ("Bag", bag_arguments(word_weights=floats(WORDS)), "word_weights must hold 11 numbers"),
        ("Recurrent", lstm_arguments(cell="rnn"), "no such cell: 'rnn'"),
        ("Recurrent", lstm_arguments(pooling="min"), "no such pooling: 'min'"),
        ("Recurrent", lstm_arguments(pooling="attention"), "attention must be given"),
        ("Recurrent", lstm_arguments(layers=[]), "layers must hold a layer"),
        ("Recurrent", lstm_arguments(cell="gru"), "B must have the shape"),
        ("Recurrent", lstm_arguments(layers=lstm_arguments()["layers"] * 2, embeddings=floats(11, 3)), "W must have"),
        ("Convolution", convolution_arguments(windows=[5]), "filters must have a multiple"),
        ("Convolution", convolution_arguments(windows=[0, 3]), "windows must be at least 1"),
        # Their sum would be 3, or 12, if numbers had no more than 64 bits.
        ("Convolution", convolution_arguments(windows=[2**63 - 1, 2**63 - 1, 5]), "filters must have a multiple"),
        ("Convolution", convolution_arguments(windows=[2**62] * 4 + [12]), "filters must have a multiple"),
        ("Convolution", convolution_arguments(bias=floats(3)), "bias must hold 4 numbers"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    extension: Any, kind: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(extension, kind)(**arguments)


def test_integers_beyond_127_are_refused(extension: Any) -> None:
    filters = np.full((WIDTH, 12), -128, dtype=np.int8)
    words = {"embeddings": np.zeros((3, WIDTH), dtype=np.int8), "embedding_scales": floats(3)}

    with pytest.raises(ValueError, match=r"within -127\.\.127"):
        extension.Convolution(**convolution_arguments(filters=filters, filter_scales=floats(12), **words))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"embeddings": floats(3, 4)}, "missing argument: 'classifier'"),
        (bag_arguments(colour="red"), "no such argument: 'colour'"),
        (bag_arguments(embeddings=[[1.0]]), "embeddings must be a C-contiguous array"),
        (bag_arguments(embeddings=floats(8, 4)[::2]), "embeddings must be a C-contiguous array"),
        (bag_arguments(folding_bytes="1"), "folding_bytes must be an int"),
        (bag_arguments(level=2), "level must be a str"),
        (bag_arguments(classifier=7), "classifier must be a list or a tuple"),
    ],
)
def test_arguments_of_another_type_are_refused(extension: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        extension.Bag(**arguments)


def test_a_truth_that_cannot_be_known_is_an_error_of_whoever_was_asked(extension: Any) -> None:
    with pytest.raises(ValueError, match="truth value of an array"):
        extension.Bag(**bag_arguments(pair=np.array([True, False])))


def test_positional_arguments_are_refused(extension: Any) -> None:
    with pytest.raises(TypeError, match="all arguments are keyword arguments"):
        extension.Bag(floats(3, 4))

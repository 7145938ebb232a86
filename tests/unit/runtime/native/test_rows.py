"""A row's logits depend on nothing but the row: not on its batch, on threads, on what was read before it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

LogitsOf = Callable[..., npt.NDArray[np.float32]]
Build = Callable[..., Any]

WORDS, WIDTH, HIDDEN = 300, 30, 22
KINDS = ["lstm", "lstm int8", "gru", "gru int8", "lstm attention", "convolution", "bag", "bag pair"]


@pytest.fixture(params=KINDS)
def build(request: pytest.FixtureRequest, extension: Any, level: str, draw: Any) -> Build:
    """Makes one and the same network, with more arguments."""
    kind, _, rest = request.param.partition(" ")
    embeddings = draw.floats(WORDS + 1, WIDTH)
    head = draw.head(
        40 if kind == "convolution" else 2 * HIDDEN if kind in ("lstm", "gru") else WIDTH, pair="pair" in rest
    )
    arguments = {"embeddings": embeddings, "dense": head.dense, "classifier": head.classifier, "level": level}
    if kind == "bag":
        return lambda **more: extension.Bag(**arguments, pair="pair" in rest, **more)
    if kind == "convolution":
        filters = {"windows": [2, 3], "filters": draw.floats(WIDTH, 5 * 20), "bias": draw.floats(40)}
        return lambda **more: extension.Convolution(**arguments, **filters, **more)
    arguments |= {"cell": kind, "pooling": "attention" if rest == "attention" else "max"}
    arguments["layers"] = [layer(draw, kind, int8=rest == "int8")]
    if rest == "attention":
        states = 2 * HIDDEN
        arguments["attention"] = (draw.floats(states, states), None, draw.floats(states), draw.floats(states, 1))
    return lambda **more: extension.Recurrent(**arguments, **more)


def layer(draw: Any, cell: str, *, int8: bool) -> tuple[Any, ...]:
    """Weights of a layer. Only the recurrent ones become integers: whatever rounds the states is in use then."""
    outputs = (4 if cell == "lstm" else 3) * HIDDEN
    weights, recurrent = draw.floats(2, outputs, WIDTH), draw.floats(2, outputs, HIDDEN)
    bias = draw.floats(2, 2 * outputs)
    if not int8:
        return weights, None, recurrent, None, bias
    stored = draw.integers(recurrent, limit=63 if cell == "lstm" else 127)
    if cell == "lstm":
        return weights, None, stored.integers.transpose(0, 2, 1).copy(), stored.scales.squeeze(-1), bias
    return weights, None, stored.integers, stored.scales, bias


@pytest.fixture
def columns(request: pytest.FixtureRequest, draw: Any) -> list[list[list[int]]]:
    lengths = [1, 7, 3, 12, 12, 1, 30, 2, 5]
    pair = "pair" in request.node.callspec.params["build"]
    rows: list[list[list[int]]] = draw.rows(WORDS, lengths * 15, columns=2 if pair else 1)
    return rows


def test_rows_together_say_what_each_says_alone(
    build: Build, logits_of: LogitsOf, columns: list[list[list[int]]]
) -> None:
    for count in range(1, 10):
        network = build()

        together = logits_of(network, [column[:count] for column in columns])

        alone = [logits_of(network, [[column[row]] for column in columns])[0] for row in range(count)]
        np.testing.assert_array_equal(together, alone, err_msg=f"{count} rows")


def test_threads_change_nothing(build: Build, logits_of: LogitsOf, columns: list[list[list[int]]]) -> None:
    many = [column * 10 for column in columns]
    network = build()

    np.testing.assert_array_equal(logits_of(network, many, threads=3), logits_of(network, many))


def test_what_is_folded_changes_nothing(build: Build, logits_of: LogitsOf, columns: list[list[list[int]]]) -> None:
    folding, half, never = build(), build(folding_bytes=20_000), build(folding_bytes=0)

    first = logits_of(folding, columns)

    assert folding.folded_bytes() > 20_000
    for network in (folding, half, never):
        np.testing.assert_array_equal(logits_of(network, columns), first)
    assert 10_000 < half.folded_bytes() <= 20_000
    assert never.folded_bytes() == 0


def test_many_threads_may_use_one_network_that_has_still_everything_to_fold(
    build: Build, logits_of: LogitsOf, columns: list[list[list[int]]]
) -> None:
    expected = logits_of(build(), columns)
    network = build(folding_bytes=100_000)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda threads: logits_of(network, columns, threads=threads), [1, 2] * 12))

    for answer in answers:
        np.testing.assert_array_equal(answer, expected)
    assert network.folded_bytes() <= 100_000


def test_no_rows_are_no_trouble(build: Build, logits_of: LogitsOf, columns: list[list[list[int]]]) -> None:
    assert logits_of(build(), [[] for _ in columns]).shape == (0, 3)

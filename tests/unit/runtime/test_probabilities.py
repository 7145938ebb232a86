import numpy as np
import pytest

from limbeck.runtime.probabilities import best_labels, confidence, label_sets, probabilities_of, sigmoid, softmax

LABELS = ["bad", "long", "loud"]


def test_softmax_keeps_large_logits_finite() -> None:
    logits = np.array([[1000.0, 999.0], [-1000.0, -1000.0]], dtype=np.float32)

    probabilities = softmax(logits)

    np.testing.assert_allclose(probabilities, [[0.7310586, 0.2689414], [0.5, 0.5]], rtol=1e-6)


@pytest.mark.parametrize("classes", [1, 2, 16, 17, 100])
def test_a_row_alone_has_the_same_probabilities_and_label_as_among_others(classes: int) -> None:
    rows = 4 * np.random.default_rng(0).standard_normal((30, classes)).astype(np.float32)
    labels = [str(number) for number in range(classes)]

    together = softmax(rows)
    alone = [softmax(rows[place : place + 1]) for place in range(30)]

    assert {row.dtype for row in alone} == {together.dtype} == {np.dtype(np.float32)}
    np.testing.assert_allclose(np.concatenate(alone), together, rtol=1e-5)
    assert [best_labels(row, labels)[0] for row in alone] == best_labels(together, labels)


def test_a_row_alone_keeps_large_logits_finite() -> None:
    np.testing.assert_allclose(
        softmax(np.array([[1000.0, 999.0]], dtype=np.float32)), [[0.7310586, 0.2689414]], rtol=1e-6
    )


def test_of_labels_that_are_equally_probable_the_first_is_the_best() -> None:
    assert best_labels(np.array([[0.2, 0.4, 0.4]]), LABELS) == ["long"]
    assert best_labels(np.array([[0.2, 0.4, 0.4], [0.4, 0.4, 0.2]]), LABELS) == ["long", "bad"]


@pytest.mark.parametrize("shape", [(4,), (1, 2, 3), (1, 1, 3)])
def test_softmax_goes_along_the_last_axis_of_any_shape(shape: tuple[int, ...]) -> None:
    logits = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)

    probabilities = softmax(logits)

    assert probabilities.shape == shape
    np.testing.assert_allclose(probabilities.sum(axis=-1), 1.0, rtol=1e-6)


def test_sigmoid_keeps_large_logits_finite_and_small_probabilities_exact() -> None:
    logits = np.array([-1000.0, -20.0, 0.0, 1.0, 1000.0], dtype=np.float32)

    probabilities = sigmoid(logits)

    np.testing.assert_allclose(probabilities, [0.0, 2.0611537e-9, 0.5, 0.7310586, 1.0], rtol=1e-6)
    assert probabilities.dtype == np.float32


@pytest.mark.parametrize(("multi_label", "sums"), [(False, [1.0, 1.0]), (True, [1.5, 1.7310586])])
def test_probabilities_sum_to_one_unless_a_row_may_have_several_labels(multi_label: bool, sums: list[float]) -> None:
    logits = np.array([[0, 0, 0], [0, 1, 0]], dtype=np.float32)

    probabilities = probabilities_of(logits, multi_label=multi_label)

    np.testing.assert_allclose(probabilities.sum(axis=1), sums, rtol=1e-6)


def test_the_best_label_is_one_and_the_labels_that_apply_are_any_number() -> None:
    probabilities = np.array([[0.9, 0.5, 0.7], [0.1, 0.2, 0.49]], dtype=np.float32)

    assert best_labels(probabilities, LABELS) == ["bad", "loud"]
    assert label_sets(probabilities, LABELS) == [["bad", "long", "loud"], []]


def test_no_rows_have_no_labels() -> None:
    nothing = np.zeros((0, 3), dtype=np.float32)

    assert best_labels(nothing, LABELS) == []
    assert label_sets(nothing, LABELS) == []
    assert softmax(nothing).shape == sigmoid(nothing).shape == (0, 3)


def test_the_confidence_in_a_set_of_labels_is_that_of_all_its_answers_together() -> None:
    probabilities = np.array([[0.9, 0.2], [0.4, 0.5]])

    found = confidence(probabilities, multi_label=True)

    assert found == pytest.approx([0.9 * 0.8, 0.6 * 0.5])
    assert confidence(probabilities, multi_label=False) == pytest.approx([0.9, 0.5])

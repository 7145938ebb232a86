"""Texts compared word by word, by the extension at every level and by the network itself."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from limbeck.export.graphs import graph_of, int8_of
from limbeck.kinds import STUDENT_KINDS, resolved
from limbeck.models.students import word_student
from limbeck.recipe.student import Bag, BiLstm
from limbeck.runtime.onnx_file import OnnxFile
from limbeck.runtime.onnx_file import graph_of as read

LogitsOf = Callable[..., npt.NDArray[np.float32]]

WORDS, WIDTH = 40, 21
LENGTHS = [1, 5, 9, 2, 70, 3, 1, 17]  # more words than are multiplied together
SECTIONS: list[BiLstm | Bag] = [
    *(BiLstm(pairing="attend", compare_size=size, hidden_size=hidden) for size, hidden in ((1, 3), (33, 19), (64, 8))),
    BiLstm(pairing="attend", compare_size=12, hidden_size=7, cell="gru", dense_size=0),
    *(Bag(kind="bag", pairing="attend", compare_size=size) for size in (1, 30)),
]


def network_of(graph: OnnxFile, *, level: str) -> Any:
    """The network of the extension, at this level."""
    from limbeck.runtime import native_graph

    plan = resolved(STUDENT_KINDS[graph.name].native_plan or "")(graph)
    return plan.network(**plan.arguments, **native_graph._shared(graph), level=level)


def logits_of_network(network: Any, columns: list[list[list[int]]]) -> npt.NDArray[np.float32]:
    """Row by row, without any padding: also the id of padding is a word here."""
    each = []
    for texts in zip(*columns, strict=True):
        ids, pair_ids = (torch.tensor([text]) for text in texts)
        masks = {"attention_mask": torch.ones_like(ids), "pair_mask": torch.ones_like(pair_ids)}
        with torch.inference_mode():
            each.append(network(ids, pair_ids=pair_ids, **masks).logits)
    found: npt.NDArray[np.float32] = torch.cat(each).numpy()
    return found


@pytest.mark.usefixtures("extension")
def test_it_says_what_the_network_says(level: str, draw: Any, logits_of: LogitsOf) -> None:
    columns = draw.rows(WORDS, LENGTHS, columns=2)
    for section in SECTIONS:
        torch.manual_seed(0)
        trained = word_student(section, vocabulary_size=WORDS, embedding_size=WIDTH, labels=["a", "b", "c"], pair=True)
        with torch.no_grad():
            for parameter in trained.parameters():
                parameter.mul_(2)  # initial weights say nearly the same of every text
        graph = graph_of(trained.eval())
        expected = logits_of_network(trained, columns)
        for model, tolerance in ((graph, 2e-5), (int8_of(trained, graph), 0.06)):
            native = network_of(read(memoryview(model.SerializeToString())), level=level)

            logits = logits_of(native, columns)

            near = tolerance * max(1.0, float(np.abs(expected).max()))
            np.testing.assert_allclose(logits, expected, rtol=0, atol=near, err_msg=f"{section}")
            alone = [logits_of(native, [[one], [other]]) for one, other in zip(*columns, strict=True)]
            np.testing.assert_array_equal(np.concatenate(alone), logits)


def test_a_comparison_that_does_not_fit_is_refused(extension: Any, draw: Any) -> None:
    head = draw.head(2 * 4 + 2, pair=True)
    comparison = [draw.floats(6, 4), None, draw.floats(4), draw.floats(17, 4), None, draw.floats(4), draw.floats(1)]
    arguments = {"embeddings": draw.floats(WORDS + 1, 6), "dense": head.dense, "classifier": head.classifier}
    fitting = (*comparison, draw.floats(WORDS + 1))

    assert extension.Bag(**arguments, pair=True, comparison=fitting)
    for wrong, reason in (
        ((*comparison, draw.floats(WORDS)), "word weights of a comparison"),
        ((*comparison[:3], draw.floats(16, 4), *comparison[4:], fitting[7]), "joined numbers"),
        (fitting[:7], "comparison"),
    ):
        with pytest.raises(ValueError, match=reason):
            extension.Bag(**arguments, pair=True, comparison=wrong)
    with pytest.raises(ValueError, match="for pairs"):
        extension.Bag(**arguments, pair=False, comparison=fitting)

import json
import random
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from limbeck.serving.limits import Limits
from limbeck.serving.wire.kserve import model_body, read_infer, server_body
from limbeck.serving.wire.questions import Answered, AskedModel
from limbeck.serving.wire.refusals import Refused

Ask = Callable[..., Any]
Refusal = Callable[..., tuple[int, str]]


def tensor(data: Any, *, name: str = "text", shape: Any = None, **others: Any) -> dict[str, Any]:
    return {"name": name, "datatype": "BYTES", "shape": shape or [len(data)], "data": data, **others}


def packed(*texts: str) -> bytes:
    """Texts as the binary form has them."""
    return b"".join(struct.pack("<I", len(text.encode())) + text.encode() for text in texts)


def binary_request(question: Any, data: bytes) -> tuple[bytes, dict[str, str]]:
    """Body and headers of a request whose tensors follow the JSON."""
    head = json.dumps(question).encode()
    return head + data, {"inference-header-content-length": str(len(head))}


def binary_tensor(*texts: str, name: str = "text", shape: Any = None) -> dict[str, Any]:
    size = {"binary_data_size": len(packed(*texts))}
    return {"name": name, "datatype": "BYTES", "shape": shape or [len(texts)], "parameters": size}


def test_texts_are_read_from_json_under_any_name(ask: Ask) -> None:
    for question in (
        tensor(["a", "b"]),
        tensor(["a", "b"], shape=[2, 1], name="INPUT0"),
        tensor([["a"], ["b"]], shape=[2, 1]),
    ):
        assert ask(read_infer, {"inputs": [question]}).rows == ["a", "b"]


def test_no_content_type_is_needed(ask: Ask) -> None:
    for headers in ({}, {"content-type": "application/octet-stream"}, {"content-type": "application/json"}):
        assert ask(read_infer, {"inputs": [tensor(["a"])]}, headers=headers).rows == ["a"]


def test_pairs_are_two_tensors_or_one_of_two_columns(ask: Ask) -> None:
    questions = [
        [tensor(["a", "b"]), tensor(["c", "d"], name="pair")],
        [tensor(["c", "d"], name="pair"), tensor(["a", "b"])],
        [tensor(["a", "c", "b", "d"], shape=[2, 2])],
        [tensor([["a", "c"], ["b", "d"]], shape=[2, 2])],
    ]

    for question in questions:
        assert ask(read_infer, {"inputs": question}, model="pair").rows == [("a", "c"), ("b", "d")]


def test_binary_texts_are_read(ask: Ask) -> None:
    body, headers = binary_request({"inputs": [binary_tensor("a film", "电影", "")]}, packed("a film", "电影", ""))

    assert ask(read_infer, body, headers=headers).rows == ["a film", "电影", ""]


def test_binary_tensors_follow_each_other(ask: Ask) -> None:
    question = {"inputs": [binary_tensor("a", "b", name="pair"), binary_tensor("c", "dd")]}
    body, headers = binary_request(question, packed("a", "b") + packed("c", "dd"))

    assert ask(read_infer, body, headers=headers, model="pair").rows == [("c", "a"), ("dd", "b")]


def test_json_is_answered_with_labels_and_probabilities(ask: Ask, answered: Callable[..., Answered]) -> None:
    written = ask(read_infer, {"id": "42", "inputs": [tensor(["a", "b"])]}).write(answered())

    assert (written.media_type, written.headers) == ("application/json", {})
    found = json.loads(written.body)
    assert (found["model_name"], found["model_version"], found["id"]) == ("single", "1f", "42")
    labels, probabilities = found["outputs"]
    assert labels == {"name": "label", "datatype": "BYTES", "shape": [2], "data": ["good", "bad"]}
    assert (probabilities["name"], probabilities["datatype"], probabilities["shape"]) == (
        "probabilities",
        "FP32",
        [2, 3],
    )
    assert probabilities["data"] == pytest.approx([0.1, 0.2, 0.7, 0.6, 0.3, 0.1])


def test_a_binary_answer_has_the_length_of_its_json_in_a_header(ask: Ask, answered: Callable[..., Answered]) -> None:
    question = {"inputs": [tensor(["a", "b"])], "parameters": {"binary_data_output": True}}

    written = ask(read_infer, question).write(answered())

    length = int(written.headers["inference-header-content-length"])
    outputs = json.loads(written.body[:length])["outputs"]
    assert [output["parameters"]["binary_data_size"] for output in outputs] == [15, 24]
    assert "data" not in outputs[0]
    assert written.body[length:].startswith(packed("good", "bad"))
    numbers = np.frombuffer(written.body[length + 15 :], dtype="<f4").reshape(2, 3)
    np.testing.assert_array_equal(numbers, answered().probabilities)
    assert written.media_type == "application/octet-stream"


def test_only_requested_outputs_are_given_in_their_order_and_form(ask: Ask, answered: Callable[..., Answered]) -> None:
    outputs = [{"name": "probabilities", "parameters": {"binary_data": True}}, {"name": "label"}]
    logits = np.array([[1, 2, 3]], dtype=np.float32)

    both = ask(read_infer, {"inputs": [tensor(["a"])], "outputs": outputs}).write(answered(1))
    raw = ask(read_infer, {"inputs": [tensor(["a"])], "outputs": [{"name": "logits"}]})

    head = json.loads(both.body[: int(both.headers["inference-header-content-length"])])
    assert [(output["name"], "data" in output) for output in head["outputs"]] == [
        ("probabilities", False),
        ("label", True),
    ]
    (only,) = json.loads(raw.write(answered(1, logits=logits)).body)["outputs"]
    assert (only["name"], only["data"]) == ("logits", [1, 2, 3])


def test_several_labels_are_a_json_list(ask: Ask, answered: Callable[..., Answered]) -> None:
    written = ask(read_infer, {"inputs": [tensor(["a", "b"])]}, model="several").write(answered())

    assert json.loads(written.body)["outputs"][0]["data"] == ['["good"]', '["bad"]']


def test_the_number_of_rows_of_the_fallback_is_a_parameter(ask: Ask, answered: Callable[..., Answered]) -> None:
    said = answered(by_fallback=np.array([True, False]))

    written = ask(read_infer, {"inputs": [tensor(["a", "b"])]}).write(said)

    assert json.loads(written.body)["parameters"] == {"answered_by_fallback": 1}


def test_no_rows_get_no_answers(ask: Ask, answered: Callable[..., Answered]) -> None:
    asked = ask(read_infer, {"inputs": [tensor([], shape=[0])]})

    assert asked.rows == []
    assert json.loads(asked.write(answered(0)).body)["outputs"][1]["shape"] == [0, 3]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ([], "the body is not a question: send"),
        ({}, "inputs: Input should be a valid list"),
        ({"inputs": []}, "inputs: there are 0"),
        ({"inputs": [tensor(["a"])] * 3}, "inputs: there are 3"),
        ({"inputs": ["a"]}, "inputs[0]: Input should be an object"),
        ({"inputs": [tensor(["a"], name=1)]}, "inputs[0].name: Input should be a valid string"),  # type: ignore[arg-type]
        ({"inputs": [{**tensor(["a"]), "datatype": "FP32"}]}, "inputs[0].datatype: texts are sent as 'BYTES'"),
        ({"inputs": [tensor(["a"], shape=[2])]}, "inputs[0]: the shape is for 2 texts, but there are 1"),
        ({"inputs": [tensor(["a"], shape=[-1])]}, "inputs[0].shape"),
        ({"inputs": [tensor(["a"], shape=[True])]}, "inputs[0].shape"),
        ({"inputs": [tensor(["a"], shape=[1, 1, 1])]}, "inputs[0].shape"),
        ({"inputs": [tensor(["a"], shape=[1, 3])]}, "inputs[0].shape: a row has one text or two"),
        ({"inputs": [tensor(["a", 1])]}, "inputs[0].data[1]: Input should be a valid string"),
        ({"inputs": [tensor(["a"], parameters=1)]}, "inputs[0].parameters: Input should be an object"),
        ({"inputs": [binary_tensor("a")]}, "inputs[0]: binary data needs the header 'inference-header-content-length'"),
        ({"inputs": [tensor(["a", "b"], shape=[1, 2])]}, "this model reads one text per row"),
        ({"inputs": [tensor(["a"]), tensor(["b"], name="pair")]}, "this model reads one text per row"),
        ({"inputs": [tensor(["a"])], "id": 1}, "id: Input should be a valid string"),
        ({"inputs": [tensor(["a"])], "outputs": [{"name": "x"}]}, "outputs[0].name: the outputs are"),
        ({"inputs": [tensor(["a"])], "outputs": ["label"]}, "outputs[0].name: the outputs are"),
        ({"inputs": [tensor(["a"])], "outputs": [{"name": "label"}] * 2}, "outputs: one is named twice"),
        ({"inputs": [tensor(["a"])], "parameters": {"binary_data_output": 1}}, "parameters.binary_data_output"),
        (
            {"inputs": [tensor(["a"])], "outputs": [{"name": "label", "parameters": {"classification": 2}}]},
            "outputs[0].parameters.classification: not taken",
        ),
    ],
)  # fmt: skip
def test_what_is_no_question_is_refused(question: Any, words: str, refusal: Refusal) -> None:
    status, detail = refusal(read_infer, question)

    assert status == 422
    assert words in detail


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ([tensor(["a"])], "this model reads two texts per row"),
        ([tensor(["a"]), tensor(["b"])], "called 'text' and 'pair'"),
        ([tensor(["a"]), tensor(["b", "c"], name="pair")], "'text' has 1 rows, but 'pair' has 2"),
    ],
)
def test_what_is_no_pair_is_refused(inputs: Any, words: str, refusal: Refusal) -> None:
    status, detail = refusal(read_infer, {"inputs": inputs}, model="pair")

    assert status == 422
    assert words in detail


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (packed("a") + b"\x00", "2 texts, but there are 1"),
        (packed("a", "b", "c"), "2 texts, but there are 3"),
        (packed("a") + b"\xff\xff\xff\xff", "ends in the middle of text 1"),
        (packed("a") + b"\x01", "ends in the middle of text 1"),
        (packed("a") + b"\x01\x00\x00\x00\xff", "inputs[0].data[1] is not UTF-8 at byte 0"),
    ],
)
def test_broken_binary_data_is_refused(data: bytes, words: str, refusal: Refusal) -> None:
    size = len(data) - (1 if words.endswith("are 1") else 0)
    question = {"inputs": [{**binary_tensor("a", "b"), "parameters": {"binary_data_size": size}}]}
    body, headers = binary_request(question, data)

    status, detail = refusal(read_infer, body, headers=headers)

    assert status == 422
    assert words in detail


def test_bytes_that_belong_to_no_tensor_are_refused(refusal: Refusal) -> None:
    body, headers = binary_request({"inputs": [tensor(["a"])]}, b"xyz")

    assert refusal(read_infer, body, headers=headers) == (422, "3 bytes after the JSON belong to no tensor")


@pytest.mark.parametrize("length", ["-1", "many", "99999", "9" * 40, "١", ""])
def test_a_wrong_length_of_the_json_is_refused(length: str, refusal: Refusal) -> None:
    headers = {"inference-header-content-length": length}

    assert refusal(read_infer, {"inputs": [tensor(["a"])]}, headers=headers)[0] == 400


@pytest.mark.parametrize("content_type", ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded"])
def test_what_a_form_could_send_is_refused(content_type: str, refusal: Refusal) -> None:
    assert refusal(read_infer, {"inputs": [tensor(["a"])]}, headers={"content-type": content_type})[0] == 415


@pytest.mark.parametrize("headers", [{}, {"content-type": ""}, {"content-type": " ; charset=utf-8"}])
def test_what_a_page_could_send_without_a_type_is_refused(headers: dict[str, str], refusal: Refusal) -> None:
    """A Blob without a type is sent to another site without asking it first."""
    status, detail = refusal(read_infer, {"inputs": [tensor(["a"])]}, headers=headers | {"origin": "https://other"})

    assert status == 415
    assert "missing" in detail


def test_tensors_have_the_limits_of_rows(refusal: Refusal) -> None:
    few = Limits(rows=2, characters=3)

    assert refusal(read_infer, {"inputs": [tensor([1, 2, 3])]}, limits=few)[0] == 413
    assert refusal(read_infer, {"inputs": [tensor(["a", "abcd"])]}, limits=few) == (
        413,
        "inputs[0].data[1] has 4 characters; at most 3 are taken",
    )
    assert refusal(read_infer, {"inputs": [tensor(["a"], shape=[10**30])]})[0] == 413


def test_an_unknown_model_is_refused_with_404(refusal: Refusal) -> None:
    assert refusal(read_infer, {"inputs": [tensor(["a"])]}, name="other")[0] == 404


def test_any_binary_body_is_read_or_refused(ask: Ask) -> None:
    """Random damage to a good request never raises anything but a refusal."""
    draw = random.Random(0)
    good, headers = binary_request({"inputs": [binary_tensor("a film", "b", "")]}, packed("a film", "b", ""))

    for _ in range(3_000):
        body = bytearray(good)
        for _ in range(draw.randrange(1, 4)):
            body[draw.randrange(len(body))] = draw.randrange(256)
        part = bytes(body[: draw.randrange(len(body) + 1)])
        with suppress(Refused):
            assert len(ask(read_infer, part, headers=headers).rows) == 3


def test_metadata_names_tensors_and_labels(models: dict[str, AskedModel]) -> None:
    single, pair = (json.loads(model_body(models[name])) for name in ("single", "pair"))

    assert [tensor["name"] for tensor in single["inputs"]] == ["text"]
    assert [tensor["name"] for tensor in pair["inputs"]] == ["text", "pair"]
    label, probabilities = single["outputs"]
    assert (label["datatype"], label["shape"]) == ("BYTES", [-1])
    assert (probabilities["datatype"], probabilities["shape"]) == ("FP32", [-1, 3])
    assert probabilities["parameters"]["labels"] == ["bad", "fair", "good"]
    assert json.loads(server_body(version="0.1"))["extensions"] == ["binary_tensor_data"]

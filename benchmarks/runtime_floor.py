"""What one core can do, and where the time of one text goes; for benchmarks/runtime.py, in a process of one thread.

Reads a JSON object from standard input, writes one to standard output. What it reads: "models" with "name", "folder"
and "engine", and three lists of texts: "exact" ones, those that are "learned" before, and "new" ones.
"""

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.engine import SingleNetwork

BUFFER_BYTES = 180_000  # both directions of a Bi-LSTM 150 in int8; more than a first-level cache, less than a second
MATRIX = 256
LOOKS, CALLS = 200, 40  # the best of many: what the core can do, not what else the machine does
ROUNDS = 15
FIRST_TEXTS = 200
SHORT, LONG = 8, 104  # tokens of the rows that tell what one more token takes


def main() -> None:
    """Measure everything, one after the other."""
    request = json.loads(sys.stdin.read())
    parts = [parts_of(model, request["exact"]) for model in request["models"]]
    fresh = [fresh_of(model, request["learned"], request["new"]) for model in request["models"]]
    texts = {"learned": len(request["learned"])}
    print(json.dumps({"core": core(), "parts": parts, "fresh": fresh, **texts}))


def core() -> dict[str, float]:
    """Bytes a second from a buffer of the second-level cache, and multiply-adds a second: the best of many rounds."""
    zeros = bytes(BUFFER_BYTES)
    floats = np.random.default_rng(0).standard_normal((MATRIX, MATRIX), dtype=np.float32)
    one, two = (floats.reshape(-1)[: BUFFER_BYTES // 8].copy() for _ in range(2))
    by_search = BUFFER_BYTES / best(lambda: zeros.find(b"\x01"))  # the C library's memchr reads all of it
    by_product = 2 * one.nbytes / best(lambda: np.dot(one, two))  # BLAS reads both
    return {
        "buffer_bytes": BUFFER_BYTES,
        "bytes_per_second": max(by_search, by_product),
        "bytes_per_second_memchr": by_search,
        "bytes_per_second_dot": by_product,
        "fp32_multiply_adds_per_second": MATRIX**3 / best(lambda: floats @ floats, calls=1),
        "int8_multiply_adds_per_second": MATRIX**3 / best(int8_product(), calls=1),
    }


def best(call: Callable[[], object], *, calls: int = CALLS) -> float:
    """Seconds of one call, in the best round."""
    seconds = []
    for _ in range(LOOKS):
        started = perf_counter()
        for _ in range(calls):
            call()
        seconds.append((perf_counter() - started) / calls)
    return min(seconds)


def int8_product() -> Callable[[], object]:
    """Two matrices of whole numbers, by onnxruntime."""
    import onnxruntime
    from onnx import TensorProto, helper

    shape = [MATRIX, MATRIX]
    inputs = [
        helper.make_tensor_value_info("a", TensorProto.UINT8, shape),
        helper.make_tensor_value_info("b", TensorProto.INT8, shape),
    ]
    output = helper.make_tensor_value_info("c", TensorProto.INT32, shape)
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["a", "b"], ["c"])], "product", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    draw = np.random.default_rng(0)
    feed = {"a": draw.integers(0, 255, shape, dtype=np.uint8), "b": draw.integers(-64, 64, shape, dtype=np.int8)}
    return lambda: session.run(None, feed)


def parts_of(model: dict[str, str], texts: Sequence[str]) -> dict[str, Any]:
    """Microseconds of one text: all, tokenising, the engine; of the engine, what a token more takes and what is left.

    The three are timed in turns, text by text. `split_us` is what it takes to cut the text at spaces and to look its
    words up in a dictionary: no tokenizer in Python takes less.
    """
    classifier = opened(model)
    network = classifier._network
    assert isinstance(network, SingleNetwork), "of a blend there are several"
    encode, logits = network.inputs.encode, network.engine.logits
    known = {word: [number] for number, word in enumerate(sorted({word for text in texts for word in text.split()}))}
    columns = [encode([text]) for text in texts]
    calls: dict[str, list[Callable[[], object]]] = {
        "text_to_label_us": [partial(classifier.predict, [text]) for text in texts],
        "tokenising_us": [partial(encode, [text]) for text in texts],
        "engine_us": [partial(logits, column) for column in columns],
        "split_us": [partial(looked_up, text, known) for text in texts],
        "short_us": [partial(logits, resized(column, SHORT)) for column in columns],
        "long_us": [partial(logits, resized(column, LONG)) for column in columns],
    }
    found = {name: round(1e6 * seconds, 2) for name, seconds in in_turns(calls).items()}
    token = (found["long_us"] - found["short_us"]) / (LONG - SHORT)
    tokens = len(columns[0][0][0])
    return {
        **{key: model[key] for key in ("name", "engine")},
        "tokens": tokens,
        **{name: found[name] for name in ("text_to_label_us", "tokenising_us", "engine_us", "split_us")},
        "python_us": round(found["text_to_label_us"] - found["tokenising_us"] - found["engine_us"], 2),
        "token_us": round(token, 3),
        "rest_of_engine_us": round(found["engine_us"] - tokens * token, 2),
    }


def fresh_of(model: dict[str, str], learned: Sequence[str], new: Sequence[str]) -> dict[str, Any]:
    """Median microseconds of one text: of the first ones that a model reads, of new ones after many, of those again."""
    classifier, first = opened(model), min(FIRST_TEXTS, len(new) // 2)
    found = {"first_us": one_by_one(classifier, new[:first])}
    classifier.predict(learned)
    found |= {key: one_by_one(classifier, new[first:]) for key in ("new_us", "again_us")}
    return {**{key: model[key] for key in ("name", "engine")}, **found}


def one_by_one(classifier: Classifier, texts: Sequence[str]) -> float:
    """Median microseconds, each text once."""
    samples = []
    for text in texts:
        started = perf_counter()
        classifier.predict([text])
        samples.append(perf_counter() - started)
    return round(1e6 * median(samples), 2)


def opened(model: dict[str, str]) -> Classifier:
    """With nothing read so far."""
    return Classifier(ModelFolder(Path(model["folder"])), threads=1, engine=model["engine"])  # type: ignore[arg-type]


def looked_up(text: str, known: dict[str, list[int]]) -> list[int]:
    """The numbers of the words between spaces."""
    return [number for word in text.split() for number in known[word]]


def resized(columns: list[list[list[int]]], tokens: int) -> list[list[list[int]]]:
    """The row with so many tokens, begun again where there are not enough."""
    row = columns[0][0]
    return [[(row * (1 + tokens // len(row)))[:tokens]]]


def in_turns(calls: dict[str, list[Callable[[], object]]]) -> dict[str, float]:
    """Median seconds of each kind of call, over all texts and rounds; the first round warms up."""
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(1 + ROUNDS):
        for of_text in zip(*calls.values(), strict=True):
            for name, call in zip(calls, of_text, strict=True):
                call()  # what the others have left in the caches is no part of it
                started = perf_counter()
                call()
                if number:
                    samples[name].append(perf_counter() - started)
    return {name: median(taken) for name, taken in samples.items()}


if __name__ == "__main__":
    main()

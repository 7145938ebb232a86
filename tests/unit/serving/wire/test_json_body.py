import itertools
import json
import random
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from limbeck.serving.limits import STANDARD_LIMITS, Limits
from limbeck.serving.wire.hugging_face import read_hugging_face
from limbeck.serving.wire.json_body import parsed, refuse_other_types
from limbeck.serving.wire.kserve import read_infer
from limbeck.serving.wire.own import read_predict
from limbeck.serving.wire.questions import Reads
from limbeck.serving.wire.refusals import Refused
from limbeck.serving.wire.vllm import read_classify

Refusal = Callable[..., tuple[int, str]]
SIZE = 7_800_000
SECONDS = 2.0  # of this thread's own time; it takes less than a tenth of that
READERS: list[Reads] = [read_predict, read_hugging_face, read_classify, read_infer]


def repeated(unit: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    """A body of the largest size, which repeats one thing."""
    return before + unit * ((SIZE - len(before) - len(after)) // len(unit)) + after


def numbered_keys() -> bytes:
    return b",".join(b'"%d":1' % number for number in itertools.islice(itertools.count(100_000), SIZE // 11))


HOSTILE: dict[str, Callable[[], bytes]] = {
    "numbers": lambda: repeated(b"1,", b'{"texts":[', b"1]}"),
    "numbers as inputs": lambda: repeated(b"1,", b'{"inputs":[', b"1]}"),
    "numbers as input": lambda: repeated(b"1,", b'{"input":[', b"1]}"),
    "numbers in a row": lambda: repeated(b"1,", b'{"rows":[{"text":[', b"1]}]}"),
    "brackets": lambda: repeated(b"["),
    "nested lists": lambda: b"[" * (SIZE // 2) + b"]" * (SIZE // 2),
    "nested objects": lambda: repeated(b'{"a":'),
    "keys": lambda: b"{" + numbered_keys() + b"}",
    "keys of a row": lambda: b'{"rows":[{' + numbered_keys() + b"}]}",
    "one key": lambda: repeated(b'"texts":[],', b"{", b'"texts":[]}'),
    "empty lists": lambda: repeated(b"[],", b'{"texts":[', b"[]]}"),
    "empty texts": lambda: repeated(b'"",', b'{"texts":[', b'""]}'),
    "empty rows": lambda: repeated(b"{},", b'{"rows":[', b"{}]}"),
    "quotation marks": lambda: repeated(b'"'),
    "escaped quotation marks": lambda: repeated(b'\\"', b'{"texts":["'),
    "backslashes": lambda: repeated(b"\\", b'{"texts":["'),
    "a long number": lambda: repeated(b"1", b'{"texts":[', b"]}"),
    "a long fraction": lambda: repeated(b"1", b'{"texts":[0.', b"]}"),
    "a long exponent": lambda: repeated(b"9", b'{"texts":[1e', b"]}"),
    "many long numbers": lambda: repeated(b"1" * 4_000 + b",", b'{"texts":[', b"1]}"),
    "half characters": lambda: repeated(b"\\ud800", b'{"texts":["', b'"]}'),
    "half characters as bytes": lambda: repeated(b"\xed\xa0\x80", b'{"texts":["', b'"]}'),
    "a key of half characters": lambda: repeated(b"\\ud800", b'{"', b'":1}'),
    "no numbers": lambda: repeated(b"NaN,", b'{"texts":[', b"NaN]}"),
    "a long text": lambda: repeated(b"a,", b'{"texts":["', b'"]}'),
    "a long text without an end": lambda: repeated(b"a,", b'{"texts":["'),
    "wide characters": lambda: repeated("🙂".encode(), b'{"texts":["', b'"]}'),
    "bytes of another encoding": lambda: b'{"texts":["' + b"a" * SIZE + b"\xff",
    "zeros": lambda: repeated(b"\x00"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_largest_body_is_refused_at_once_and_in_little_memory(kind: str, refusal: Refusal) -> None:
    body = HOSTILE[kind]()

    for reader in READERS:
        started = time.thread_time()
        status, detail = refusal(reader, body)
        seconds = time.thread_time() - started

        assert status in (400, 413, 422), (kind, reader)
        assert 10 < len(detail) <= 600, (kind, reader)
        assert seconds < SECONDS, (kind, reader)
    assert peak(lambda: refusal(read_predict, body)) < 50_000_000


def peak(happens: Callable[[], Any]) -> int:
    """Bytes that were in use at most."""
    tracemalloc.start()
    try:
        happens()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_thousand_long_texts_full_of_brackets_are_read(ask: Callable[..., Any]) -> None:
    texts = ['a film, "with" [brackets] and {braces}: ' * 150] * 1_000

    assert ask(read_predict, {"texts": texts}).rows == texts


def drawn(draw: random.Random, depth: int = 0) -> Any:
    """Any JSON value."""
    kinds = 5 if depth > 4 else 7
    match draw.randrange(kinds):
        case 0:
            return draw.choice([None, True, False])
        case 1:
            return draw.randrange(-(10**18), 10**18)
        case 2:
            return draw.uniform(-1e9, 1e9)
        case 3 | 4:
            return "".join(draw.choices('ab"\\,:[]{}🙂é\n\x00 ', k=draw.randrange(9)))
        case 5:
            return [drawn(draw, depth + 1) for _ in range(draw.randrange(4))]
        case _:
            return {f'k"{number}': drawn(draw, depth + 1) for number in range(draw.randrange(4))}


def test_what_is_read_is_what_the_standard_library_reads() -> None:
    draw = random.Random(0)

    for ascii_only in (True, False):
        for _ in range(2_000):
            value = drawn(draw)

            assert parsed(json.dumps(value, ensure_ascii=ascii_only).encode(), limits=STANDARD_LIMITS) == value


def test_values_are_counted_alike_whether_they_are_in_texts_or_not() -> None:
    """A body is read if and only if it has so few values, whatever its texts contain."""
    draw, limits = random.Random(1), Limits(rows=0)

    for _ in range(300):
        value = [drawn(draw) for _ in range(draw.randrange(300))]
        body = json.dumps(value).encode()
        marks = [json.dumps(text) for text in strings_of(value)]
        bare = body.decode()
        for mark in sorted(marks, key=len, reverse=True):
            bare = bare.replace(mark, "", 1)
        count = len(marks) + sum(bare.count(mark) for mark in ",:[{")

        assert refusal_of(body, limits) == ((413, True) if count > 1_000 else None)


def refusal_of(body: bytes, limits: Limits) -> tuple[int, bool] | None:
    """The status of the refusal, and whether its sentence is one of ours; None if the body is read."""
    try:
        parsed(body, limits=limits)
    except Refused as refused:
        known = ("the body is not JSON: ", "the key '", "more than 1,000 values in one request")
        return refused.status, refused.detail.startswith(known)
    return None


def strings_of(value: Any) -> list[str]:
    """All strings in a value, keys included."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key, part in value.items() for text in (key, *strings_of(part))]
    return [text for part in value for text in strings_of(part)] if isinstance(value, list) else []


def test_broken_json_is_refused_with_a_place_and_nothing_else_is_raised() -> None:
    draw, statuses = random.Random(2), set()

    for _ in range(3_000):
        body = bytearray(json.dumps({"texts": [drawn(draw), drawn(draw)]}).encode())
        for _ in range(draw.randrange(1, 4)):
            body[draw.randrange(len(body))] = draw.randrange(256)
        statuses.add(refusal_of(bytes(body), STANDARD_LIMITS))

    assert statuses <= {None, (400, True), (422, True)}
    assert (400, True) in statuses


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "the body is not JSON: Expecting value at character 0"),
        (b'{"texts": ["a" "b"]}', "the body is not JSON: Expecting ',' delimiter at character 15"),
        (b'{"texts": ["a', "the body is not JSON: Unterminated string starting at character 11"),
        (b'{"texts": [NaN]}', "the body is not JSON: NaN is not a number there"),
        (b'{"texts": [-Infinity]}', "the body is not JSON: -Infinity is not a number there"),
        (b'{"texts": ["\xff"]}', "the body is not JSON: it is not UTF-8 at byte 12"),
    ],
)
def test_what_is_no_json_is_refused_with_400(body: bytes, sentence: str, refusal: Refusal) -> None:
    assert refusal(read_predict, body) == (400, sentence)


def test_deep_brackets_are_refused_however_deep_python_reads(refusal: Refusal) -> None:
    """Versions of Python differ in how deep they read; none may raise anything else."""
    for depth in (900, 5_000, 10_900):
        for body in (b"[" * depth, b'{"texts":' + b"[" * depth + b"]" * depth + b"}"):
            status, detail = refusal(read_predict, body)

            assert (status, detail[:20]) in ((400, "the body is not JSON"), (422, "texts[0]: Input shou"))


def test_other_encodings_of_json_are_read(ask: Callable[..., Any]) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"):
        assert ask(read_predict, '{"texts": ["电影🙂"]}'.encode(encoding)).rows == ["电影🙂"]


def test_a_key_that_is_given_twice_is_refused_with_its_name(refusal: Refusal) -> None:
    assert refusal(read_predict, b'{"texts": ["a"], "texts": ["b"]}') == (422, "the key 'texts' is given twice")


@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON; charset=utf-8", "application/x+json"])
def test_json_is_taken_under_its_names(content_type: str) -> None:
    refuse_other_types({"content-type": content_type})


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/x-www-form-urlencoded", "json", "text/x+json"])
def test_other_content_types_are_refused_with_415(content_type: str, refusal: Refusal) -> None:
    status, detail = refusal(read_predict, {"texts": []}, headers={"content-type": content_type})

    assert status == 415
    assert detail.startswith(f"the content type is {content_type or 'none'}; send JSON")


def test_a_compressed_body_is_refused_with_415(refusal: Refusal) -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}

    for reader in READERS:
        status, detail = refusal(reader, b"\x1f\x8b", headers=headers)

        assert status == 415
        assert "compressed (gzip)" in detail

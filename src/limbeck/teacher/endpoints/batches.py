"""Files for the batch interfaces of servers, in OpenAI's format: a line per request, and a line per answer."""

import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TextIO

from limbeck.artifacts.disk import refuse_place
from limbeck.artifacts.rows import KEY_BYTES
from limbeck.errors import FileUnreadable
from limbeck.teacher.endpoints.ledger import Spent, counted_tokens

MOST_REQUESTS, MOST_BYTES = 50_000, 190_000_000  # of a file that OpenAI takes
PREFIX = 8  # characters of the teacher's fingerprint in front of the key of a text
URL = "/v1/chat/completions"
GIVE = "Give the file of answers that the server has written."


class BatchWriter:
    """Writes requests into NAME.jsonl, and into NAME-2.jsonl and so on where one file would be too large. The files
    get their names only when all are complete."""

    def __init__(self, path: Path, *, fingerprint: str, most_requests: int = MOST_REQUESTS) -> None:
        refuse_place(path)
        self._path, self._prefix, self._most = path, fingerprint[:PREFIX], most_requests
        self._stack, self._in_file, self._bytes = ExitStack(), 0, 0
        self.files: list[Path] = []
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stack.close()
        for path in self.files:
            if kind is None:
                _scratch(path).replace(path)
            else:
                _scratch(path).unlink(missing_ok=True)

    def add(self, key: bytes, body: dict[str, Any]) -> None:
        """One request."""
        named = {"custom_id": f"{self._prefix}-{key.hex()}", "method": "POST", "url": URL, "body": body}
        line = json.dumps(named, ensure_ascii=False) + "\n"
        size = len(line.encode())
        if self._file is None or self._in_file >= self._most or self._bytes + size > MOST_BYTES:
            self._file = self._next_file()
        self._file.write(line)
        self._in_file += 1
        self._bytes += size

    def _next_file(self) -> TextIO:
        number = len(self.files) + 1
        path = self._path if number == 1 else self._path.with_name(f"{self._path.stem}-{number}{self._path.suffix}")
        self._stack.close()
        self.files.append(path)
        self._in_file = self._bytes = 0
        return self._stack.enter_context(_scratch(path).open("w", encoding="utf-8"))


def _scratch(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")


@dataclass(frozen=True)
class BatchLine:
    """One line of a file of answers."""

    key: bytes | None  # of the text; None if the line belongs to another teacher
    choices: list[dict[str, Any]]  # empty if the request failed
    spent: Spent


def read_batch(path: Path, *, fingerprint: str) -> Iterator[BatchLine]:
    """The lines of a file of answers, one at a time. Raises FileUnreadable for another file."""
    prefix = fingerprint[:PREFIX]
    try:
        file = path.open("rb")
    except OSError as error:
        raise FileUnreadable(path=path, kind="batch", reason=str(error.strerror), advice=GIVE) from None
    with file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield _line(line.removeprefix(BOM_UTF8), path=path, number=number, prefix=prefix)


def _line(line: bytes, *, path: Path, number: int, prefix: str) -> BatchLine:
    try:
        given = json.loads(line)
        of, _, key = str(given["custom_id"]).partition("-")
        response = given["response"] if "error" not in given else given.get("response")
    except (ValueError, KeyError, TypeError, RecursionError):
        reason = f"line {number:,} is not an answer"
        raise FileUnreadable(path=path, kind="batch", reason=reason, advice=GIVE) from None
    body = response.get("body") if isinstance(response, dict) else None
    body = body if isinstance(body, dict) else {}
    found = body.get("choices")
    choices = [choice for choice in found if isinstance(choice, dict)] if isinstance(found, list) else []
    counts = counted_tokens(body.get("usage"))
    spent = Spent() if not choices and counts is None else Spent(1, *(counts or ()))
    return BatchLine(_key(key) if of == prefix else None, choices, spent)


def _key(written: str) -> bytes | None:
    with suppress(ValueError):
        if len(key := bytes.fromhex(written)) == KEY_BYTES:
            return key
    return None

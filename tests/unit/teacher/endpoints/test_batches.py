"""Files of answers as servers write them, and as they should not be."""

import json
from pathlib import Path
from typing import Any

import pytest

from limbeck.errors import FileUnreadable
from limbeck.teacher.endpoints.batches import read_batch
from limbeck.teacher.endpoints.ledger import Spent, counted_tokens

FINGERPRINT, KEY = "0123456789abcdef", bytes(range(16))


def line(custom_id: str, body: Any, **more: Any) -> str:
    return json.dumps({"custom_id": custom_id, "response": {"status_code": 200, "body": body}, **more})


def test_lines_of_all_kinds_are_read_one_by_one(tmp_path: Path) -> None:
    own, usage = f"01234567-{KEY.hex()}", {"prompt_tokens": 7, "completion_tokens": 1}
    lines = [
        line(own, {"choices": [{"index": 0}], "usage": usage}),
        line(own, {"choices": 5, "usage": usage}),
        line(own, {"error": {"message": "too long"}}),
        json.dumps({"custom_id": own, "response": None, "error": {"code": "batch_expired"}}),
        line(f"76543210-{KEY.hex()}", {}),
        line("01234567-00ff", {}),
        line("somebody else's", {}),
    ]
    (tmp_path / "answers.jsonl").write_text("\ufeff" + "\n\n".join(lines), encoding="utf-8")

    found = list(read_batch(tmp_path / "answers.jsonl", fingerprint=FINGERPRINT))

    assert [one.key for one in found] == [KEY] * 4 + [None] * 3
    assert [len(one.choices) for one in found] == [1, 0, 0, 0, 0, 0, 0]
    assert [one.spent for one in found[:4]] == [Spent(1, 7, 1), Spent(1, 7, 1), Spent(), Spent()]


@pytest.mark.parametrize(
    "content", [b"\xff\xfe{\x00", b"text,label\na,b\n", b'{"custom_id": "01234567-00", "method": "POST"}', b"[1]"]
)
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    """Such as the file of requests itself."""
    (tmp_path / "other.jsonl").write_bytes(content)

    with pytest.raises(FileUnreadable, match="line 1 is not an answer"):
        list(read_batch(tmp_path / "other.jsonl", fingerprint=FINGERPRINT))


@pytest.mark.parametrize("count", [float("inf"), float("nan"), -1, 1e12, "many", None])
def test_counts_that_are_none_are_not_believed(count: Any) -> None:
    assert counted_tokens({"prompt_tokens": count, "completion_tokens": 1}) is None
    assert counted_tokens({"prompt_tokens": 3, "completion_tokens": "2"}) == (3, 2)

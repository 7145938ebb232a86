"""What the other tests rely on: no network, toy rows that can be learnt, a teacher that loads in silence."""

import csv
import socket
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.mark.parametrize("host", ["192.0.2.1", "example.com", "2001:db8::1"])
def test_nothing_beyond_this_machine_can_be_reached(host: str) -> None:
    with pytest.raises(RuntimeError, match="tests run without a network"):
        socket.create_connection((host, 80), timeout=1)


def test_an_address_is_refused_without_a_look_up_too() -> None:
    with socket.socket() as plug, pytest.raises(RuntimeError, match=r"192\.0\.2\.1"):
        plug.connect(("192.0.2.1", 80))


def test_this_machine_can_be_reached() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), timeout=5) as plug,
    ):
        assert plug.getpeername() == server.getsockname()


def test_two_words_decide_the_label_of_the_toy_rows(toy_rows: tuple[tuple[str, str], ...]) -> None:
    labels = Counter(label for _, label in toy_rows)
    lengths = {len(text.split()) for text, _ in toy_rows}

    assert labels == {"positive": 100, "negative": 100}
    assert len({text for text, _ in toy_rows}) == 200
    assert all(("gorgeous" in text.split()) == (label == "positive") for text, label in toy_rows)
    assert all(("dreadful" in text.split()) == (label == "negative") for text, label in toy_rows)
    assert len(lengths) > 10


def test_the_toy_file_holds_the_toy_rows(toy_csv: Path, toy_rows: tuple[tuple[str, str], ...]) -> None:
    with toy_csv.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)

    assert header == ["text", "label"]
    assert tuple((text, label) for text, label in rows) == toy_rows


def test_the_tiny_teacher_loads_and_saves_without_a_word(
    tiny_teacher_copy: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(tiny_teacher_copy)
    tokenizer = AutoTokenizer.from_pretrained(tiny_teacher_copy)
    rows = tokenizer(["a gorgeous film", "zebra"], padding=True, return_tensors="pt")
    logits = model(**rows).logits
    model.save_pretrained(tmp_path / "again")
    tokenizer.save_pretrained(tmp_path / "again")

    assert tuple(logits.shape) == (2, 2)
    assert tokenizer.unk_token_id not in rows["input_ids"]
    assert (tmp_path / "again" / "model.safetensors").is_file()
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_skipped_tests_that_a_person_can_enable_are_counted_with_what_enables_them(
    request: pytest.FixtureRequest,
) -> None:
    plugins = request.config.pluginmanager.get_plugins()
    conftest = next(plugin for plugin in plugins if hasattr(plugin, "what_to_enable"))
    reports = [
        SimpleNamespace(keywords=dict.fromkeys(words, 1)) for words in (["browser"], ["browser"], ["gpu"], ["x"])
    ]

    browser, gpu = conftest.what_to_enable(reports)

    assert browser.startswith("2 browser tests were SKIPPED: install Chromium, e.g. apt-get install chromium")
    assert gpu.startswith("1 gpu test was SKIPPED: ")
    assert conftest.what_to_enable([]) == []

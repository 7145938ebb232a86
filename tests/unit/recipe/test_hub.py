"""Whether the hub is in reach is known within seconds, and without asking where that is forbidden."""

import socket
import time

import huggingface_hub
import pytest
from huggingface_hub import constants

from limbeck.recipe import files
from limbeck.recipe.files import why_no_hub


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nothing forbade to ask."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


def test_offline_mode_is_the_reason_and_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub, "get_session", None)

    assert why_no_hub() == "HF_HUB_OFFLINE is set"


@pytest.mark.usefixtures("online")
def test_a_hub_that_takes_the_call_and_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(files, "SECONDS_TO_ANSWER", 0.05)
        started = time.monotonic()
        reason = why_no_hub()

    assert reason is not None
    assert reason.startswith(f"no answer from {address} (")
    assert time.monotonic() - started < 5

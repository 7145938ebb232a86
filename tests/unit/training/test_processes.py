"""How many processes train together."""

import pytest
import torch

from limbeck.progress import SilentReporter, TerminalReporter
from limbeck.training.processes import process_count, reporter_of_member


def test_one_process_for_each_gpu_and_one_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    assert process_count(None) == 4

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert process_count(None) == 1
    assert process_count(3) == 3


def test_of_a_group_only_the_first_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    assert isinstance(reporter_of_member(TerminalReporter()), SilentReporter)

    monkeypatch.setenv("RANK", "0")
    assert isinstance(reporter_of_member(TerminalReporter()), TerminalReporter)
    assert isinstance(reporter_of_member(SilentReporter()), SilentReporter)

"""How many processes train together."""

import pytest
import torch

from limbeck.errors import RecipeNotFound
from limbeck.progress import SilentReporter, TerminalReporter
from limbeck.training.processes import process_count, reporter_of_member, run_together


def test_one_process_for_each_gpu_and_one_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    assert process_count(None) == 4

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert process_count(None) == 1
    assert process_count(3) == 3


def test_of_a_group_only_the_first_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    assert isinstance(reporter_of_member(speaks=True), SilentReporter)

    monkeypatch.setenv("RANK", "0")
    assert isinstance(reporter_of_member(speaks=True), TerminalReporter)
    assert isinstance(reporter_of_member(speaks=False), SilentReporter)


def test_what_a_user_can_put_right_is_raised_as_what_it_was() -> None:
    """One of the group fails while the other would wait for ever."""
    with pytest.raises(RecipeNotFound, match="no recipe 'nowhere"):
        run_together("limbeck.recipe.load:recipe_source", "nowhere.toml", processes=2)  # type: ignore[arg-type]


def test_a_member_that_breaks_down_ends_the_group() -> None:
    with pytest.raises(RuntimeError, match="ended with status 1"):
        run_together("json:loads", "no json", processes=2)  # type: ignore[arg-type]

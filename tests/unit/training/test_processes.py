"""How many processes train together."""

import base64
import os
import signal
from pathlib import Path

import pytest
import torch

from limbeck.errors import LimbeckError
from limbeck.progress import SilentReporter, TerminalReporter
from limbeck.recipe.load import RecipeNotFound
from limbeck.training import processes
from limbeck.training.processes import (
    MemberLost,
    Outcome,
    TooFewGpus,
    packed_error,
    process_count,
    refuse_failed,
    reporter_of_member,
    run_together,
    unpacked_error,
)

# The first one has nothing more to do while the other still needs what binds the group together.
LEAVING = """
import os, time
from datetime import timedelta
import torch.distributed as dist

def leave_one_by_one(job):
    if os.environ["RANK"] == "1":
        time.sleep(1)
        store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), timeout=timedelta(seconds=10))
        store.set("late", "")
        with open(job["file"], "w") as file:
            file.write("done")
"""


def test_one_process_per_gpu_and_one_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    assert process_count(None) == 4

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert process_count(None) == 1
    assert process_count(3) == 3


def test_only_the_first_process_of_a_group_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    assert isinstance(reporter_of_member(prints=True), SilentReporter)

    monkeypatch.setenv("RANK", "0")
    assert isinstance(reporter_of_member(prints=True), TerminalReporter)
    assert isinstance(reporter_of_member(prints=False), SilentReporter)


def test_what_a_user_can_put_right_is_raised_as_what_it_was() -> None:
    """One of the group fails while the other would wait for ever."""
    with pytest.raises(RecipeNotFound) as raised:
        run_together("limbeck.recipe.load:recipe_source", "nowhere.toml", processes=2)  # type: ignore[arg-type]

    assert raised.value.name == "nowhere.toml"
    assert raised.value.what == "no recipe 'nowhere.toml'"
    assert "built-in recipes" in raised.value.found
    assert "limbeck recipes" in raised.value.advice


def test_an_error_that_cannot_be_rebuilt_keeps_its_message() -> None:
    class OwnError(LimbeckError):
        """Defined inside a function: no other process can import it."""

    error = unpacked_error(packed_error(OwnError("it is broken", found="a hole", advice="Mend it.")))

    assert type(error) is LimbeckError
    assert (error.what, error.found, error.advice) == ("it is broken", "a hole", "Mend it.")


def test_an_error_of_a_module_that_is_not_found_here_keeps_its_message() -> None:
    packed = packed_error(RecipeNotFound(name="mine", builtin=["demo"]))
    packed["pickle"] = base64.b64encode(b"cno_such_module\nNoSuchError\n.").decode()

    error = unpacked_error(packed)

    assert error.what == "no recipe 'mine'"


def test_a_member_that_breaks_down_ends_the_group() -> None:
    with pytest.raises(RuntimeError, match="ended with status 1"):
        run_together("json:loads", "no json", processes=2)  # type: ignore[arg-type]


def test_one_that_is_done_early_takes_nothing_away_from_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "group_leaving.py").write_text(LEAVING, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)

    run_together("group_leaving:leave_one_by_one", {"file": str(tmp_path / "file")}, processes=2)

    assert (tmp_path / "file").read_text(encoding="utf-8") == "done"


def test_what_others_broke_down_of_is_told_and_not_that_they_did() -> None:
    broken, aborted, killed = Outcome(0, 3, 1), Outcome(1, 3, -signal.SIGABRT), Outcome(2, 3, -signal.SIGKILL)
    refused = Outcome(1, 3, 2, packed_error(RecipeNotFound(name="mine", builtin=["demo"])))

    with pytest.raises(MemberLost, match=r"process 3 of 3 .* signal 9 \(SIGKILL\)"):
        refuse_failed([broken, aborted, killed])
    with pytest.raises(RecipeNotFound):
        refuse_failed([broken, refused, None])
    with pytest.raises(RuntimeError, match="status 1"):
        refuse_failed([broken, aborted, None])
    refuse_failed([None, Outcome(1, 3, 0)])


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")

    with pytest.raises(TooFewGpus, match=r"4 processes .* 1 GPU of"):
        processes._join()

"""What torchrun has started: the first process leads, the others serve it, and who falls silent is noticed."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from torch.distributed import HashStore  # type: ignore[attr-defined]  # public, but not exported

from limbeck.errors import LimbeckError
from limbeck.training import torchrun
from limbeck.training.processes import LEADERS, Outcome, process_count, run_together
from limbeck.training.torchrun import Group, GroupLost

WORK = """
import os
from pathlib import Path
from limbeck.errors import TeacherError
from limbeck.training.shares import from_first_process, share_of_group

def note(job):
    rank = share_of_group().rank
    Path(job["folder"], str(rank)).write_text(from_first_process(lambda: f"{rank} of {os.environ['WORLD_SIZE']}"))

def fail(job):
    if share_of_group().rank == job["fails"]:
        raise TeacherError("it cannot be taught")
    from_first_process(lambda: None)
    from_first_process(lambda: None)
"""


@pytest.fixture
def groups() -> list[Group]:
    """Two processes, as threads of this one."""
    store = HashStore()
    return [Group(store, rank, 2, "127.0.0.1", rank, 2) for rank in (0, 1)]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "toy_group_work.py").write_text(WORK, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def following(group: Group) -> threading.Thread:
    thread = threading.Thread(target=group.follow)
    thread.start()
    return thread


def test_trainings_are_shared_and_the_end_lets_everybody_go(groups: list[Group], work: Path) -> None:
    first, second = groups
    thread = following(second)

    with first.leading():
        assert process_count(None) == process_count(5) == 2
        assert process_count(1) == 1
        run_together("toy_group_work:note", {"folder": str(work)}, processes=2)
        with pytest.raises(LimbeckError, match="it cannot be taught"):
            run_together("toy_group_work:fail", {"fails": 1}, processes=2)
    thread.join(timeout=60)

    assert not thread.is_alive()
    assert LEADERS == []
    assert [(work / rank).read_text() for rank in "01"] == ["0 of 2", "0 of 2"]


def test_a_process_that_falls_silent_is_named(groups: list[Group], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torchrun, "SECONDS_BETWEEN_BEATS", 0.0)
    monkeypatch.setattr(torchrun, "SECONDS_WITHOUT_BEATS", 0.5)

    with pytest.raises(GroupLost, match="process 1 of 2 does not answer"):
        groups[1].follow()


def test_one_that_lives_is_not_lost(groups: list[Group], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torchrun, "SECONDS_BETWEEN_BEATS", 0.05)
    monkeypatch.setattr(torchrun, "SECONDS_WITHOUT_BEATS", 2.0)
    thread = following(groups[1])

    with groups[0].alive():
        thread.join(timeout=3.0)
        assert thread.is_alive()
        with groups[0].leading():
            pass
    thread.join(timeout=60)

    assert not thread.is_alive()


def test_what_went_wrong_first_is_told_although_it_is_reported_last(
    groups: list[Group], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process sees its own one break down before the other's report arrives."""
    monkeypatch.setattr(torchrun, "SECONDS_BETWEEN_BEATS", 5.0)
    killed = Outcome(1, 2, -9)
    groups[1].store.set("report/0/1", json.dumps(vars(killed)))

    with pytest.raises(LimbeckError, match=r"process 2 of 2 .* signal 9"):
        groups[0]._refuse_failed(0, [Outcome(0, 2, 1), None])


def test_a_machine_that_is_gone_without_a_report_is_noticed_by_what_breaks_down(
    groups: list[Group], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torchrun, "SECONDS_BETWEEN_BEATS", 0.1)
    broken = Outcome(0, 2, 1)

    with pytest.raises(GroupLost, match="process 2 of 2 does not answer"):
        groups[0]._refuse_failed(0, [broken, None])
    with groups[1].alive(), pytest.raises(RuntimeError, match="status 1"):
        groups[0]._refuse_failed(0, [broken, None])


def test_what_the_first_process_trains_by_itself_is_in_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, Any] = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "head"}
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torchrun, "rendezvous", lambda _: iter([(HashStore(), 1, 2)]))

    group = Group.joined()

    assert (group.rank, group.size, group.local_rank, group.host) == (1, 2, 0, "head")
    assert not set(found) & set(os.environ)

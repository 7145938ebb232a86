"""A command that torchrun has started several times: the first process leads, the others train with it when asked.

Everything but a training in a group is done by the first process alone, for as long as it takes. The others look into
the group's store from time to time, so no barrier runs out. For a training, each process starts one beside it
(limbeck.training.processes), and these form a group that ends with the training.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from torch.distributed import DistError, PrefixStore, Store, TCPStore  # type: ignore[attr-defined]  # public, but not exported
from torch.distributed.rendezvous import rendezvous

from limbeck.errors import LimbeckError
from limbeck.recipe.calls import ALLOWED
from limbeck.training.processes import (
    BROKEN_DOWN,
    HOST,
    LEADERS,
    SECONDS_BETWEEN_POLLS,
    GroupRank,
    Outcome,
    refuse_failed,
    started,
)
from limbeck.training.side_by_side import GROUP_VARIABLES

SECONDS_BETWEEN_BEATS, SECONDS_WITHOUT_BEATS = 5.0, 120.0
SECONDS_TO_LEAVE = 10.0
END = "end"


class GroupLost(LimbeckError):
    """A process that torchrun has started on another machine does not answer any more."""

    def __init__(self, *, rank: int, processes: int) -> None:
        self.rank = rank
        super().__init__(
            f"process {rank + 1} of {processes} does not answer any more",
            found="its machine may be gone, or the network",
            advice="Start the command again, also with other machines: it continues from the last checkpoint.",
        )


def led_by_first(work: Callable[[], None]) -> None:
    """Do the work in the first of torchrun's processes; the others serve it until it is done."""
    group = Group.joined()
    with group.alive():
        if group.rank:
            group.follow()
        else:
            with group.leading():
                work()


@dataclass
class Group:
    """This process's view of the group."""

    store: Store
    rank: int
    size: int
    host: str  # of the first process
    local_rank: int
    local_size: int
    _number: int = 0  # of trainings so far
    _next_look: float = 0.0
    _heard: dict[int, tuple[int, float]] = field(default_factory=dict)  # of each rank its last beat, and when

    @classmethod
    def joined(cls) -> "Group":
        """From torchrun's environment variables, which are then removed: what this process trains by itself is in no
        group."""
        store, rank, size = next(iter(rendezvous("env://")))
        found = {name: os.environ.pop(name, "") for name in GROUP_VARIABLES}
        local = int(found["LOCAL_RANK"] or rank), int(found["LOCAL_WORLD_SIZE"] or size)
        return cls(PrefixStore("limbeck", store), rank, size, found["MASTER_ADDR"] or HOST, *local)

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Show the others that this process lives, all along."""
        over = threading.Event()

        def beat() -> None:
            with suppress(DistError):  # the store is gone, and with it who could look
                while not over.wait(SECONDS_BETWEEN_BEATS):
                    self.store.add(f"beat/{self.rank}", 1)

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()

    @contextmanager
    def leading(self) -> Iterator[None]:
        """Trainings in a group are shared with the others; at the end, all may go."""
        LEADERS.append(self)
        try:
            yield
        finally:
            LEADERS.remove(self)
            self.store.set(END, "")
            until = time.monotonic() + SECONDS_TO_LEAVE  # whoever keeps the store must not be the first to leave
            names = [f"left/{rank}" for rank in range(1, self.size)]
            while not self.store.check(names) and time.monotonic() < until:
                time.sleep(SECONDS_BETWEEN_POLLS)

    def run(self, function: str, job: Mapping[str, Any]) -> None:
        """Call the function in a process beside each of the group; as `run_together` does."""
        number, self._number = self._number, self._number + 1
        # Listens on all addresses of this machine.
        own = TCPStore(HOST, 0, is_master=True, wait_for_workers=False)
        request = {"function": function, "job": job, "port": own.port, "allowed": os.environ.get(ALLOWED)}
        self.store.set(f"job/{number}", json.dumps(request))
        try:
            with started(function, job, self._own_rank(own.port)) as member:
                outcomes: list[Outcome | None] = [None]
                while None in outcomes:
                    time.sleep(SECONDS_BETWEEN_POLLS)
                    outcomes = [member.outcome, *self._reports(number)]
                    self._refuse_failed(number, outcomes)
                    self._refuse_silent(range(1, self.size))
        finally:
            self.store.set(f"over/{number}", "")

    def follow(self) -> None:
        """Do what the first process asks for, until it ends."""
        number = 0
        try:
            while not self.store.check([END]):
                if self.store.check([f"job/{number}"]):
                    self._take_part(number, json.loads(self.store.get(f"job/{number}")))
                    number += 1
                self._refuse_silent([0])
                time.sleep(SECONDS_BETWEEN_POLLS)
            self.store.set(f"left/{self.rank}", "")
        except DistError:  # nobody keeps the store any more
            raise GroupLost(rank=0, processes=self.size) from None

    def _take_part(self, number: int, request: Mapping[str, Any]) -> None:
        if request["allowed"] is not None:
            os.environ[ALLOWED] = request["allowed"]
        with started(request["function"], request["job"], self._own_rank(request["port"])) as member:
            while (outcome := member.outcome) is None and not self.store.check([f"over/{number}"]):
                self._refuse_silent([0])
                time.sleep(SECONDS_BETWEEN_POLLS)
        if outcome:
            self.store.set(f"report/{number}/{self.rank}", json.dumps(asdict(outcome)))

    def _own_rank(self, port: int) -> GroupRank:
        return GroupRank(self.rank, self.size, self.local_rank, self.local_size, self.host, port)

    def _reports(self, number: int) -> list[Outcome | None]:
        """How the processes beside the others have ended, as far as they have."""
        names = [f"report/{number}/{rank}" for rank in range(1, self.size)]
        return [Outcome(**json.loads(self.store.get(name))) if self.store.check([name]) else None for name in names]

    def _refuse_failed(self, number: int, outcomes: list[Outcome | None]) -> None:
        """Raise what went wrong, for which the others may have the reason; or one of them is gone with its machine."""
        if not _has_broken_down(outcomes):
            refuse_failed(outcomes)
            return
        before, until = self._beats(), time.monotonic() + 2 * SECONDS_BETWEEN_BEATS
        while _has_broken_down(outcomes) and None in outcomes and time.monotonic() < until:
            time.sleep(SECONDS_BETWEEN_POLLS)
            outcomes = [outcomes[0], *self._reports(number)]
        after = self._beats()
        for rank, outcome in enumerate(outcomes):
            if rank and outcome is None and _has_broken_down(outcomes) and before[rank] == after[rank]:
                raise GroupLost(rank=rank, processes=self.size)
        refuse_failed(outcomes)

    def _beats(self) -> list[int]:
        """How often each process has shown that it lives."""
        return [self.store.add(f"beat/{rank}", 0) for rank in range(self.size)]

    def _refuse_silent(self, ranks: Iterable[int]) -> None:
        """Raise GroupLost if one of these has not shown for long that it lives."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + SECONDS_BETWEEN_BEATS
        for rank in ranks:
            last, when = self._heard.get(rank, (-1, now))
            beat = self.store.add(f"beat/{rank}", 0)
            if beat != last:
                self._heard[rank] = (beat, now)
            elif now - when > SECONDS_WITHOUT_BEATS:
                raise GroupLost(rank=rank, processes=self.size)


def _has_broken_down(outcomes: Sequence[Outcome | None]) -> bool:
    """Whether all that is known is that processes broke down, which they do when another is lost."""
    failed = [outcome for outcome in outcomes if outcome and outcome.status]
    return bool(failed) and all(outcome.is_a_consequence == BROKEN_DOWN for outcome in failed)

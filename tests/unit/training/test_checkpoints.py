"""When a training is saved."""

from types import SimpleNamespace

import pytest

from limbeck.training import checkpoints
from limbeck.training.checkpoints import Saver


class Clock:
    """A clock that the test moves; saving takes as long as the test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.saving, self.saved = 100.0, 0.0, 0
        monkeypatch.setattr(checkpoints, "time", SimpleNamespace(monotonic=lambda: self.now))

    def save(self) -> None:
        self.now += self.saving
        self.saved += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.parametrize(("takes", "waits"), [(0.1, 20.0), (1.0, 20.0), (3.0, 60.0)])
def test_saving_that_takes_long_is_done_less_often(clock: Clock, takes: float, waits: float) -> None:
    saver, clock.saving = Saver(clock.save, seconds=20.0), takes
    clock.now += 20.1
    saver.save_if_due()
    assert clock.saved == 1  # the first time, nobody knows how long it takes

    clock.now += waits - 0.1
    saver.save_if_due()
    assert clock.saved == 1
    clock.now += 0.2
    saver.save_if_due()
    assert clock.saved == 2


def test_an_epoch_is_saved_unless_saving_takes_more_than_a_tenth_of_the_time(clock: Clock) -> None:
    saver, clock.saving = Saver(clock.save, seconds=20.0), 0.5
    saved = []
    for seconds in (1.0, 4.0, 2.0, 0.1, 6.0):
        clock.now += seconds
        saver.save_after_epoch(is_last=False)
        saved.append(clock.saved)
    saver.save_after_epoch(is_last=True)

    assert saved == [1, 1, 2, 2, 3]
    assert clock.saved == 4  # the end always

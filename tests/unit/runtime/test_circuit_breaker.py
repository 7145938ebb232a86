"""The circuit breaker: it opens after failures, tries again after a pause, and asks one question then."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from limbeck.runtime.circuit_breaker import CircuitBreaker


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(failures=3, failing=0.5, window=8, pause=10, slow_seconds=2.0, clock=clock)


def state_of(breaker: CircuitBreaker) -> str:
    return breaker.state


def test_failures_in_a_row_open_it(breaker: CircuitBreaker) -> None:
    for _ in range(2):
        assert breaker.allows()
        breaker.failed()
    assert state_of(breaker) == "closed"

    breaker.failed()

    assert state_of(breaker) == "open"
    assert not breaker.allows()


def test_a_success_in_between_begins_the_count_again(breaker: CircuitBreaker) -> None:
    for is_success in (False, False, True, False, False):
        if is_success:
            breaker.succeeded(0.1)
        else:
            breaker.failed()

    assert breaker.allows()


def test_half_of_the_last_answers_failing_opens_it(breaker: CircuitBreaker) -> None:
    for _ in range(4):
        assert breaker.allows()
        breaker.succeeded(0.1)
        breaker.failed()

    assert not breaker.allows()


def test_what_is_too_slow_is_a_failure(breaker: CircuitBreaker) -> None:
    for _ in range(3):
        breaker.succeeded(2.1)

    assert not breaker.allows()


def test_after_the_pause_one_question_is_asked_and_its_success_closes_it(breaker: CircuitBreaker, clock: Clock) -> None:
    for _ in range(3):
        breaker.failed()
    clock.now += 9.9
    assert not breaker.allows()
    clock.now += 0.2

    assert breaker.allows()

    assert state_of(breaker) == "half-open"
    assert not breaker.allows()
    breaker.succeeded(0.1)
    assert state_of(breaker) == "closed"
    assert all(breaker.allows() for _ in range(3))


def test_the_failure_of_that_question_opens_it_for_another_pause(breaker: CircuitBreaker, clock: Clock) -> None:
    for _ in range(3):
        breaker.failed()
    clock.now += 11
    assert breaker.allows()

    breaker.failed()

    assert state_of(breaker) == "open"
    clock.now += 9
    assert not breaker.allows()
    clock.now += 2
    assert breaker.allows()


def test_a_question_that_never_ends_holds_others_up_for_one_pause(breaker: CircuitBreaker, clock: Clock) -> None:
    for _ in range(3):
        breaker.failed()
    clock.now += 11
    assert breaker.allows()

    clock.now += 11

    assert breaker.allows()


def test_a_late_success_from_before_it_opened_does_not_close_it(breaker: CircuitBreaker) -> None:
    for _ in range(3):
        breaker.failed()

    breaker.succeeded(0.1)

    assert not breaker.allows()


def test_of_many_threads_one_tries(breaker: CircuitBreaker, clock: Clock) -> None:
    for _ in range(3):
        breaker.failed()
    clock.now += 11

    with ThreadPoolExecutor(8) as pool:
        allowed = list(pool.map(lambda _: breaker.allows(), range(200)))

    assert len([token for token in allowed if token]) == 1


def opened(breaker: CircuitBreaker) -> None:
    for _ in range(3):
        breaker.failed(breaker.allows())


def test_a_late_success_does_not_end_a_trial_that_is_under_way(breaker: CircuitBreaker, clock: Clock) -> None:
    late = breaker.allows()
    opened(breaker)
    clock.now += 11
    trial = breaker.allows()

    breaker.succeeded(0.1, late)

    assert state_of(breaker) == "half-open"
    assert not breaker.allows()
    breaker.succeeded(0.1, trial)
    assert state_of(breaker) == "closed"


def test_a_late_failure_does_not_end_a_trial_that_is_under_way(breaker: CircuitBreaker, clock: Clock) -> None:
    late = breaker.allows()
    opened(breaker)
    clock.now += 11
    trial = breaker.allows()

    breaker.failed(late)

    assert state_of(breaker) == "half-open"
    breaker.succeeded(0.1, trial)
    assert state_of(breaker) == "closed"


def test_a_late_failure_does_not_make_the_pause_longer(breaker: CircuitBreaker, clock: Clock) -> None:
    late = breaker.allows()
    opened(breaker)
    clock.now += 9

    for _ in range(3):
        breaker.failed(late)

    clock.now += 2
    assert breaker.allows()


def test_a_trial_that_takes_longer_than_a_pause_still_closes_it(breaker: CircuitBreaker, clock: Clock) -> None:
    opened(breaker)
    clock.now += 11
    slow = breaker.allows()
    clock.now += 11
    assert breaker.allows()

    breaker.succeeded(0.1, slow)

    assert state_of(breaker) == "closed"

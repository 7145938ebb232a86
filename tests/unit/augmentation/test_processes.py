import operator
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from limbeck.augmentation import processes
from limbeck.augmentation.processes import ProcessLost, available_cores, spread, worthwhile


@pytest.mark.parametrize("count", [1, 2])
def test_results_come_in_the_order_of_the_tasks(count: int) -> None:
    results = list(spread(operator.add, range(40), shared=100, processes=count))

    assert results == list(range(100, 140))


def test_an_error_in_a_worker_is_raised_in_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        list(spread(operator.floordiv, [1, 0], shared=1, processes=2))


def test_a_process_that_the_system_ended_is_reported() -> None:
    with pytest.raises(ProcessLost, match="one of 2 processes"):
        list(spread(operator.call, [signal.SIGKILL], shared=signal.raise_signal, processes=2))


def test_short_jobs_run_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "SECONDS_WORTH_PROCESSES", 5.0)

    assert worthwhile(4, seconds=4.9) == 1
    assert worthwhile(4, seconds=5.0) == 4


def test_at_least_one_core_is_available() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)


def test_a_script_without_a_guard_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import operator\n"
        "from limbeck.augmentation.processes import spread\n"
        "print('running')\n"
        "print(list(spread(operator.add, [1, 2, 3], shared=1, processes=2)))\n"
    )

    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout == "running\n[2, 3, 4]\n", done.stderr

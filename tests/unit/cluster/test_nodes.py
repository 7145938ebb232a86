"""On a Ray cluster of three nodes, of which two go one after the other: nothing is lost with them, nothing double.

Skipped without ray.
"""

import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from limbeck.cluster.pieces import InputForm
from limbeck.cluster.predict import predict_files
from limbeck.runtime.classifier import Classifier
from tests.unit.cluster.on_nodes import TEXTS, Lengths, labelled
from tests.unit.cluster.test_predict import parts

PIECES, ROWS = 24, 40
# A node that is gone is noticed after three seconds. Ray's own default is half a minute.
HEALTH = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 1000, "health_check_failure_threshold": 3}
LONGEST = 120.0


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head and two more nodes of this machine, each with room for one worker."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    settings = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
    cluster: Any = Cluster(initialize_head=True, head_node_args={**settings, "_system_config": HEALTH})
    for _ in range(2):
        cluster.add_node(num_cpus=1, object_store_memory=80_000_000)
    yield cluster
    cluster.shutdown()


@pytest.fixture
def folder(tmp_path: Path, model: Classifier) -> Path:
    """The model, many small files, and a folder for notes."""
    shutil.copytree(model.folder, tmp_path / "model")
    for name in ("rows", "asked"):
        (tmp_path / name).mkdir()
    for number in range(PIECES):
        texts = [f"good film {number} {row}" if row % 2 else f"a bad one {row}" for row in range(ROWS)]
        table = pa.table({"id": [f"{number}/{row}" for row in range(ROWS)], "text": texts})
        pq.write_table(table, tmp_path / "rows" / f"{number:02d}.parquet")
    return tmp_path


def wait_until(is_so: Callable[[], bool], driver: "subprocess.Popen[str]") -> None:
    until = time.monotonic() + LONGEST
    while not is_so() and driver.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    assert is_so()


def lines_in(folder: Path) -> list[str]:
    return [line for file in folder.iterdir() for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.nodes
def test_lost_nodes_cost_no_row_and_no_label(nodes: Any, folder: Path, model: Classifier) -> None:
    first, second = list(nodes.worker_nodes)
    command = [sys.executable, "-m", "tests.unit.cluster.on_nodes", nodes.address, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
        marks = folder / "there" / "_limbeck" / "done"
        wait_until(lambda: marks.is_dir() and len(list(marks.iterdir())) >= PIECES // 4, driver)
        nodes.remove_node(first, allow_graceful=False)
        wait_until(lambda: len(lines_in(folder / "asked")) >= len(set(TEXTS)) // 4, driver)
        nodes.remove_node(second, allow_graceful=False)
        output, errors = driver.communicate(timeout=LONGEST)

    assert driver.returncode == 0, errors[-2000:]
    found = json.loads(output.splitlines()[-1])
    predict_files(model, [str(folder / "rows")], folder / "here", reading=InputForm())
    here = labelled(folder, None, Lengths())
    assert (found["rows"], found["pieces"], found["nodes"]) == (PIECES * ROWS, PIECES, 3)
    assert found["lost"] >= 1
    assert parts(folder / "there") == parts(folder / "here")
    ids = Counter(one for table in parts(folder / "there").values() for one in table.column("id").to_pylist())
    assert set(ids.values()) == {1}
    there = type(here)(folder / "labels-there")
    assert there.fingerprint == here.fingerprint
    asked = Counter(lines_in(folder / "asked"))
    assert set(asked) == set(TEXTS)
    assert sum(asked.values()) - len(asked) <= 2 * 8  # what the lost worker had answered and not yet handed over
    shards = [sorted(path.name for path in folder.glob(f"store-{name}/t/*.arrow")) for name in ("here", "there")]
    assert shards[0] == shards[1]

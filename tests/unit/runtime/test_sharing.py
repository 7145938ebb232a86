"""One classifier for many: threads that come at once, coroutines, and processes that were forked off."""

import asyncio
import os
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.errors import EngineUnusable, NothingToPredict
from limbeck.export import export_student
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export
from limbeck.runtime.classifier import Classifier, load
from limbeck.text import piece_memo

ToyRows = tuple[tuple[str, str], ...]
THREADS, CALLS = 8, 25

# Asks before it forks, so that whatever an engine makes at first use is there to be inherited; then on both sides.
FORKING = """
import os, signal, sys, limbeck
folder, engine, *texts = sys.argv[1:]
model = limbeck.load(folder, threads=2, engine=engine)
before = model.logits(texts)
child = os.fork()
signal.alarm(30)  # a side that waits for a thread which was not forked with it ends here
after = model.logits(texts)
assert (before == after).all()
if child == 0:
    os._exit(0)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""


@pytest.fixture(scope="session")
def int8_folder(tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: ToyRows) -> Path:
    """An int8 model of single texts. Shared: read it, don't write to it."""
    folder, texts = tmp_path_factory.mktemp("int8"), [text for text, _ in toy_rows]
    model = export_student(
        Export(),
        student=make_student(folder / "student"),
        rows=Rows.of(ids=texts, texts=texts),
        precision="int8",
        out=folder / "model",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    )
    return model.folder


@pytest.fixture(params=["model_folder", "int8_folder", "pair_model_folder"])
def any_folder(request: pytest.FixtureRequest) -> Path:
    """A model of single texts, the same in int8, and a model of pairs."""
    folder: Path = request.getfixturevalue(request.param)
    return folder


@pytest.fixture(params=["onnx", "native"])
def engine(request: pytest.FixtureRequest, model_folder: Path) -> str:
    """One engine and then the other; skipped where it cannot be had."""
    try:
        load(model_folder, engine=request.param)
    except EngineUnusable as error:
        pytest.skip(str(error))
    return str(request.param)


def calls_of(model: Classifier, toy_rows: ToyRows, *, seed: int) -> list[list[Any]]:
    """Calls of one row, of a few and of many."""
    dice, texts = random.Random(seed), [text for text, _ in toy_rows]
    rows = [(text, dice.choice(texts)) for text in texts] if model.facts.pair else texts
    return [dice.sample(rows, k=dice.choice([1, 1, 1, 3, 40])) for _ in range(CALLS)]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("words_kept", [1 << 16, 10])
def test_threads_that_share_a_fresh_model_get_what_one_thread_alone_gets(
    any_folder: Path, engine: Any, toy_rows: ToyRows, monkeypatch: pytest.MonkeyPatch, threads: int, words_kept: int
) -> None:
    monkeypatch.setattr(piece_memo, "MOST_PIECES", words_kept)  # with few, all words are forgotten again and again
    alone, shared = (load(any_folder, threads=threads, engine=engine) for _ in range(2))
    calls = [calls_of(alone, toy_rows, seed=seed) for seed in range(THREADS)]
    start = threading.Barrier(THREADS)

    def hammer(own: list[list[Any]]) -> list[npt.NDArray[np.float32]]:
        start.wait()
        return [shared.logits(rows) for rows in own]

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(hammer, calls))

    for own, answers in zip(calls, found, strict=True):
        for rows, logits in zip(own, answers, strict=True):
            np.testing.assert_array_equal(logits, alone.logits(rows))


def test_a_mistake_in_one_thread_is_no_other_threads_trouble(
    model_folder: Path, engine: Any, toy_rows: ToyRows
) -> None:
    model, texts = load(model_folder, engine=engine), [text for text, _ in toy_rows]
    expected = model.predict(texts)

    def ask(number: int) -> Any:
        rows: list[Any] = [*texts, None] if number % 2 else texts
        try:
            return model.predict(rows)
        except NothingToPredict as error:
            return str(error)

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(ask, range(40)))

    assert found[::2] == [expected] * 20
    assert all("row 200 (counted from 0) is None" in reason for reason in found[1::2])


def test_coroutines_ask_in_threads(any_folder: Path, engine: Any, toy_rows: ToyRows) -> None:
    model = load(any_folder, engine=engine)
    calls = calls_of(model, toy_rows, seed=0)

    async def ask_all() -> list[Any]:
        return await asyncio.gather(*(asyncio.to_thread(model.predict, rows) for rows in calls))

    assert asyncio.run(ask_all()) == [model.predict(rows) for rows in calls]


def test_a_forked_process_asks_the_model_it_inherited(model_folder: Path, engine: Any, toy_rows: ToyRows) -> None:
    texts = [text for text, _ in toy_rows]
    command = [sys.executable, "-c", FORKING, str(model_folder), engine, *texts]
    environment = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"}

    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=90, check=False)

    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr

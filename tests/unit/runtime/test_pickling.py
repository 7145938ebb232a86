"""Classifiers in other processes: what a pickle holds, and that the answers are the same there."""

import copy
import json
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import joblib
import numpy as np
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import Member, ModelFolder, copy_model, save_facts
from limbeck.errors import ArtifactDamaged, ArtifactMissing
from limbeck.runtime.classifier import Classifier, load
from limbeck.runtime.engine import EngineChoice
from limbeck.runtime.pickling import ModelFiles

TEXTS = ["a gorgeous film", "", "this dreadful evening was long and quiet", "unknown words only"]
PAIRS = [(text, "the road") for text in TEXTS]
ELSEWHERE = """
import pickle, sys
model = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(pickle.dumps((model.logits(["a gorgeous film", "the road"]), str(model.folder))))
"""


def blend_of(folder: Path, *members: Path) -> Path:
    """A blend of models, each with the same weight."""
    facts = [ModelFolder(place).facts() for place in members]
    with written_atomically(folder, kind="model", key=Key(section={}, inputs={})) as scratch:
        for number, place in enumerate(members):
            copy_model(ModelFolder(place), scratch / str(number), has_profile=False)
        weights = tuple(Member(str(number), 1 / len(members)) for number in range(len(members)))
        save_facts(scratch, replace(facts[0], name="blend", kind="blend", members=weights))
    return folder


def in_a_new_process(model: Any) -> tuple[Any, str]:
    """Logits of two texts by a process that gets the model as a pickle, and the folder that it has there."""
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], input=pickle.dumps(model), capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    logits, folder = pickle.loads(done.stdout)
    return logits, folder


def test_a_pickle_holds_the_path_and_the_options_not_the_weights(model_folder: Path, engine: EngineChoice) -> None:
    model = load(model_folder, threads=3, engine=engine)

    held = pickle.dumps(model)
    again = pickle.loads(held)

    assert len(held) < 500
    assert (again.engine, again.folder, again._threads) == (model.engine, model_folder.resolve(), 3)
    np.testing.assert_array_equal(again.logits(TEXTS), model.logits(TEXTS))
    assert pickle.loads(held) is again  # a process reads it once


def test_every_variety_of_model_is_the_same_after_a_pickle(
    model_folder: Path, pair_model_folder: Path, framed_folder: Path, multi_label_folder: Path, tmp_path: Path
) -> None:
    blend = blend_of(tmp_path / "blend", model_folder, framed_folder)

    for folder in (model_folder, pair_model_folder, framed_folder, multi_label_folder, blend):
        model = load(folder)
        rows: Any = PAIRS if model.facts.pair else TEXTS
        for one in (pickle.loads(pickle.dumps(model)), pickle.loads(pickle.dumps(model.portable()))):
            np.testing.assert_array_equal(one.logits(rows), model.logits(rows))
            assert one.predict(rows) == model.predict(rows)


def test_copies_are_the_same_object_as_nothing_in_it_changes(model_folder: Path) -> None:
    model = load(model_folder)

    assert copy.copy(model) is model
    assert copy.deepcopy({"model": [model]})["model"][0] is model


def test_a_portable_model_needs_no_folder_and_leaves_none_behind(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "temporary").mkdir()
    folder = Path(shutil.copytree(model_folder, tmp_path / "model"))
    expected = load(model_folder).logits(["a gorgeous film", "the road"])
    by_path, whole = load(folder), load(folder).portable()
    shutil.rmtree(folder)

    logits, there = in_a_new_process(whole)
    kept = list((tmp_path / "temporary").iterdir())
    del whole

    np.testing.assert_array_equal(logits, expected)
    assert there.startswith(str(tmp_path / "temporary"))
    assert len(kept) == 1  # that of this process alone
    assert list((tmp_path / "temporary").iterdir()) == []
    with pytest.raises(ArtifactMissing, match="model"):
        pickle.loads(pickle.dumps(by_path))


def test_a_portable_model_explains_as_its_files_are_there(model_folder: Path) -> None:
    whole = load(model_folder).portable()

    assert [one.label for one in whole.explain(TEXTS[:1])] == whole.predict(TEXTS[:1])
    assert whole.portable() is whole


def test_files_of_a_pickle_stay_inside_their_folder(model_folder: Path) -> None:
    files = ModelFiles.of(model_folder).files

    for name in ("../outside", "/tmp/outside", "a/../../b", "c:\\outside"):
        with pytest.raises(ArtifactDamaged, match="no name of a file"):
            ModelFiles({**files, name: b""}).unpacked()


def labels_of(model: Classifier, texts: list[str]) -> tuple[int, Any]:
    """Runs in a worker."""
    return os.getpid(), model.predict(texts)


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_process_pools_answer_as_the_parent_does(model_folder: Path, engine: EngineChoice, start: str) -> None:
    model = load(model_folder, threads=1, engine=engine)
    pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(start))

    with pool:
        found = [task.result() for task in [pool.submit(labels_of, model, TEXTS) for _ in range(4)]]

    assert all(labels == model.predict(TEXTS) for _, labels in found)
    assert os.getpid() not in {process for process, _ in found}


def test_joblib_answers_as_the_parent_does(model_folder: Path) -> None:
    model = load(model_folder, threads=1)

    found = joblib.Parallel(n_jobs=2)(joblib.delayed(labels_of)(model, [text]) for text in TEXTS)

    assert [labels for _, (labels,) in found] == model.predict(TEXTS)


def test_a_cascade_of_folders_goes_along_with_its_fallback(model_folder: Path, framed_folder: Path) -> None:
    model = load(model_folder, fallback=framed_folder, threshold=0.5)

    for one in (pickle.loads(pickle.dumps(model)), pickle.loads(pickle.dumps(model.portable())), copy.deepcopy(model)):
        assert one.threshold == 0.5
        np.testing.assert_array_equal(one.predict_proba(TEXTS), model.predict_proba(TEXTS))
        assert one.answers(TEXTS).answered_by == model.answers(TEXTS).answered_by


class Answers(BaseHTTPRequestHandler):
    """Says `angry` for every text, in Limbeck's format, to who knows the key; counts the questions."""

    asked: list[str]
    labels: list[str]

    def do_GET(self) -> None:
        self._answer({"labels": self.labels, "max_rows": 64, "pair": False, "multi_label": False})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        each = {label: float(label == self.labels[0]) for label in self.labels}
        self._answer({"predictions": [{"probabilities": each} for _ in body["texts"]]})

    def _answer(self, content: object) -> None:
        self.asked.append(f"{self.command} {self.path} {self.headers.get('Authorization')}")
        payload = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_a_cascade_with_a_server_asks_nothing_when_unpickled_and_its_pickle_has_no_key(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_TEST", "a-secret-key")
    kind: Any = type("Own", (Answers,), {"asked": [], "labels": load(model_folder).labels})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        model = load(model_folder, fallback=url, threshold=1.0, fallback_key_from="KEY_OF_TEST", fallback_timeout=5)
        held = pickle.dumps(model)
        before = len(kind.asked)
        again = pickle.loads(held)
        asked_by_unpickling = len(kind.asked) - before
        answers = again.answers(TEXTS)
        for one in (model, again):
            one.cascade.close()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

    assert b"a-secret-key" not in held
    assert asked_by_unpickling == 0
    assert answers.answered_by == ["fallback"] * len(TEXTS)
    assert kind.asked[-1] == "POST /predict Bearer a-secret-key"
    assert (again.cascade.fallback.name, again.cascade.fallback.slow_seconds) == (url, None)


def test_classes_and_looks(model_folder: Path, pair_model_folder: Path, framed_folder: Path) -> None:
    model = load(model_folder)
    pairs, cascade = load(pair_model_folder), load(model_folder, fallback=framed_folder, threshold=0.5)

    assert model.classes_.tolist() == cascade.classes_.tolist() == model.labels
    assert repr(model) == (
        f"<limbeck.Classifier 'bilstm' fp32: texts, 3 labels ({', '.join(model.labels)}), {model.engine}, "
        f"'{model_folder}'>"
    )
    assert "pairs of texts" in repr(pairs)
    assert f"up to confidence 0.5 '{framed_folder}' answers" in repr(cascade)

"""Packages of every kind of model in Node: the same tokens, labels and logits as in Python."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from limbeck.packaging.node import FAST_START, check_in_node
from limbeck.packaging.site import WrittenPackage
from limbeck.runtime.classifier import load
from tests.unit.packaging.conftest import VECTORS, needs_runtime

pytestmark = [pytest.mark.node, needs_runtime]

ANSWERS = """
import { load, LimbeckError } from "NAME";
const model = await load();
const rows = JSON.parse(process.argv[1]);
const found = {
  labels: await model.predict(rows),
  probabilities: (await model.predictProba(rows)).map((row) => [...row]),
  logits: (await model.logits(rows)).map((row) => [...row]),
  none: await model.predict([]),
  refused: await model.predict([1]).catch((error) => error instanceof LimbeckError && error.message),
};
console.log(JSON.stringify(found));
"""


def test_packages_conform(packages: dict[Path, WrittenPackage]) -> None:
    checks = [found.checked for found in packages.values()]

    assert len(checks) == 3
    assert [(check.rows, check.other_tokens, check.other_labels) for check in checks if check] == [(VECTORS, 0, 0)] * 3
    assert all(check.conforms for check in checks if check)


def test_a_module_of_node_answers_as_python_does(packages: dict[Path, WrittenPackage]) -> None:
    texts = ["a gorgeous film", "this dreadful evening", "", "🙂 ünknown [MASK]", "the long quiet story again " * 20]
    for model, written in packages.items():
        classifier = load(model, engine="onnx")
        rows = [(text, other) for text, other in zip(texts, texts[::-1], strict=True)]
        given = rows if classifier.facts.pair else texts
        name = json.loads((written.folder / "package.json").read_text(encoding="utf-8"))["name"]
        command = ["node", FAST_START, "--input-type=module", "-e", ANSWERS.replace("NAME", name), json.dumps(given)]
        done = subprocess.run(command, cwd=written.folder, capture_output=True, text=True, check=False, timeout=120)

        assert done.returncode == 0, done.stderr[-2_000:]
        found = json.loads(done.stdout)
        assert found["labels"] == classifier.predict(given)
        np.testing.assert_allclose(found["probabilities"], classifier.predict_proba(given), atol=0.02)
        np.testing.assert_allclose(found["logits"], classifier.logits(given), atol=0.1)
        assert found["none"] == []
        assert "row 0 (counted from 0) is not a" in found["refused"]


def test_a_damaged_package_does_not_conform(
    packages: dict[Path, WrittenPackage], pair_model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "site"
    shutil.copytree(packages[pair_model].folder, folder)
    vectors = json.loads((folder / "vectors.json").read_text(encoding="ascii"))
    vectors["rows"] = vectors["rows"][:9]
    vectors["rows"][7]["logits"][0] += 1
    (folder / "vectors.json").write_text(json.dumps(vectors), encoding="ascii")

    found = check_in_node(folder)

    assert not found.conforms
    assert found.largest_difference == pytest.approx(1, abs=0.01)

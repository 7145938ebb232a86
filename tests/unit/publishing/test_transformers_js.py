"""A transformer student's repository loads in transformers.js, which knows nothing of Limbeck, with the same answers.

LIMBECK_NODE_MODULES names a node_modules folder in which npm has installed @huggingface/transformers.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.packaging.node import node
from limbeck.publishing.run import push
from limbeck.runtime.classifier import load
from tests.unit.publishing.test_stock_onnx import run_of

MODULES = Path(os.environ.get("LIMBECK_NODE_MODULES", "node_modules"))
IS_HERE = node() is not None and (MODULES / "@huggingface" / "transformers").is_dir()
SECONDS = 120
TEXTS = [
    "a gorgeous film",
    "Gorgeous!",
    "this dreadful evening was long and quiet",
    "🙂 ünknown words",
    "the road " * 9,
]
PIPELINE = """
import { env, pipeline } from "@huggingface/transformers";
const { folder, texts, labels } = JSON.parse(process.argv[2]);
Object.assign(env, { allowRemoteModels: false, localModelPath: folder });
const found = {};
for (const dtype of ["fp32", "q8"]) {
  const classify = await pipeline("text-classification", "repository", { dtype });
  found[dtype] = [];
  for (const text of texts) {
    const scores = await classify(text, { top_k: null });
    found[dtype].push(labels.map((label) => scores.find((one) => one.label === label).score));
  }
}
console.log(JSON.stringify(found));
"""


@pytest.mark.node
@pytest.mark.skipif(not IS_HERE, reason="no Node.js, or no @huggingface/transformers in LIMBECK_NODE_MODULES")
@pytest.mark.parametrize("options", [{}, {"family": "distilbert", "multi_label": True}])
def test_it_answers_in_transformers_js_as_it_does_here(
    options: dict[str, Any], make_framed_student: Any, toy_rows: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    run = run_of(tmp_path / "run", make_framed_student, [text for text, _ in toy_rows][:40], **options)
    push(run, "ada/reviews", model="transformer-int8", dry_run=True, out=tmp_path / "repository")
    (tmp_path / "node_modules").symlink_to(MODULES.resolve())
    (tmp_path / "answers.mjs").write_text(PIPELINE, encoding="utf-8")
    labels = load(run / "models" / "transformer").labels
    asked = json.dumps({"folder": str(tmp_path), "texts": TEXTS, "labels": labels})

    done = subprocess.run(
        ["node", "answers.mjs", asked], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=SECONDS
    )

    assert done.returncode == 0, done.stderr[-2_000:]
    found = json.loads(done.stdout)
    for dtype, model in (("fp32", "transformer"), ("q8", "transformer-int8")):
        ours = load(run / "models" / model).predict_proba(TEXTS)
        np.testing.assert_allclose(found[dtype], ours, atol=1e-4)

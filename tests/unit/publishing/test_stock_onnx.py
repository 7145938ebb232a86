"""A transformer student answers in tools that know nothing of Limbeck as it does here."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from tokenizers import Tokenizer
from transformers import AutoModelForSequenceClassification

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.distillation.student_files import write_tokenizer_config
from limbeck.export import export_student
from limbeck.progress import SilentReporter
from limbeck.publishing.run import push
from limbeck.publishing.stock_onnx import stock_graph
from limbeck.recipe.export import Export
from limbeck.runtime.classifier import load

TEXTS = ["a gorgeous film", "gorgeous", "this dreadful evening was long and quiet"]
PAIRS = [(text, "the road") for text in TEXTS]


def run_of(folder: Path, make_framed_student: Any, texts: list[str], **options: Any) -> Path:
    """As a run leaves it: a student, its exports, and the model that ships."""
    student = make_framed_student(folder / "students" / "transformer" / "0", **options)
    network = AutoModelForSequenceClassification.from_pretrained(student.folder)
    network.config.id2label = dict(enumerate(student.facts.labels))
    network.config.label2id = {label: number for number, label in enumerate(student.facts.labels)}
    if options.get("multi_label"):
        network.config.problem_type = "multi_label_classification"
    network.config.save_pretrained(student.folder)
    write_tokenizer_config(student.folder, network, max_length=student.facts.max_length)
    rows = Rows.of(ids=texts, texts=texts, pairs=texts[::-1] if options.get("pair") else None)
    for precision, name in (("fp32", "transformer"), ("int8", "transformer-int8")):
        for out in (folder / "exports" / name / "0", folder / "models" / name):
            export_student(
                Export(),
                student=student,
                rows=rows,
                precision=precision,  # type: ignore[arg-type]
                out=out,
                key=Key(section={}, inputs={}),
                reporter=SilentReporter(),
            )
    (folder / "run.json").write_text("{}", encoding="utf-8")
    return folder


@pytest.mark.parametrize("options", [{}, {"pair": True}, {"family": "distilbert", "multi_label": True}])
def test_stock_graphs_give_the_calibrated_probabilities(
    options: dict[str, Any], make_framed_student: Any, toy_rows: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    run = run_of(tmp_path / "run", make_framed_student, [text for text, _ in toy_rows][:40], **options)
    out = tmp_path / "files"

    done = push(run, "ada/reviews", model="transformer-int8", dry_run=True, out=out)

    assert {"config.json", "tokenizer.json", "model.safetensors", "onnx/model.onnx"} <= set(done.files)
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    rows: list[Any] = PAIRS if options.get("pair") else TEXTS
    encoded = tokenizer.encode_batch(rows)
    fields = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
    for name, model in (("model.onnx", "transformer"), ("model_quantized.onnx", "transformer-int8")):
        onnx.checker.check_model(onnx.load(out / "onnx" / name))
        session = onnxruntime.InferenceSession(str(out / "onnx" / name), providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_inputs()]
        feed = {field: np.array([getattr(row, fields[field]) for row in encoded], dtype=np.int64) for field in names}
        (logits,) = session.run(["logits"], feed)
        ours = load(run / "models" / model)
        np.testing.assert_allclose(logits, ours.logits(rows) / ours.facts.temperature, atol=1e-4)
    assert names == ["input_ids", "attention_mask", *([] if options.get("family") else ["token_type_ids"])]


def test_the_temperature_is_in_the_graph(framed_graph: Path) -> None:
    feed = {"input_ids": np.array([[2, 7, 3]]), "attention_mask": np.array([[1, 1, 1]])}
    plain, warm = (
        onnxruntime.InferenceSession(
            stock_graph(framed_graph, temperature=temperature, has_types=False).SerializeToString(),
            providers=["CPUExecutionProvider"],
        ).run(["logits"], feed)[0]
        for temperature in (1.0, 2.5)
    )

    np.testing.assert_allclose(warm * 2.5, plain, rtol=1e-5)


@pytest.fixture
def framed_graph(make_framed_student: Any, toy_rows: tuple[tuple[str, str], ...], tmp_path: Path) -> Path:
    return run_of(tmp_path / "run", make_framed_student, [text for text, _ in toy_rows][:8]) / (
        "models/transformer/model.onnx"
    )

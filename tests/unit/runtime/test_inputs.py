"""Models that read special tokens around texts. Those that read words are asked in test_classifier.py."""

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.errors import NothingToPredict
from limbeck.runtime import batches
from limbeck.runtime.classifier import Classifier, load

ToyRows = tuple[tuple[str, str], ...]


def texts_of(toy_rows: ToyRows) -> list[str]:
    return [text for text, _ in toy_rows]


def pairs_of(toy_rows: ToyRows) -> list[tuple[str, str]]:
    """Some second texts are short, and some longer than the model reads."""
    texts = texts_of(toy_rows)
    seconds = [text[:20] if number % 3 else text * 4 for number, text in enumerate(reversed(texts))]
    return list(zip(texts, seconds, strict=True))


def transformers_logits(student: Path, tokenizer: Path, *columns: list[str]) -> npt.NDArray[np.float32]:
    """What plain transformers says: its tokenizer, its network."""
    tokens = AutoTokenizer.from_pretrained(tokenizer)(
        *columns, truncation=True, max_length=40, padding=True, return_tensors="pt"
    )
    network = AutoModelForSequenceClassification.from_pretrained(student).eval()
    with torch.inference_mode():
        logits: npt.NDArray[np.float32] = network(**tokens).logits.numpy()
    return logits


def test_texts_are_answered_as_transformers_answers_them(
    framed_folder: Path, tiny_teacher_folder: Path, toy_rows: ToyRows
) -> None:
    model, texts = load(framed_folder), texts_of(toy_rows)

    logits = model.logits(texts)

    expected = transformers_logits(framed_folder.parent / "student", tiny_teacher_folder, texts)
    np.testing.assert_allclose(logits, expected, atol=1e-4)
    assert model.predict(texts) == [model.labels[row.argmax()] for row in expected]
    assert len(set(model.predict(texts))) > 1


def test_pairs_are_answered_as_transformers_answers_them(
    framed_pair_folder: Path, tiny_teacher_folder: Path, toy_rows: ToyRows
) -> None:
    model, pairs = load(framed_pair_folder), pairs_of(toy_rows)

    logits = model.logits(pairs)

    columns = [list(column) for column in zip(*pairs, strict=True)]
    expected = transformers_logits(framed_pair_folder.parent / "student", tiny_teacher_folder, *columns)
    np.testing.assert_allclose(logits, expected, atol=1e-4)
    assert np.abs(logits - model.logits([(other, text) for text, other in pairs])).max() > 0.01


def test_several_labels_a_row_are_said_where_they_are_probable(
    framed_multi_label_folder: Path, toy_rows: ToyRows
) -> None:
    model, texts = load(framed_multi_label_folder), texts_of(toy_rows)

    labels, probabilities = model.predict(texts), model.predict_proba(texts)

    assert labels == [[model.labels[number] for number in range(3) if row[number] >= 0.5] for row in probabilities]
    np.testing.assert_allclose(probabilities, 1 / (1 + np.exp(-model.logits(texts).astype(np.float64))), atol=1e-6)


def test_results_come_in_the_order_given_and_do_not_depend_on_the_company(
    framed_folder: Path, framed_pair_folder: Path, toy_rows: ToyRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BATCH_TOKENS", 100)
    single, double = load(framed_folder), load(framed_pair_folder)
    texts, pairs = texts_of(toy_rows), pairs_of(toy_rows)

    together = single.logits(texts), double.logits(pairs)

    np.testing.assert_allclose(together[0], np.concatenate([single.logits([text]) for text in texts]), atol=1e-5)
    np.testing.assert_allclose(together[1], np.concatenate([double.logits([pair]) for pair in pairs]), atol=1e-5)


@pytest.mark.parametrize("text", ["", "   ", "\ud800", "film " * 100_000, "\x00", "电影", "[PAD] [MASK] [CLS]"])
def test_no_text_is_too_strange_to_have_an_answer(framed_folder: Path, framed_pair_folder: Path, text: str) -> None:
    assert np.isfinite(load(framed_folder).predict_proba([text, "a film"])).all()
    assert np.isfinite(load(framed_pair_folder).predict_proba([(text, "a film"), ("a film", text)])).all()


def test_one_model_serves_many_threads(framed_pair_folder: Path, toy_rows: ToyRows) -> None:
    model, pairs = load(framed_pair_folder, threads=2), pairs_of(toy_rows)
    parts = [pairs[start : start + 25] for start in range(0, 200, 25)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(model.predict, parts * 3))

    assert answers == [model.predict(part) for part in parts] * 3


def test_a_text_is_no_pair(framed_pair_folder: Path) -> None:
    with pytest.raises(NothingToPredict, match="not a pair of texts"):
        load(framed_pair_folder).predict(["a film"])


def test_models_from_before_there_were_two_kinds_read_words(model_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(model_folder, tmp_path / "model"))
    card = json.loads((folder / "model.json").read_text())
    assert card.pop("tokenizer") == "words"
    (folder / "model.json").write_text(json.dumps(card))

    answers = Classifier(ModelFolder(folder)).logits(["a gorgeous film"])

    np.testing.assert_array_equal(answers, load(model_folder).logits(["a gorgeous film"]))


def test_predicting_in_a_fresh_process_loads_nothing_heavy(framed_folder: Path) -> None:
    code = (
        "import sys\n"
        "from limbeck.runtime.classifier import load\n"
        "print(load(sys.argv[1]).predict(['a gorgeous film']))\n"
        "print([name for name in ('torch', 'transformers', 'pyarrow', 'onnx', 'scipy') if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(framed_folder)], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "[]"

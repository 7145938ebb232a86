import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.manifest import FormatTooNew
from limbeck.artifacts.model_folder import ModelFolder, save_facts
from limbeck.errors import ArtifactDamaged, ArtifactMissing, NothingToPredict
from limbeck.runtime import batches
from limbeck.runtime.classifier import Classifier, load
from limbeck.runtime.engine import EngineChoice
from limbeck.runtime.probabilities import sigmoid, softmax

ToyRows = tuple[tuple[str, str], ...]


@pytest.fixture
def model_copy(model_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_folder, tmp_path / "model"))


def texts_of(toy_rows: ToyRows) -> list[str]:
    return [text for text, _ in toy_rows]


def test_labels_are_those_of_the_largest_probabilities(
    model_folder: Path, toy_rows: ToyRows, engine: EngineChoice
) -> None:
    model, texts = load(model_folder, engine=engine), texts_of(toy_rows)

    probabilities = model.predict_proba(texts)

    assert model.predict(texts) == [model.labels[row.argmax()] for row in probabilities]
    assert len(set(model.predict(texts))) > 1


def test_probabilities_sum_to_one(model_folder: Path, toy_rows: ToyRows, engine: EngineChoice) -> None:
    probabilities = load(model_folder, engine=engine).predict_proba(texts_of(toy_rows))

    assert probabilities.shape == (200, 3)
    assert probabilities.dtype == np.float32
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)


def test_a_row_that_may_have_several_labels_gets_all_that_are_as_probable_as_not(
    multi_label_folder: Path, toy_rows: ToyRows, engine: EngineChoice
) -> None:
    model, texts = load(multi_label_folder, engine=engine), texts_of(toy_rows)

    labels, probabilities = model.predict(texts), model.predict_proba(texts)

    expected = [[model.labels[number] for number in range(3) if row[number] >= 0.5] for row in probabilities]
    assert labels == expected
    assert {len(row) for row in expected} >= {0, 1, 2}


def test_the_probabilities_of_labels_that_may_go_together_stand_each_for_itself(
    multi_label_folder: Path, toy_rows: ToyRows, engine: EngineChoice
) -> None:
    model, texts = load(multi_label_folder, engine=engine), texts_of(toy_rows)

    probabilities = model.predict_proba(texts)

    logits = model.logits(texts).astype(np.float64)
    np.testing.assert_allclose(probabilities, 1 / (1 + np.exp(-logits)), atol=1e-6)
    assert probabilities.dtype == np.float32
    assert model.predict([]) == []


def test_results_come_in_the_order_given_and_do_not_depend_on_the_company(
    model_folder: Path, toy_rows: ToyRows, engine: EngineChoice
) -> None:
    model, texts = load(model_folder, engine=engine), texts_of(toy_rows)

    together = model.logits(texts)

    alone = np.concatenate([model.logits([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_pairs_come_in_the_order_given(pair_model_folder: Path, toy_rows: ToyRows, engine: EngineChoice) -> None:
    model, texts = load(pair_model_folder, engine=engine), texts_of(toy_rows)
    pairs = list(zip(texts, texts[::-1], strict=True))

    together = model.logits(pairs)

    alone = np.concatenate([model.logits([pair]) for pair in pairs])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert np.abs(together - model.logits([(other, text) for text, other in pairs])).max() > 0.01


@pytest.mark.parametrize("rows", [0, 1, 7, 8])
def test_input_longer_than_a_chunk_is_put_together_again(
    model_folder: Path, toy_rows: ToyRows, monkeypatch: pytest.MonkeyPatch, rows: int, engine: EngineChoice
) -> None:
    model, texts = load(model_folder, engine=engine), texts_of(toy_rows)[:rows]
    whole = model.logits(texts)
    monkeypatch.setattr(batches, "CHUNK_ROWS", 3)

    in_chunks = model.logits(iter(texts))

    np.testing.assert_allclose(in_chunks, whole, atol=1e-6)


def test_no_rows_give_results_of_the_right_shape(model_folder: Path, engine: EngineChoice) -> None:
    model = load(model_folder, engine=engine)

    assert model.predict([]) == []
    assert model.predict_proba([]).shape == model.logits(iter(())).shape == (0, 3)
    assert model.predict_proba([]).dtype == np.float32


def test_a_lone_text_is_refused(model_folder: Path) -> None:
    with pytest.raises(NothingToPredict, match=r"predict\(\[text\]\)"):
        load(model_folder).predict("a gorgeous film")


def test_a_pair_instead_of_a_list_of_pairs_is_refused(pair_model_folder: Path) -> None:
    with pytest.raises(NothingToPredict, match=r"predict\(\[\(text, other_text\)\]\)"):
        load(pair_model_folder).predict(("a film", "a scene"))


@pytest.mark.parametrize("text", ["", "   ", "\ud800", "film \udcff scene", "film " * 100_000, "\x00", "电影", "🙂"])
def test_no_text_is_too_strange_to_have_an_answer(model_folder: Path, text: str, engine: EngineChoice) -> None:
    probabilities = load(model_folder, engine=engine).predict_proba([text, "a film"])

    assert np.isfinite(probabilities).all()


def test_texts_are_cut_at_the_models_max_length(model_folder: Path, engine: EngineChoice) -> None:
    model = load(model_folder, engine=engine)
    start = "film " * model.facts.max_length

    logits = model.logits([start, start + "gorgeous", start.removesuffix("film ") + "gorgeous"])

    np.testing.assert_allclose(logits[0], logits[1], atol=1e-6)
    assert np.abs(logits[0] - logits[2]).max() > 1e-3


def test_threads_do_not_change_a_number(model_folder: Path, toy_rows: ToyRows, engine: EngineChoice) -> None:
    texts = texts_of(toy_rows) * 3

    one, four = (load(model_folder, engine=engine, threads=threads).logits(texts) for threads in (1, 4))

    np.testing.assert_array_equal(one, four)


def test_one_model_serves_many_threads(model_folder: Path, toy_rows: ToyRows, engine: EngineChoice) -> None:
    model, texts = load(model_folder, engine=engine, threads=2), texts_of(toy_rows)
    parts = [texts[start : start + 25] for start in range(0, 200, 25)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(model.predict, parts * 5))

    assert answers == [model.predict(part) for part in parts] * 5


def test_there_is_no_model_without_a_thread(model_folder: Path) -> None:
    with pytest.raises(ValueError, match="threads must be at least 1"):
        load(model_folder, threads=0)


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactMissing, match="exported model"):
        load(str(tmp_path))


def test_a_changed_graph_is_refused(model_copy: Path) -> None:
    graph = bytearray((model_copy / "model.onnx").read_bytes())
    graph[len(graph) // 2] ^= 1
    (model_copy / "model.onnx").write_bytes(graph)

    with pytest.raises(ArtifactDamaged, match=r"model\.onnx has changed"):
        load(model_copy)


def test_a_lost_tokenizer_is_refused(model_copy: Path) -> None:
    (model_copy / "tokenizer.json").unlink()

    with pytest.raises(ArtifactDamaged, match=r"tokenizer\.json is missing"):
        load(model_copy)


def test_a_model_of_a_newer_format_is_refused(model_copy: Path) -> None:
    manifest = json.loads((model_copy / "manifest.json").read_text())
    (model_copy / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))

    with pytest.raises(FormatTooNew, match="format 99"):
        load(model_copy)


def test_predicting_in_a_fresh_process_loads_nothing_heavy(model_folder: Path, engine: EngineChoice) -> None:
    code = (
        "import sys, limbeck.runtime.stream\n"
        "from limbeck.runtime.classifier import load\n"
        "print(load(sys.argv[1], engine=sys.argv[2]).predict(['a gorgeous film']))\n"
        "print([name for name in ('torch', 'transformers', 'pyarrow', 'onnx', 'scipy') if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(model_folder), engine], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("temperature", [0.5, 4.0])
def test_probabilities_are_those_at_the_models_temperature_and_labels_and_logits_stay(
    model_copy: Path, toy_rows: ToyRows, temperature: float
) -> None:
    plain, texts = Classifier(ModelFolder(model_copy)), texts_of(toy_rows)
    save_facts(model_copy, replace(plain.facts, temperature=temperature))

    model = Classifier(ModelFolder(model_copy))

    logits = plain.logits(texts)
    np.testing.assert_array_equal(model.logits(texts), logits)
    np.testing.assert_allclose(model.predict_proba(texts), softmax(logits / temperature), atol=1e-6)
    assert model.predict_proba(texts).dtype == np.float32
    assert model.predict(texts) == plain.predict(texts)


def test_labels_that_may_go_together_are_the_same_at_any_temperature(
    multi_label_folder: Path, tmp_path: Path, toy_rows: ToyRows
) -> None:
    folder = Path(shutil.copytree(multi_label_folder, tmp_path / "model"))
    plain, texts = Classifier(ModelFolder(folder)), texts_of(toy_rows)
    save_facts(folder, replace(plain.facts, temperature=3.0))

    model = Classifier(ModelFolder(folder))

    np.testing.assert_allclose(model.predict_proba(texts), sigmoid(plain.logits(texts) / np.float32(3)), atol=1e-6)
    assert model.predict(texts) == plain.predict(texts)

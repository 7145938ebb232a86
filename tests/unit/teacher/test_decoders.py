"""Decoders as teachers: whatever a checkpoint says about padding, a label depends on its text alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.models.decoders import is_decoder, place_read
from limbeck.progress import SilentReporter
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.tasks import TASKS
from limbeck.teacher.loading import load_encoder, load_ready, open_teacher
from limbeck.teacher.run import prepare_teacher
from tests.unit.teacher.test_families import FAMILIES, save_checkpoint

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # DeBERTa

WORDS = ["the", "film", "is", "gorgeous", "dreadful", "story", "long"]
END = "<|endoftext|>"
TEXTS = ["the film is gorgeous", "film", f"a story {END}", "", f"{END}{END}", "the dreadful film is a long long story"]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """GPT-2 without a token for padding, whose tokenizer was saved to pad on the left."""
    save_checkpoint(FAMILIES["gpt2"], tmp_path / "gpt2", WORDS)
    changed(tmp_path / "gpt2" / "tokenizer_config.json", padding_side="left", truncation_side="left")
    return tmp_path / "gpt2"


def changed(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **values}), encoding="utf-8")


def section(folder: Path, **values: Any) -> EncoderTeacher:
    given = {"checkpoint": str(folder), "precision": "fp32", "max_length": 24, "processes": 1, "epochs": 1}
    return EncoderTeacher.model_validate({**given, **values})


def ready(folder: Path) -> Any:
    given = section(folder, train="none")
    return load_ready(folder, section=given, labels=["negative", "positive"], task=TASKS["one_label"])


def test_decoders_are_told_from_encoders_by_their_classifier() -> None:
    named = ["gpt2", "llama", "qwen2", "qwen3", "mistral", "gemma2", "phi3", "gpt_neox", "opt", "bloom", "falcon"]
    encoders = ["bert", "roberta", "xlnet", "deberta-v2", "mpnet", "electra", "modernbert", "bart", "t5"]

    found = {name: is_decoder(transformers.CONFIG_MAPPING[name]()) for name in (*named, *encoders)}

    assert found == {**dict.fromkeys(named, True), **dict.fromkeys(encoders, False)}


@pytest.mark.parametrize("named", [None, 5])
def test_a_ready_decoder_labels_a_text_alike_alone_and_in_any_batch(checkpoint: Path, named: int | None) -> None:
    changed(checkpoint / "config.json", pad_token_id=named)
    encoder = ready(checkpoint)

    together = encoder.logits(TEXTS, None, tokens_per_batch=1000)
    alone = np.concatenate([encoder.logits([text], None) for text in TEXTS])
    _, features = encoder.logits_and_features(TEXTS, None, pooling="cls", tokens_per_batch=1000)

    np.testing.assert_allclose(together, alone, atol=1e-5)
    read = features.astype(np.float32) @ encoder.model.score.weight.detach().numpy().T
    np.testing.assert_allclose(read, together, atol=2e-2)
    plain = transformers.AutoModelForSequenceClassification.from_pretrained(checkpoint).eval()
    with torch.no_grad():
        ids = [encoder.tokenizer(text, return_tensors="pt")["input_ids"] for text in TEXTS[:2]]
        np.testing.assert_allclose(together[:2], np.concatenate([plain(one).logits for one in ids]), atol=1e-5)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize("settings", [{"head": "mean"}, {"train": "head"}])
def test_a_decoder_is_fine_tuned_from_a_language_model(
    family: str,
    settings: dict[str, Any],
    tmp_path: Path,
    make_corpus: Callable[..., Corpus],
    toy_rows: tuple[tuple[str, str], ...],
) -> None:
    save_checkpoint(FAMILIES[family], tmp_path / "classifier", WORDS)
    config = transformers.AutoConfig.from_pretrained(tmp_path / "classifier")
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / "lm")
    for path in (tmp_path / "classifier").glob("tokenizer*"):
        path.rename(tmp_path / "lm" / path.name)
    corpus = make_corpus(tmp_path / "corpus", train=toy_rows[:24], dev=toy_rows[24:36])

    teacher = prepare_teacher(
        section(tmp_path / "lm", **settings),
        corpus=corpus,
        out=tmp_path / "teacher",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    )
    opened = open_teacher(teacher)

    assert is_decoder(opened.model.config)
    together = opened.logits(TEXTS, TEXTS[::-1], tokens_per_batch=1000)
    alone = [opened.logits([a], [b]) for a, b in zip(TEXTS, TEXTS[::-1], strict=True)]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-5)
    assert np.isfinite(together).all()


def test_texts_of_a_pair_are_apart_only_where_the_decoder_learns_it(checkpoint: Path) -> None:
    learning = load_encoder(checkpoint, max_length=9, arithmetic="fp32", labels=["no", "yes"])

    assert learning.tokenizer.decode(learning.tokenise(["the film"], ["story"])[0]["input_ids"]) == (
        f"the film{END}story"
    )
    assert ready(checkpoint).tokenizer.decode(ready(checkpoint).tokenise(["the"], [" film"])[0]["input_ids"]) == (
        "the film"
    )


def test_the_last_token_that_is_not_padding_is_read() -> None:
    ids = torch.tensor([[4, 5, 0, 0], [0, 4, 5, 6], [4, 0, 5, 0], [0, 0, 0, 0]])

    assert place_read(ids, padding=0).tolist() == [1, 3, 2, 0]

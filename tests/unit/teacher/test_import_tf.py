"""A TensorFlow BERT becomes a Hugging Face folder with the same outputs, or is refused with nothing left behind."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification, AutoTokenizer
from typer.testing import CliRunner

from limbeck.cli import app
from limbeck.errors import CheckpointDamaged, PathUnusable
from limbeck.pretraining.loading import load_masked_lm
from limbeck.teacher import import_tf as import_tf_file
from limbeck.teacher.import_tf import ClassNamesUnfit, import_tf
from limbeck.teacher.loading import load_encoder
from limbeck.teacher.tf_config import CheckpointIncomplete
from limbeck.teacher.tf_weights import CheckpointUnfit, CheckpointUnsupported

Variables = dict[str, npt.NDArray[Any]]
Write = Callable[..., Path]

TOKENS = [
    *("[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *("film", "##s", "good", "bad", "not", "好", "电", "影"),
]
CONFIG: dict[str, Any] = {
    "vocab_size": len(TOKENS),
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 20,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
}
FACTORISED = {**CONFIG, "embedding_size": 8}
TEXTS = ["films good", "not good films 电影好", "bad"]
PAIRS = ["bad films", "好", "good films not bad"]


def variables_of(config: Mapping[str, Any], *, classes: int = 0, guesses: bool = False) -> Variables:
    """Random weights, far from what any of them starts as, under the names that Google's code gives them."""
    dice = np.random.default_rng(3)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    width = config.get("embedding_size", hidden)
    found: Variables = {}

    def add(name: str, *shape: int) -> None:
        found[name] = dice.normal(1.0 if name.endswith("gamma") else 0.0, 0.5, shape).astype(np.float32)

    for table, rows in (
        ("word", "vocab_size"),
        ("position", "max_position_embeddings"),
        ("token_type", "type_vocab_size"),
    ):
        add(f"bert/embeddings/{table}_embeddings", config[rows], width)
    head = "cls/predictions"
    dense = {"bert/pooler/dense": (hidden, hidden), f"{head}/transform/dense": (hidden, width)}
    norms = {"bert/embeddings/LayerNorm": width, f"{head}/transform/LayerNorm": width}
    add(f"{head}/output_bias", config["vocab_size"])
    if width != hidden:
        dense["bert/encoder/embedding_hidden_mapping_in"] = (width, hidden)
    for layer in (f"bert/encoder/layer_{number}" for number in range(config["num_hidden_layers"])):
        names = ("self/query", "self/key", "self/value", "output/dense")
        dense |= {f"{layer}/attention/{name}": (hidden, hidden) for name in names}
        dense |= {f"{layer}/intermediate/dense": (hidden, inner), f"{layer}/output/dense": (inner, hidden)}
        norms |= {f"{layer}/attention/output/LayerNorm": hidden, f"{layer}/output/LayerNorm": hidden}
    for name, (width_in, width_out) in dense.items():
        add(f"{name}/kernel", width_in, width_out)
        add(f"{name}/bias", width_out)
    for name, size in norms.items():
        add(f"{name}/gamma", size)
        add(f"{name}/beta", size)
    if classes:
        add("output_weights", classes, hidden)
        add("output_bias", classes)
    return {name: values for name, values in found.items() if guesses or not name.startswith(head)}


@pytest.fixture(scope="module")
def tensorflow() -> Any:
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}
    return pytest.importorskip("tensorflow")


@pytest.fixture
def write(tensorflow: Any, tmp_path: Path) -> Write:
    """write(variables, config): a checkpoint as TensorFlow saves it, with its two files; gives back its prefix."""

    def write_checkpoint(
        variables: Mapping[str, Any], config: Mapping[str, Any], *, tokens: list[str] = TOKENS
    ) -> Path:
        folder = tmp_path / "tf"
        folder.mkdir()
        prefix = folder / "bert_model.ckpt"
        tensorflow.raw_ops.SaveV2(
            prefix=str(prefix),
            tensor_names=list(variables),
            shape_and_slices=[""] * len(variables),
            tensors=[tensorflow.constant(values) for values in variables.values()],
        )
        (folder / "bert_config.json").write_text(json.dumps(config), encoding="utf-8")
        (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
        return prefix

    return write_checkpoint


def what_is_beside(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.iterdir() if path.name.startswith(out.name))


@pytest.mark.parametrize("config", [CONFIG, FACTORISED], ids=["plain", "factorised"])
@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh"])
def test_a_fine_tuned_checkpoint_gives_the_same_logits(
    write: Write, bert_reference: Any, tmp_path: Path, config: dict[str, Any], activation: str
) -> None:
    config = {**config, "hidden_act": activation}
    variables = variables_of(config, classes=3)
    reference = bert_reference(variables, config)

    import_tf(write(variables, config), tmp_path / "hf", labels=["bad", "mixed", "good"])

    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "hf")
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "hf").eval()
    with torch.inference_mode():  # as a batch of pairs, so that padding and the second segment count too
        found = model(**tokenizer(TEXTS, PAIRS, padding=True, return_tensors="pt")).logits.numpy()
    rows = [tokenizer(text, pair) for text, pair in zip(TEXTS, PAIRS, strict=True)]
    expected = [reference.logits(reference.states(row["input_ids"], row["token_type_ids"])) for row in rows]
    assert np.abs(found - np.array(expected)).max() < 1e-5
    assert np.ptp(found, axis=0).min() > 0.01, "the texts must matter"
    assert model.config.id2label == {0: "bad", 1: "mixed", 2: "good"}


@pytest.mark.parametrize("config", [CONFIG, FACTORISED], ids=["plain", "factorised"])
@pytest.mark.parametrize("guesses", [True, False])
def test_a_raw_checkpoint_gives_the_same_states_and_heads_without_a_use_are_left_out(
    write: Write, bert_reference: Any, tmp_path: Path, config: dict[str, Any], guesses: bool
) -> None:
    variables = variables_of(config, guesses=guesses)
    next_sentence = {
        "cls/seq_relationship/output_bias": np.ones(2, np.float32),
        "cls/seq_relationship/output_weights": np.ones((2, 12), np.float32),
    }
    reference = bert_reference(variables, config)

    imported = import_tf(write({**variables, **next_sentence}, config), tmp_path / "hf")

    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "hf")
    model = AutoModel.from_pretrained(tmp_path / "hf").eval()
    for text in TEXTS:
        row = tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            found = model(**row, output_hidden_states=True)
        expected = reference.states(row["input_ids"][0].tolist(), row["token_type_ids"][0].tolist())
        assert np.abs(found.last_hidden_state[0].numpy() - expected).max() < 1e-5
        assert np.abs(found.hidden_states[-1][0].numpy() - expected).max() < 1e-5
        assert np.abs(found.pooler_output[0].numpy() - reference.pooled(expected)).max() < 1e-5
    assert "dropped: 2 variables of the pre-training heads" in "\n".join(imported.notes)
    assert ("ALBERT" in imported.summary) == (config is FACTORISED)


@pytest.mark.parametrize("config", [CONFIG, FACTORISED], ids=["plain", "factorised"])
@pytest.mark.parametrize("pooled", [True, False])
def test_masked_words_are_guessed_as_before(
    write: Write, bert_reference: Any, tmp_path: Path, config: dict[str, Any], pooled: bool
) -> None:
    variables = variables_of(config, guesses=True)
    reference = bert_reference(variables, config)

    kept = {name: values for name, values in variables.items() if pooled or "pooler" not in name}
    imported = import_tf(write(kept, config), tmp_path / "hf")

    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "hf")
    model, loading = AutoModelForMaskedLM.from_pretrained(tmp_path / "hf", output_loading_info=True)
    row = tokenizer("films [MASK] 电影好", return_tensors="pt")
    with torch.inference_mode():
        found = model.eval()(**row).logits[0].numpy()
    states = reference.states(row["input_ids"][0].tolist(), row["token_type_ids"][0].tolist())
    assert np.abs(found - reference.guesses(states)).max() < 1e-5
    assert not loading["missing_keys"]
    assert imported.summary.endswith("0.0M parameters, a head for masked words")
    assert not any(note.startswith("left out") for note in imported.notes)
    assert load_masked_lm(tmp_path / "hf", name="hf", max_length=8).has_new_head is False


@pytest.mark.parametrize("config", [CONFIG, FACTORISED], ids=["plain", "factorised"])
@pytest.mark.parametrize("guesses", [True, False])
@pytest.mark.parametrize("pooled", [True, False])
def test_a_raw_checkpoint_becomes_a_teacher_that_misses_only_what_was_not_there(
    write: Write, tmp_path: Path, config: dict[str, Any], pooled: bool, guesses: bool
) -> None:
    variables = variables_of(config, guesses=guesses)
    kept = {name: values for name, values in variables.items() if pooled or "pooler" not in name}

    imported = import_tf(write(kept, config), tmp_path / "hf")

    encoder = load_encoder(tmp_path / "hf", max_length=64, arithmetic="fp32", labels=["bad", "good"])
    assert {name.split(".")[0 if name.startswith("classifier") else 1] for name in encoder.fresh} == (
        {"classifier"} if pooled else {"classifier", "pooler"}
    )
    assert encoder.max_length == 16
    assert encoder.logits(TEXTS, None).shape == (3, 2)
    assert ("it has no pooler: fine-tuning initialises a new one" in imported.notes) != pooled


def test_the_folder_of_one_checkpoint_is_enough_and_folders_around_the_new_one_are_made(
    write: Write, tmp_path: Path
) -> None:
    write(variables_of(CONFIG), CONFIG)

    imported = import_tf(tmp_path / "tf", tmp_path / "models" / "hf")

    assert imported.folder == tmp_path / "models" / "hf"
    assert (imported.folder / "model.safetensors").is_file()


def test_what_the_optimiser_kept_is_skipped_and_double_precision_is_read(write: Write, tmp_path: Path) -> None:
    variables: dict[str, Any] = variables_of(CONFIG, classes=2)
    slots = {f"{name}/{slot}": values for name, values in variables.items() for slot in ("adam_m", "adam_v", "Adam")}
    table = "bert/embeddings/word_embeddings"

    import_tf(
        write({**variables, **slots, "global_step": 7, table: variables[table].astype(np.float64)}, CONFIG),
        tmp_path / "hf",
    )

    found = AutoModel.from_pretrained(tmp_path / "hf").embeddings.word_embeddings.weight
    assert np.array_equal(found.detach().numpy(), variables[table])


def test_variables_that_do_not_fit_are_refused_and_nothing_is_written(write: Write, tmp_path: Path) -> None:
    variables = {**variables_of(CONFIG), "crf_loss/transitions": np.ones((2, 2), np.float32)}

    with pytest.raises(CheckpointUnfit, match="1 unknown variables: crf_loss/transitions"):
        import_tf(write(variables, CONFIG), tmp_path / "hf")

    assert what_is_beside(tmp_path / "hf") == []


@pytest.mark.parametrize("name", ["bert_config.json", "vocab.txt"])
def test_a_file_that_is_not_beside_the_checkpoint_is_named(write: Write, tmp_path: Path, name: str) -> None:
    prefix = write(variables_of(CONFIG), CONFIG)
    (prefix.parent / name).rename(prefix.parent / f"other_{name}")

    with pytest.raises(CheckpointIncomplete, match=f"no '{name}' next to") as caught:
        import_tf(prefix, tmp_path / "hf")

    assert f"other_{name}" in str(caught.value)


@pytest.mark.parametrize(
    ("classes", "labels", "message"),
    [
        (2, ["bad", "good", "mixed"], "output_weights has 2 classes"),
        (2, ["bad", "bad"], "appears twice"),
        (2, ["bad", ""], "a name is empty"),
        (0, ["bad", "good"], "has no classifier"),
    ],
)
def test_names_that_do_not_fit_the_classes_are_refused(
    write: Write, tmp_path: Path, classes: int, labels: list[str], message: str
) -> None:
    with pytest.raises(ClassNamesUnfit, match=message):
        import_tf(write(variables_of(CONFIG, classes=classes), CONFIG), tmp_path / "hf", labels=labels)

    assert what_is_beside(tmp_path / "hf") == []


@pytest.mark.parametrize("damage", [b"", b"short"])
def test_a_damaged_checkpoint_is_refused(write: Write, tmp_path: Path, damage: bytes) -> None:
    prefix = write(variables_of(CONFIG), CONFIG)
    Path(f"{prefix}.data-00000-of-00001").write_bytes(damage)

    with pytest.raises(CheckpointDamaged, match="bert/embeddings/word_embeddings: "):
        import_tf(prefix, tmp_path / "hf")

    assert what_is_beside(tmp_path / "hf") == []


def test_a_checkpoint_of_objects_is_refused(write: Write, tmp_path: Path) -> None:
    variables = {"_CHECKPOINTABLE_OBJECT_GRAPH": b"", "encoder/kernel/.ATTRIBUTES/VARIABLE_VALUE": np.ones(2)}

    with pytest.raises(CheckpointUnsupported, match="saved by TensorFlow 2 as a tree of objects"):
        import_tf(write(variables, CONFIG), tmp_path / "hf")


def test_a_folder_that_holds_something_is_left_alone_and_an_empty_one_is_filled(write: Write, tmp_path: Path) -> None:
    prefix = write(variables_of(CONFIG), CONFIG)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    (tmp_path / "empty").mkdir()

    import_tf(prefix, tmp_path / "empty")
    with pytest.raises(PathUnusable, match="already exists and is not empty"):
        import_tf(prefix, tmp_path / "full")
    with pytest.raises(PathUnusable, match="it is a file"):
        import_tf(prefix, tmp_path / "full" / "mine.txt")

    assert (tmp_path / "empty" / "config.json").is_file()
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]


def test_nothing_stays_of_a_folder_that_could_not_be_finished(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = write(variables_of(CONFIG), CONFIG)

    def interrupted(*_: Any, **__: Any) -> None:
        assert what_is_beside(tmp_path / "hf") == ["hf.partial"]  # the weights are in it by now
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(import_tf_file, "bert_tokenizer", interrupted)
        with pytest.raises(KeyboardInterrupt):
            import_tf(prefix, tmp_path / "hf")
    left = what_is_beside(tmp_path / "hf")
    import_tf(prefix, tmp_path / "hf")

    assert left == []
    assert what_is_beside(tmp_path / "hf") == ["hf"]


def test_the_command_says_what_it_wrote_and_tensorflow_says_nothing(write: Write, tmp_path: Path) -> None:
    """In a process of its own: TensorFlow logs when it is loaded, and past Python's own streams."""
    prefix = write(variables_of(CONFIG, classes=2), CONFIG)
    unset = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}

    command = [sys.executable, "-m", "limbeck", "import-tf", str(prefix), "hf", "--no-lowercase"]
    done = subprocess.run(command, cwd=tmp_path, env=unset, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    first, *notes = done.stdout.splitlines()
    assert first == "Wrote hf: BERT, 2 layers × 12, 14 tokens, 0.0M parameters, 2 classes"
    assert notes == [
        "  case is kept, as asked",
        '  hidden_act "gelu" is computed with erf; if your code approximates it with tanh, write "gelu_tanh" there',
        "  its classes are called LABEL_0 … LABEL_1; name them with --labels",
    ]


def test_the_command_ends_with_2_and_a_message(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = write(variables_of(CONFIG, classes=2), CONFIG)

    misnamed = CliRunner().invoke(app, ["import-tf", str(prefix), str(tmp_path / "hf"), "--labels", "bad, so-so,good"])
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    lacking = CliRunner().invoke(app, ["import-tf", str(prefix), str(tmp_path / "hf")])

    assert (misnamed.exit_code, lacking.exit_code) == (2, 2)
    assert misnamed.stderr.splitlines()[0] == "limbeck: cannot name the classes bad, so-so, good"
    assert lacking.stderr.splitlines() == [
        "limbeck: limbeck import-tf needs the package 'tensorflow'",
        "Run: pip install 'limbeck[tf]'",
    ]

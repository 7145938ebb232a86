"""Loading encoders: heads that fit or start fresh, ready teachers as they are, and checkpoints that are refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, XLNetConfig, XLNetForSequenceClassification

from limbeck.artifacts.teacher_folder import TeacherFolder, save_teacher_facts
from limbeck.errors import CheckpointDamaged
from limbeck.models.tokenizer import TokenizerTooLarge
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.tasks import task_of
from limbeck.teacher.encoder import Encoder
from limbeck.teacher.head import ClassesDiffer, LabelNamesUnfit
from limbeck.teacher.loading import NeverFineTuned, TaskDiffers, load_encoder, load_ready, open_teacher

TEXTS = ["the film is gorgeous", "a dreadful story"]
SEVERAL = "multi_label_classification"


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return dict(load_file(folder / "model.safetensors"))


def save_weights(folder: Path, weights: dict[str, torch.Tensor]) -> None:
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def configure(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **values}), encoding="utf-8")


def bare(folder: Path, *parts: str) -> None:
    """Leave these parts out of the weights, which become those of an encoder alone."""
    kept = {name: weight for name, weight in weights_of(folder).items() if not any(part in name for part in parts)}
    save_weights(folder, {name.removeprefix("bert."): weight for name, weight in kept.items()})


def load(folder: Path, **options: Any) -> Encoder:
    return load_encoder(folder, max_length=16, arithmetic="fp32", **options)


def ready(folder: Path, *labels: str, multi_label: bool = False, **keys: Any) -> Encoder:
    section = EncoderTeacher.model_validate(
        {"checkpoint": "my/classifier", "train": "none", "precision": "fp32", "max_length": 16, **keys}
    )
    task = task_of(multi_label=multi_label)
    return load_ready(folder, section=section, labels=labels or ("negative", "positive"), task=task)


def test_the_head_is_made_for_the_corpus(tiny_teacher_folder: Path) -> None:
    labels = ["car", "game", "house", "sports"]

    encoder = load(tiny_teacher_folder, labels=labels)

    assert encoder.logits(["film"], None, tokens_per_batch=64).shape == (1, 4)
    assert encoder.model.config.id2label == dict(enumerate(labels))
    assert encoder.model.config.label2id == {label: number for number, label in enumerate(labels)}


def test_a_head_for_the_same_classes_is_kept_without_a_word(tiny_teacher_folder: Path) -> None:
    encoder = load(tiny_teacher_folder, labels=["negative", "positive"])

    assert torch.equal(encoder.model.classifier.weight, weights_of(tiny_teacher_folder)["classifier.weight"])
    assert encoder.note is None
    assert encoder.fresh == frozenset()


@pytest.mark.parametrize("labels", [["bad", "good"], ["positive", "negative"]])
def test_a_head_for_other_classes_starts_fresh_though_it_would_fit_and_this_is_reported(
    tiny_teacher_folder: Path, labels: list[str]
) -> None:
    """It would begin by taking one class for another, and what it knows would be unlearned first."""
    encoder = load(tiny_teacher_folder, labels=labels)

    before = weights_of(tiny_teacher_folder)
    after = encoder.model.state_dict()
    assert {name for name in before if not torch.equal(before[name], after[name])} == {"classifier.weight"}
    assert encoder.fresh == {"classifier.weight", "classifier.bias"}
    assert encoder.note == (
        "the checkpoint's head is for other classes (negative, positive) and is replaced by a new one; "
        "label_names in [teacher] would keep it"
    )


def test_a_head_of_another_size_is_reported_too(tiny_teacher_folder: Path) -> None:
    encoder = load(tiny_teacher_folder, labels=["a", "b", "c"])

    assert (
        encoder.note == "the checkpoint's head is for other classes (negative, positive) and is replaced by a new one"
    )
    assert encoder.fresh == {"classifier.weight", "classifier.bias"}


def test_label_names_keep_a_head_that_is_fine_tuned_further(tiny_teacher_folder: Path) -> None:
    encoder = load(tiny_teacher_folder, labels=["good", "bad"], label_names={"negative": "bad", "positive": "good"})

    head = weights_of(tiny_teacher_folder)["classifier.weight"]
    assert torch.equal(encoder.model.classifier.weight, head[[1, 0]])
    assert encoder.note is None
    assert encoder.model.config.id2label == {0: "good", 1: "bad"}


def test_label_names_that_do_not_fit_are_refused_whatever_is_trained(tiny_teacher_folder: Path) -> None:
    with pytest.raises(LabelNamesUnfit, match="'positive' of the checkpoint is missing"):
        load(tiny_teacher_folder, labels=["good", "bad"], label_names={"negative": "bad"})


def test_an_encoder_without_head_and_pooler_is_taken_and_says_what_is_fresh(tiny_teacher_copy: Path) -> None:
    weights = weights_of(tiny_teacher_copy)
    bare(tiny_teacher_copy, "pooler", "classifier")

    encoder = load(tiny_teacher_copy, labels=["a", "b"])

    loaded = encoder.model.bert.embeddings.word_embeddings.weight
    assert torch.equal(loaded, weights["bert.embeddings.word_embeddings.weight"])
    assert encoder.note is None
    assert encoder.fresh == {
        "bert.pooler.dense.weight",
        "bert.pooler.dense.bias",
        "classifier.weight",
        "classifier.bias",
    }


@pytest.mark.parametrize(
    ("before", "multi_label", "after"),
    [
        (None, True, SEVERAL),
        (None, False, None),
        (SEVERAL, False, "single_label_classification"),
        ("regression", True, SEVERAL),
    ],
)
def test_the_config_says_whether_a_row_has_several_labels(
    tiny_teacher_copy: Path, before: str | None, multi_label: bool, after: str | None
) -> None:
    configure(tiny_teacher_copy, problem_type=before)

    encoder = load(tiny_teacher_copy, labels=["negative", "positive"], task=task_of(multi_label=multi_label))

    assert encoder.model.config.problem_type == after


def test_a_ready_teacher_is_taken_as_it_is(tiny_teacher_folder: Path, tmp_path: Path) -> None:
    encoder = ready(tiny_teacher_folder, long_texts="head_and_tail", head_share=0.5)
    encoder.save(tmp_path)

    before, after = weights_of(tiny_teacher_folder), weights_of(tmp_path)
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert (encoder.max_length, encoder.long_texts, encoder.head_share) == (16, "head_and_tail", 0.5)
    assert encoder.note is None


def test_the_classes_of_a_ready_teacher_are_matched_by_name_and_never_by_place(tiny_teacher_folder: Path) -> None:
    with pytest.raises(ClassesDiffer, match="'my/classifier' are not those of the corpus: the same names in another"):
        ready(tiny_teacher_folder, "positive", "negative")


def test_a_ready_teacher_with_names_that_say_nothing_needs_label_names(tiny_teacher_copy: Path) -> None:
    configure(tiny_teacher_copy, id2label={"0": "LABEL_0", "1": "LABEL_1"}, label2id={"LABEL_0": 0, "LABEL_1": 1})
    before = load(tiny_teacher_copy).logits(TEXTS, None)

    with pytest.raises(ClassesDiffer, match=r'label_names = { "LABEL_0" = "\?", "LABEL_1" = "\?" }'):
        ready(tiny_teacher_copy)
    mapped = ready(tiny_teacher_copy, label_names={"LABEL_0": "positive", "LABEL_1": "negative"})

    np.testing.assert_array_equal(mapped.logits(TEXTS, None), before[:, ::-1])
    assert mapped.model.config.id2label == {0: "negative", 1: "positive"}


def test_an_encoder_that_was_never_fine_tuned_is_refused_as_a_ready_teacher(tiny_teacher_copy: Path) -> None:
    bare(tiny_teacher_copy, "classifier")

    with pytest.raises(NeverFineTuned, match="its head would be random") as raised:
        ready(tiny_teacher_copy)

    assert raised.value.missing == ("classifier.bias", "classifier.weight")
    assert 'teacher.train = "all"' in str(raised.value)


def test_a_ready_teacher_may_not_miss_a_pooler_either(tiny_teacher_copy: Path) -> None:
    """A tagger of words has a head that fits, and no pooler below it."""
    weights = {name: weight for name, weight in weights_of(tiny_teacher_copy).items() if "pooler" not in name}
    save_weights(tiny_teacher_copy, weights)

    with pytest.raises(CheckpointDamaged, match=r"would be random: bert\.pooler"):
        ready(tiny_teacher_copy)


@pytest.mark.parametrize(
    ("found", "multi_label"), [(SEVERAL, False), ("single_label_classification", True), ("regression", False)]
)
def test_a_ready_teacher_for_another_task_is_refused(tiny_teacher_copy: Path, found: str, multi_label: bool) -> None:
    configure(tiny_teacher_copy, problem_type=found)

    with pytest.raises(TaskDiffers, match=f"config.json: {found}; the corpus needs"):
        ready(tiny_teacher_copy, multi_label=multi_label)


def test_a_ready_teacher_that_does_not_say_its_task_is_taken_for_the_corpuss(tiny_teacher_folder: Path) -> None:
    assert ready(tiny_teacher_folder, multi_label=True).model.config.problem_type == SEVERAL


def test_max_length_never_exceeds_what_the_model_has_positions_for(tiny_teacher_folder: Path) -> None:
    encoder = load_encoder(tiny_teacher_folder, max_length=5000, arithmetic="fp32")

    assert encoder.max_length == 128
    assert encoder.logits(["film " * 5000], None, tokens_per_batch=64).shape == (1, 2)


def test_truncated_weights_give_a_clear_error(tiny_teacher_copy: Path) -> None:
    weights = tiny_teacher_copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])

    with pytest.raises(CheckpointDamaged, match="tiny-teacher"):
        load(tiny_teacher_copy)


def test_weights_under_other_names_than_the_configs_are_refused(tiny_teacher_copy: Path) -> None:
    """Transformers only warns, and the teacher would start from random weights."""
    save_weights(tiny_teacher_copy, {f"student.{name}": w for name, w in weights_of(tiny_teacher_copy).items()})

    with pytest.raises(CheckpointDamaged, match="weights of its config are not in its files"):
        load(tiny_teacher_copy)


def test_a_kept_teacher_is_opened_with_the_rules_that_it_was_judged_by(
    make_teacher: Callable[..., TeacherFolder], tmp_path: Path
) -> None:
    teacher = make_teacher(tmp_path / "teacher", parameters=1000)
    facts = {**vars(teacher.facts), "max_length": 9, "long_texts": "head_and_tail", "head_share": 0.5}
    save_teacher_facts(teacher.folder, type(teacher.facts)(**facts))

    encoder = open_teacher(teacher)

    assert (encoder.max_length, encoder.long_texts, encoder.head_share) == (9, "head_and_tail", 0.5)
    assert not encoder.model.training


def test_xlnet_keeps_no_states_for_a_text_that_goes_on(tiny_teacher_copy: Path) -> None:
    (tiny_teacher_copy / "config.json").unlink()
    sizes = {"vocab_size": 200, "d_model": 8, "d_inner": 8, "n_layer": 1, "n_head": 1}
    XLNetForSequenceClassification(XLNetConfig(**sizes, num_labels=2)).save_pretrained(tiny_teacher_copy)

    encoder = load(tiny_teacher_copy)

    assert encoder.model(**encoder.batch(encoder.tokenise(["the film"]))).mems is None


def test_weights_of_another_shape_than_the_config_says_are_refused(tiny_teacher_copy: Path) -> None:
    """Transformers would start them at random, since a head of another size is allowed."""
    config = json.loads((tiny_teacher_copy / "config.json").read_text(encoding="utf-8"))
    config["vocab_size"] += 8
    (tiny_teacher_copy / "config.json").write_text(json.dumps(config), encoding="utf-8")

    with pytest.raises(CheckpointDamaged, match="another shape"):
        load_encoder(tiny_teacher_copy, max_length=16, arithmetic="fp32", labels=["a", "b", "c"])


def test_a_ready_head_of_another_size_than_the_config_says_is_refused_in_our_own_words(tiny_teacher_copy: Path) -> None:
    labels = ["negative", "neutral", "positive"]
    configure(
        tiny_teacher_copy, id2label=dict(enumerate(labels)), label2id={name: at for at, name in enumerate(labels)}
    )

    with pytest.raises(CheckpointDamaged, match=r"its head has 2 outputs in its weights .* 3 classes in") as raised:
        ready(tiny_teacher_copy, *labels)

    assert "Correct id2label and label2id" in str(raised.value)
    assert "ignore_mismatched_sizes" not in str(raised.value)


def test_a_tokenizer_that_is_not_the_models_is_refused_before_it_is_asked(tiny_teacher_copy: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_teacher_copy)
    tokenizer.add_tokens(["unheard"])
    tokenizer.save_pretrained(tiny_teacher_copy)

    with pytest.raises(TokenizerTooLarge) as raised:
        load(tiny_teacher_copy, labels=["a", "b"])

    assert raised.value.tokens == raised.value.rows + 1


def test_texts_are_distinguished_where_the_tokenizer_gives_no_types(tiny_teacher_copy: Path) -> None:
    """As that of XLM-RoBERTa, which some small encoders of BERT's shape come with: all of its types are 0."""
    path = tiny_teacher_copy / "tokenizer.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    for piece in found["post_processor"]["pair"]:
        next(iter(piece.values()))["type_id"] = 0
    path.write_text(json.dumps(found), encoding="utf-8")

    encoder = load(tiny_teacher_copy, labels=["a", "b"], apart=True)

    same, other = (encoder.logits(["the film"], [text]) for text in ("the film", "a dreadful story"))
    assert np.abs(same - other).max() > 1e-6
    assert encoder.tokenise(["film"], ["story"])[0]["token_type_ids"] == [0, 0, 0, 1, 1]


def test_what_becomes_of_a_head_and_of_pairs_is_reported(tiny_teacher_folder: Path, tmp_path: Path) -> None:
    named = load(tiny_teacher_folder, labels=["no", "yes"])
    named.save(tmp_path / "named")

    twin = load(tmp_path / "named", labels=["no", "yes"], apart=True)
    assert twin.note == "the checkpoint's own head is not used; a new one is trained"
    with pytest.raises(LabelNamesUnfit):
        load(tmp_path / "named", labels=["no", "yes"], apart=True, label_names={"nothing": "no"})

    twin.save(tmp_path / "twin")
    kept = load(tmp_path / "twin", labels=["no", "yes"])
    assert kept.note == "the checkpoint reads the texts of a pair apart, and goes on to"
    np.testing.assert_array_equal(kept.logits(TEXTS, TEXTS[::-1]), twin.logits(TEXTS, TEXTS[::-1]))
    assert load(tmp_path / "twin", labels=["no", "yes"], apart=True).note is None

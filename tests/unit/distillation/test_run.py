"""Training a student: what it sees, what it starts from, and that a seed fixes it all."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_labels import TeacherLabels, save_teacher_labels
from limbeck.artifacts.transfer_text import TransferText
from limbeck.distillation import run as room
from limbeck.distillation.losses.logits import hard_label_sets
from limbeck.distillation.student_with_objective import can_be_captured
from limbeck.errors import LabelsDoNotCover
from limbeck.recipe.distillation import Distillation
from limbeck.text.student_tokenizer import StudentTokenizer, padded
from limbeck.training import cuda_graphs, loop, steps
from limbeck.training.batches import length_batches
from limbeck.training.device import Bf16Missing, training_device

KEY = Key(section={}, inputs={})
WIDTH = 8  # of the word vectors, which are ¼ or -¼ everywhere
Train = Callable[..., StudentFolder]
MakeLabels = Callable[..., TeacherLabels]


def weights_of(student: StudentFolder) -> dict[str, torch.Tensor]:
    return dict(load_file(student.folder / "model.safetensors"))


def same(first: StudentFolder, second: StudentFolder) -> bool:
    ours, theirs = weights_of(first), weights_of(second)
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_student_learns_the_toy_task_from_its_teacher(
    run_training: Train, toy_corpus: Corpus, make_labels: MakeLabels
) -> None:
    labels = make_labels(toy_corpus.splits["train"])

    student = run_training(role="student", labels=labels, epochs=8, batch_size=16)

    majority = np.bincount(toy_corpus.splits["dev"].labels).max() / 50
    assert majority < 0.6
    assert (student.facts.dev_accuracy or 0) > 0.9
    assert student.facts.name == "bilstm"
    assert student.facts.tokenizer == "words"
    assert student.history[-1]["losses"].keys() == {"logit_mse"}


@pytest.mark.parametrize("kind", ["textcnn", "bag"])
def test_every_student_of_words_is_trained_alike(
    run_training: Train, toy_corpus: Corpus, make_labels: MakeLabels, kind: str
) -> None:
    labels = make_labels(toy_corpus.splits["train"])

    student = run_training(role="student", labels=labels, student={"kind": kind}, epochs=6, batch_size=16)

    assert (student.facts.dev_accuracy or 0) > 0.9
    assert student.facts.name == kind
    AutoModelForSequenceClassification.from_pretrained(student.folder)


def test_a_student_trained_with_a_rank_is_saved_as_a_plain_one_with_narrow_vectors(
    run_training: Train, toy_corpus: Corpus, make_labels: MakeLabels
) -> None:
    labels = make_labels(toy_corpus.splits["train"])

    student = run_training(role="student", labels=labels, student={"vector_rank": 3}, epochs=8, batch_size=16)

    assert (student.facts.dev_accuracy or 0) > 0.9
    weights = weights_of(student)
    assert weights["embeddings.weight"].shape[1] == 3
    assert "widening.weight" not in weights
    assert student.facts.parameters == sum(weight.numel() for weight in weights.values())


def test_the_best_epoch_by_dev_is_the_one_that_is_saved(run_training: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    script = iter([(0.5, 0.9), (0.8, 0.6), (0.8, 0.4), (0.8, 0.5), (0.7, 0.1)])  # accuracy and loss on dev
    weights: list[torch.Tensor] = []

    def judge(model: Any, _dev: Any, *, by_macro_f1: bool) -> dict[str, float]:
        assert not by_macro_f1
        weights.append(model.classifier.weight.detach().clone())
        accuracy, loss = next(script)
        return {"dev_accuracy": accuracy, "dev_score": accuracy, "dev_loss": loss}

    monkeypatch.setattr(room, "judge", judge)
    student = run_training(epochs=5)

    assert student.facts.best_epoch == 3  # as accurate as two others, with less loss
    assert student.facts.dev_accuracy == 0.8
    assert torch.equal(weights_of(student)["classifier.weight"], weights[2])


def test_the_saved_folder_is_as_accurate_as_it_says(run_training: Train, toy_corpus: Corpus) -> None:
    student = run_training(epochs=2, learning_rate=0.1)

    model = AutoModelForSequenceClassification.from_pretrained(student.folder)
    tokenizer = StudentTokenizer.load(student.folder / "tokenizer.json")
    ids, _ = padded(tokenizer.encode(toy_corpus.splits["dev"].texts, max_length=student.facts.max_length))
    with torch.no_grad():
        found = model(torch.from_numpy(ids)).logits.argmax(dim=1).numpy()
    assert (found == toy_corpus.splits["dev"].labels).mean() == pytest.approx(student.facts.dev_accuracy)


def test_the_same_seed_gives_the_same_weights_and_another_one_others(run_training: Train) -> None:
    first, again, other = run_training(seed=3), run_training(seed=3), run_training(seed=4)

    assert same(first, again)
    assert not same(first, other)
    assert first.facts.seed == 3


def test_a_student_that_is_trained_again_is_the_same_file_by_file_however_often_state_was_saved(
    run_training: Train, toy_corpus: Corpus, make_labels: MakeLabels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is made from a student goes by its fingerprint."""
    labels = make_labels(toy_corpus.splits["train"])

    first = run_training(role="student", labels=labels, epochs=2, batch_size=5)
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)  # losses are read after every step then
    again = run_training(role="student", labels=labels, epochs=2, batch_size=5)

    assert again.fingerprint == first.fingerprint


def test_what_ran_before_in_the_process_does_not_matter(run_training: Train) -> None:
    first = run_training(seed=3)
    torch.rand(17)
    run_training(seed=9)

    assert same(first, run_training(seed=3))


def test_the_seed_orders_the_rows_too(run_training: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def watched(lengths: Any, *, batch_size: int, seed: int, epoch: int) -> Any:
        seeds.append(seed)
        return length_batches(lengths, batch_size=batch_size, seed=seed, epoch=epoch)

    monkeypatch.setattr(room, "length_batches", watched)
    run_training(seed=41)

    assert set(seeds) == {41}


def test_the_baseline_sees_labelled_rows_alone_and_nothing_of_the_teacher(
    run_training: Train, toy_corpus: Corpus, seen: list[Any]
) -> None:
    student = run_training(role="baseline", student={"word_vectors": "teacher"}, losses=[{"kind": "spkd"}])

    (training,) = seen
    assert len(training.training_rows) == len(toy_corpus.splits["train"])
    assert [loss.kind for loss in training.training.losses] == ["hard_labels"]
    assert not training.training_rows.teacher_logits.any()
    assert training.training_rows.teacher_features is None
    assert not training.start["embeddings.weight"].abs().eq(0.25).any()
    assert student.facts.name == "bilstm-alone"
    assert student.facts.role == "baseline"


def test_random_vectors_in_place_of_the_teachers_learn_even_if_the_teachers_are_frozen(
    run_training: Train, toy_corpus: Corpus, make_labels: MakeLabels, seen: list[Any]
) -> None:
    """Else the baseline would have to read words it can never learn, and the gain would be too large."""
    fixed = {"word_vectors": "teacher", "tune_vectors": False}

    trained = run_training(role="student", labels=make_labels(toy_corpus.splits["train"]), student=fixed)
    run_training(role="baseline", student=fixed)

    student, baseline = seen
    assert "embeddings.weight" not in student.trained
    assert weights_of(trained)["embeddings.weight"][1:].abs().eq(0.25).all()
    assert "embeddings.weight" in baseline.trained


@pytest.mark.parametrize("word_vectors", ["glove.txt", "teacher"])
def test_a_student_starts_from_the_vectors_of_its_vocabulary(
    run_training: Train, toy_corpus: Corpus, make_labels: MakeLabels, seen: list[Any], word_vectors: str
) -> None:
    run_training(role="student", labels=make_labels(toy_corpus.splits["train"]), student={"word_vectors": word_vectors})

    start = seen[0].start["embeddings.weight"]
    assert start[0].tolist() == [0.0] * WIDTH
    assert start[1:].abs().eq(0.25).all()


def test_a_baseline_may_have_vectors_that_came_from_a_file(run_training: Train, seen: list[Any]) -> None:
    run_training(role="baseline", student={"word_vectors": "glove.txt"})

    assert seen[0].start["embeddings.weight"][1:].abs().eq(0.25).all()


def test_transfer_rows_have_the_teachers_logits_and_no_label(
    run_training: Train,
    toy_corpus: Corpus,
    make_transfer: Callable[..., TransferText],
    make_labels: MakeLabels,
    seen: list[Any],
) -> None:
    transfer = make_transfer("a quiet evening", "the old road again")
    labels = make_labels(transfer.rows, toy_corpus.splits["train"], width=3)  # in another order

    run_training(role="student", labels=labels, transfer=transfer, losses=[{"kind": "logit_mse"}, {"kind": "spkd"}])

    training_rows = seen[0].training_rows
    assert len(training_rows) == 152
    assert training_rows.labels[-2:].tolist() == [-1, -1]
    assert training_rows.teacher_logits[-2:, 0].tolist() == [15.0, 18.0]  # the lengths of the two texts
    assert training_rows.teacher_features[-2:, 0].tolist() == [15.0, 18.0]
    assert training_rows.labels[:150].tolist() == training_rows.teacher_logits[:150].argmax(dim=1).tolist()


def test_features_are_read_only_if_a_loss_uses_them(
    run_training: Train, toy_corpus: Corpus, make_labels: MakeLabels, seen: list[Any]
) -> None:
    labels = make_labels(toy_corpus.splits["train"], width=5)

    run_training(role="student", labels=labels)
    run_training(role="student", labels=labels, losses=[{"kind": "logit_mse"}, {"kind": "hint"}])

    without, with_features = seen
    assert without.training_rows.teacher_features is None
    assert with_features.training_rows.teacher_features.shape == (150, 5)
    assert with_features.training_rows.teacher_features.dtype == torch.float16


@pytest.mark.parametrize("kind", ["hint", "feature_cosine", "spkd", "rkd", "factor_transfer", "pkt", "vid"])
def test_a_student_of_words_learns_from_features(
    run_training: Train, toy_corpus: Corpus, make_labels: MakeLabels, seen: list[Any], kind: str
) -> None:
    labels = make_labels(toy_corpus.splits["train"], width=5)

    student = run_training(role="student", labels=labels, losses=[{"kind": "logit_mse"}, {"kind": kind}], epochs=2)

    terms = [epoch["losses"][kind] for epoch in student.history]
    assert terms[0] != terms[1]
    assert all(np.isfinite(terms))
    learned = [name for name in weights_of(student) if name.startswith("objective")]
    assert learned == []  # projections are discarded
    assert seen[0].with_objective.student.features == 12


def test_a_row_that_was_never_labelled_is_an_error(
    run_training: Train, toy_corpus: Corpus, make_transfer: Callable[..., TransferText], make_labels: MakeLabels
) -> None:
    labels = make_labels(toy_corpus.splits["train"])

    with pytest.raises(LabelsDoNotCover) as raised:
        run_training(role="student", labels=labels, transfer=make_transfer("a quiet evening"))

    assert raised.value.missing == ("transfer-0",)


def test_the_number_of_classes_comes_from_the_data(
    run_training: Train, make_corpus: Callable[..., Corpus], toy_rows: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    rows = [(text, "short" if len(text.split()) < 8 else label) for text, label in toy_rows]
    corpus = make_corpus(tmp_path / "corpus", train=rows[:150], dev=rows[150:])

    student = run_training(corpus=corpus)

    assert weights_of(student)["classifier.weight"].shape == (3, 6)
    assert student.facts.labels == ["negative", "positive", "short"]
    config = json.loads((student.folder / "config.json").read_text(encoding="utf-8"))
    assert config["id2label"] == {"0": "negative", "1": "positive", "2": "short"}


def test_pairs_are_read_with_both_texts(
    run_training: Train,
    make_corpus: Callable[..., Corpus],
    toy_rows: tuple[tuple[str, str], ...],
    tmp_path: Path,
    seen: list[Any],
) -> None:
    corpus = make_corpus(tmp_path / "corpus", train=toy_rows[:60], dev=toy_rows[60:80], pairs=True)

    student = run_training(corpus=corpus)

    assert seen[0].training_rows.inputs(np.array([0, 1])).keys() == {
        "input_ids",
        "attention_mask",
        "pair_ids",
        "pair_mask",
    }
    assert student.facts.pair
    assert weights_of(student)["dense.weight"].shape == (6, 4 * 12)


def test_a_student_can_be_trained_in_bf16(run_training: Train, toy_corpus: Corpus, make_labels: MakeLabels) -> None:
    """Or is refused, on a CPU whose instructions PyTorch has no bf16 LSTM for."""
    labels = make_labels(toy_corpus.splits["train"], width=5)

    try:
        student = run_training(
            role="student", labels=labels, precision="bf16", losses=[{"kind": "logit_mse"}, {"kind": "hint"}]
        )
    except Bf16Missing as error:
        assert 'distillation.precision = "fp32"' in str(error)  # noqa: PT017 (which of the two depends on the CPU)
        return

    assert {weight.dtype for weight in weights_of(student).values()} == {torch.float32}
    assert all(weight.isfinite().all() for weight in weights_of(student).values())


def test_class_weights_and_several_labels_reach_student_and_baseline(
    run_training: Train, toy_corpus: Corpus, make_labels: MakeLabels, tmp_path: Path, seen: list[Any]
) -> None:
    sets = {
        split: Rows.of(ids=rows.ids, texts=rows.texts, labels=np.stack([rows.labels, 1 - rows.labels], axis=1))
        for split, rows in toy_corpus.splits.items()
    }
    with written_atomically(tmp_path / "several", kind="corpus", key=KEY) as scratch:
        facts = {**toy_corpus.facts, "multi_label": True, "class_weights": [2.0, 1.0]}
        save_corpus(scratch, splits=sets, facts=facts)
    several = Corpus(tmp_path / "several")
    losses = [{"kind": "hard_labels"}, {"kind": "soft_targets"}]

    trained = run_training(corpus=several, role="student", labels=make_labels(sets["train"]), losses=losses)
    run_training(corpus=several, role="baseline")

    for training in seen:
        term = training.with_objective.objective.terms[0]
        assert term._formula is hard_label_sets
        assert term.class_weights.tolist() == [2.0, 1.0]
        assert training.training_rows.labels.shape == (len(sets["train"]), 2)
    assert trained.facts.multi_label
    network = AutoModelForSequenceClassification.from_pretrained(trained.folder)
    assert network.config.problem_type == "multi_label_classification"


def test_rows_without_the_teachers_labels_are_dropped(
    run_training: Train, toy_corpus: Corpus, tmp_path: Path, seen: list[Any]
) -> None:
    train = toy_corpus.splits["train"]
    covered = train.select(np.arange(0, len(train), 3))
    logits = np.stack([-covered.labels, covered.labels], axis=1).astype(np.float32)
    with written_atomically(tmp_path / "labels", kind="labels", key=KEY) as scratch:
        facts = {"uncovered": {"train": len(train) - len(covered)}}
        save_teacher_labels(scratch, ids=covered.ids, logits=logits, facts=facts)

    run_training(role="student", labels=TeacherLabels(tmp_path / "labels"))

    ((training_rows),) = [training.training_rows for training in seen]
    assert training_rows.labels.tolist() == covered.labels.tolist()
    np.testing.assert_array_equal(training_rows.teacher_logits.numpy(), logits)


def test_the_curve_of_every_term_is_kept(run_training: Train, toy_corpus: Corpus, make_labels: MakeLabels) -> None:
    labels = make_labels(toy_corpus.splits["train"])
    losses = [{"kind": "logit_mse"}, {"kind": "soft_targets", "weight": 0.5}]

    student = run_training(role="student", labels=labels, losses=losses, epochs=2, batch_size=5)  # 30 steps an epoch

    (points,) = json.loads((student.folder / "losses.json").read_text(encoding="utf-8"))
    assert [point["step"] for point in points] == [15, 29, 45, 59]
    assert all(point.keys() == {"step", "logit_mse", "soft_targets"} for point in points)
    of_epoch = (16 * points[0]["logit_mse"] + 14 * points[1]["logit_mse"]) / 30
    assert of_epoch == pytest.approx(student.history[0]["losses"]["logit_mse"])


def test_a_weak_term_is_reported_and_a_baseline_has_none(
    run_training: Train, toy_corpus: Corpus, make_labels: MakeLabels, notes: Any
) -> None:
    losses = [{"kind": "logit_mse"}, {"kind": "soft_targets", "weight": 1e-6}]

    run_training(role="student", labels=make_labels(toy_corpus.splits["train"]), losses=losses)
    run_training(role="baseline")

    (note,) = [text for text in notes.texts if "raise the weight" in text]
    assert "soft_targets is 0.00% of the loss and logit_mse is 100%" in note


@pytest.mark.skipif(training_device().type == "cuda", reason="a GPU adds in another order every time")
def test_captured_steps_make_the_student_that_steps_make(
    run_training: Train,
    toy_corpus: Corpus,
    make_labels: MakeLabels,
    make_capture_context: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels = make_labels(toy_corpus.splits["train"])
    plain = run_training(role="student", labels=labels, epochs=3, batch_size=16)
    context = make_capture_context()
    monkeypatch.setattr(steps, "capture_context_for", lambda _device: context)
    monkeypatch.setattr(cuda_graphs, "rounded_up", lambda width: width)  # dropout draws for padding too

    monkeypatch.setattr(cuda_graphs, "FEWEST_REPLAYS", 2)

    captured = run_training(role="student", labels=labels, epochs=3, batch_size=16)

    assert sum(one.replayed for one in context.captured) > 10
    assert same(plain, captured)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([{"kind": "logit_mse"}, {"kind": "hard_labels"}], True),
        ([{"kind": "spkd"}], True),
        ([{"kind": "soft_targets", "temperature": 3.0}], True),
        ([{"kind": "soft_targets", "temperature": {"kind": "linear", "start": 1.0, "end": 4.0}}], False),
        ([{"kind": "logit_mse", "weight": {"kind": "warm_up", "end": 1.0}}], False),
        ([{"kind": "hidden_mse"}], False),
    ],
)
def test_steps_are_captured_where_all_do_the_same(losses: list[dict[str, Any]], expected: bool) -> None:
    section = Distillation.model_validate({"losses": losses})
    student = SimpleNamespace(config=SimpleNamespace(model_type="limbeck_bilstm"))

    assert can_be_captured(student, section.losses) is expected
    student.config.model_type = "bert"
    assert not can_be_captured(student, section.losses)


@pytest.mark.gpu
@pytest.mark.skipif(training_device().type != "cuda", reason="needs a GPU")
@pytest.mark.parametrize("kind", ["bilstm", "textcnn", "bag"])
@pytest.mark.parametrize("average", [None, 0.9])
def test_a_gpu_makes_the_same_student_of_captured_steps(
    run_training: Train,
    toy_corpus: Corpus,
    make_labels: MakeLabels,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    average: float | None,
) -> None:
    labels = make_labels(toy_corpus.splits["train"])
    monkeypatch.setattr(cuda_graphs, "FEWEST_REPLAYS", 2)
    replays: list[int] = []
    plain_replay = cuda_graphs.CudaGraphStep.replay

    def replay(captured: Any) -> None:
        replays.append(1)
        plain_replay(captured)

    monkeypatch.setattr(cuda_graphs.CudaGraphStep, "replay", replay)
    keys = {"student": {"kind": kind, "dropout": 0.0}, "epochs": 4, "batch_size": 16, "average": average}

    captured = run_training(role="student", labels=labels, **keys)
    monkeypatch.setattr(steps, "capture_context_for", lambda _device: None)
    plain = run_training(role="student", labels=labels, **keys)

    assert len(replays) > 10
    ours, theirs = weights_of(captured), weights_of(plain)
    assert max(float((ours[name] - theirs[name]).abs().max()) for name in ours) < 1e-3

"""Training a student: what it sees, what it starts from, and that a seed fixes it all."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification

from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_labels import TeacherLabels, save_teacher_labels
from limbeck.artifacts.transfer_text import TransferText, save_transfer_text
from limbeck.artifacts.vocabulary_folder import VocabularyFolder, save_vocabulary
from limbeck.artifacts.whole import written_whole
from limbeck.distillation import run as room
from limbeck.distillation.losses.objective import Objective
from limbeck.distillation.run import Lessons, train_student
from limbeck.errors import LabelsDoNotCover
from limbeck.progress import SilentReporter
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.student import BiLstm
from limbeck.text.student_tokenizer import StudentTokenizer, padded
from limbeck.text.word_tokenizer import build_word_tokenizer
from limbeck.training.batches import length_batches

KEY = Key(section={}, inputs={})
WIDTH = 8
STUDENT = {"hidden_size": 6, "dense_size": 6, "dropout": 0.1}
FAST = {"epochs": 1, "batch_size": 50, "learning_rate": 0.02}
Train = Callable[..., StudentFolder]


@pytest.fixture(scope="module")
def vocabulary(toy_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> VocabularyFolder:
    """The toy words, with vectors that no random start would hit on: ¼ or -¼ everywhere, 0 for padding."""
    folder = tmp_path_factory.mktemp("vocabulary") / "vocabulary"
    texts = toy_corpus.splits["train"].texts
    tokenizer = build_word_tokenizer(texts, language="en", max_size=100, min_count=1, lowercase=True)
    vectors = np.random.default_rng(0).choice([-0.25, 0.25], (len(tokenizer), WIDTH)).astype(np.float32)
    vectors[0] = 0.0
    with written_whole(folder, kind="vocabulary", key=KEY) as scratch:
        tokenizer.save(scratch / "tokenizer.json")
        save_vocabulary(scratch, vectors=vectors, facts={"tokens": len(tokenizer), "width": WIDTH})
    return VocabularyFolder(folder)


@pytest.fixture
def teach(toy_corpus: Corpus, vocabulary: VocabularyFolder, tmp_path: Path) -> Train:
    """teach(role=…, seed=…, labels=…, …): a student of the toy corpus, in a folder of its own."""

    def teach(
        *,
        corpus: Corpus = toy_corpus,
        role: str = "baseline",
        seed: int = 0,
        labels: TeacherLabels | None = None,
        transfer: TransferText | None = None,
        student: dict[str, Any] | None = None,
        out: Path | None = None,
        **section: Any,
    ) -> StudentFolder:
        return train_student(
            Distillation.model_validate({**FAST, **section}),
            student=BiLstm.model_validate({**STUDENT, **(student or {})}),
            role=role,  # type: ignore[arg-type]  # tests say it as a plain word
            seed=seed,
            corpus=corpus,
            extra=[transfer.rows] if transfer else [],
            labels=labels,
            vocabulary=vocabulary,
            out=out or tmp_path / str(len(list(tmp_path.iterdir()))),
            key=KEY,
            reporter=SilentReporter(),
        )

    return teach


@pytest.fixture
def lessons_seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Lessons]]:
    """(model before training, what it is trained on) of every training of the test."""
    seen: list[tuple[Any, Lessons]] = []
    learn = room._learn

    def watched(model: Any, *args: Any, lessons: Lessons, objective: Objective, **options: Any) -> Any:
        start = {name: weight.clone() for name, weight in model.state_dict().items()}
        trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
        seen.append(({"start": start, "trained": trained, "objective": objective}, lessons))
        return learn(model, *args, lessons=lessons, objective=objective, **options)

    monkeypatch.setattr(room, "_learn", watched)
    return seen


def labels_of(folder: Path, *parts: Rows, classes: int = 2) -> TeacherLabels:
    """A teacher that is sure of every label, and gives a row without one its length."""
    ids = [row_id for rows in parts for row_id in rows.ids]
    logits = np.array(
        [
            [4.0 * (2 * (label == number) - 1) if label >= 0 else len(text) for number in range(classes)]
            for rows in parts
            for text, label in zip(rows.texts, rows.labels, strict=True)
        ],
        dtype=np.float32,
    )
    with written_whole(folder, kind="labels", key=KEY) as scratch:
        save_teacher_labels(scratch, ids=ids, logits=logits, facts={})
    return TeacherLabels(folder)


def transfer_of(folder: Path, *texts: str) -> TransferText:
    rows = Rows.of(ids=[f"transfer-{number}" for number in range(len(texts))], texts=texts)
    with written_whole(folder, kind="transfer", key=KEY) as scratch:
        save_transfer_text(scratch, rows=rows, quality={})
    return TransferText(folder)


def weights_of(student: StudentFolder) -> dict[str, torch.Tensor]:
    return dict(load_file(student.folder / "model.safetensors"))


def same(first: StudentFolder, second: StudentFolder) -> bool:
    ours, theirs = weights_of(first), weights_of(second)
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_student_learns_the_toy_task_from_its_teacher(teach: Train, toy_corpus: Corpus, tmp_path: Path) -> None:
    labels = labels_of(tmp_path / "labels", toy_corpus.splits["train"])

    student = teach(role="student", labels=labels, epochs=8, batch_size=16)

    majority = np.bincount(toy_corpus.splits["dev"].labels).max() / 50
    assert majority < 0.6
    assert student.facts.dev_accuracy > 0.9
    assert student.facts.name == "bilstm"
    assert student.history[-1]["losses"].keys() == {"logit_mse"}


def test_the_best_epoch_by_dev_is_the_one_that_is_saved(teach: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    script = iter([(0.5, 0.9), (0.8, 0.6), (0.8, 0.4), (0.8, 0.5), (0.7, 0.1)])  # accuracy and loss on dev
    weights: list[torch.Tensor] = []

    def judge(model: Any, dev: Lessons) -> dict[str, float]:
        del dev
        weights.append(model.classifier.weight.detach().clone())
        accuracy, loss = next(script)
        return {"dev_accuracy": accuracy, "dev_score": accuracy, "dev_loss": loss}

    monkeypatch.setattr(room, "_judge", judge)
    student = teach(epochs=5)

    assert student.facts.best_epoch == 3  # as accurate as two others, with less loss
    assert student.facts.dev_accuracy == 0.8
    assert torch.equal(weights_of(student)["classifier.weight"], weights[2])


def test_the_saved_folder_is_as_accurate_as_it_says(teach: Train, toy_corpus: Corpus) -> None:
    student = teach(epochs=2, learning_rate=0.1)

    model = AutoModelForSequenceClassification.from_pretrained(student.folder)
    tokenizer = StudentTokenizer.load(student.folder / "tokenizer.json")
    ids, _ = padded(tokenizer.encode(toy_corpus.splits["dev"].texts, max_length=student.facts.max_length))
    with torch.no_grad():
        found = model(torch.from_numpy(ids)).logits.argmax(dim=1).numpy()
    assert (found == toy_corpus.splits["dev"].labels).mean() == pytest.approx(student.facts.dev_accuracy)


def test_the_same_seed_gives_the_same_weights_and_another_one_others(teach: Train) -> None:
    first, again, other = teach(seed=3), teach(seed=3), teach(seed=4)

    assert same(first, again)
    assert not same(first, other)
    assert first.facts.seed == 3


def test_what_ran_before_in_the_process_does_not_matter(teach: Train) -> None:
    first = teach(seed=3)
    torch.rand(17)
    teach(seed=9)

    assert same(first, teach(seed=3))


def test_the_seed_orders_the_rows_too(teach: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def watched(lengths: Any, *, batch_size: int, seed: int, epoch: int) -> Any:
        seeds.append(seed)
        return length_batches(lengths, batch_size=batch_size, seed=seed, epoch=epoch)

    monkeypatch.setattr(room, "length_batches", watched)
    teach(seed=41)

    assert set(seeds) == {41}


def test_the_baseline_sees_labelled_rows_alone_and_nothing_of_the_teacher(
    teach: Train, toy_corpus: Corpus, lessons_seen: list[tuple[Any, Lessons]]
) -> None:
    student = teach(role="baseline", student={"word_vectors": "teacher"})

    ((model, lessons),) = lessons_seen
    assert len(lessons.texts) == len(toy_corpus.splits["train"])
    assert [loss.kind for loss in model["objective"].losses] == ["hard_labels"]
    assert not lessons.teacher_logits.any()
    assert not model["start"]["embeddings.weight"].abs().eq(0.25).any()
    assert student.facts.name == "bilstm-alone"
    assert student.facts.role == "baseline"


def test_random_vectors_in_place_of_the_teachers_learn_even_if_the_teachers_stand_still(
    teach: Train, toy_corpus: Corpus, tmp_path: Path, lessons_seen: list[tuple[Any, Lessons]]
) -> None:
    """Else the baseline would have to read words it can never learn, and the gain would be too large."""
    fixed = {"word_vectors": "teacher", "tune_vectors": False}
    labels = labels_of(tmp_path / "labels", toy_corpus.splits["train"])

    taught = teach(role="student", labels=labels, student=fixed)
    teach(role="baseline", student=fixed)

    (student, _), (baseline, _) = lessons_seen
    assert "embeddings.weight" not in student["trained"]
    assert weights_of(taught)["embeddings.weight"][1:].abs().eq(0.25).all()
    assert "embeddings.weight" in baseline["trained"]


@pytest.mark.parametrize("word_vectors", ["glove.txt", "teacher"])
def test_a_student_starts_from_the_vectors_of_its_vocabulary(
    teach: Train, toy_corpus: Corpus, tmp_path: Path, lessons_seen: list[tuple[Any, Lessons]], word_vectors: str
) -> None:
    labels = labels_of(tmp_path / "labels", toy_corpus.splits["train"])

    teach(role="student", labels=labels, student={"word_vectors": word_vectors})

    start = lessons_seen[0][0]["start"]["embeddings.weight"]
    assert start[0].tolist() == [0.0] * WIDTH
    assert start[1:].abs().eq(0.25).all()


def test_a_baseline_may_have_vectors_that_came_from_a_file(
    teach: Train, lessons_seen: list[tuple[Any, Lessons]]
) -> None:
    teach(role="baseline", student={"word_vectors": "glove.txt"})

    assert lessons_seen[0][0]["start"]["embeddings.weight"][1:].abs().eq(0.25).all()


def test_transfer_rows_come_with_what_the_teacher_said_of_them_and_without_a_label(
    teach: Train, toy_corpus: Corpus, tmp_path: Path, lessons_seen: list[tuple[Any, Lessons]]
) -> None:
    transfer = transfer_of(tmp_path / "transfer", "a quiet evening", "the old road again")
    labels = labels_of(tmp_path / "labels", transfer.rows, toy_corpus.splits["train"])  # in another order

    teach(role="student", labels=labels, transfer=transfer)

    lessons = lessons_seen[0][1]
    assert len(lessons.texts) == 152
    assert lessons.labels[-2:].tolist() == [-1, -1]
    assert lessons.teacher_logits[-2:, 0].tolist() == [15.0, 18.0]  # the lengths of the two texts
    assert lessons.labels[:150].tolist() == lessons.teacher_logits[:150].argmax(dim=1).tolist()


def test_a_row_that_was_never_labelled_is_an_error(teach: Train, toy_corpus: Corpus, tmp_path: Path) -> None:
    transfer = transfer_of(tmp_path / "transfer", "a quiet evening")
    labels = labels_of(tmp_path / "labels", toy_corpus.splits["train"])

    with pytest.raises(LabelsDoNotCover) as raised:
        teach(role="student", labels=labels, transfer=transfer)

    assert raised.value.missing == ("transfer-0",)


def test_the_number_of_classes_comes_from_the_data(
    teach: Train, make_corpus: Callable[..., Corpus], toy_rows: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    rows = [(text, "short" if len(text.split()) < 8 else label) for text, label in toy_rows]
    corpus = make_corpus(tmp_path / "corpus", train=rows[:150], dev=rows[150:])

    student = teach(corpus=corpus)

    assert weights_of(student)["classifier.weight"].shape == (3, 6)
    assert student.facts.labels == ["negative", "positive", "short"]
    config = json.loads((student.folder / "config.json").read_text(encoding="utf-8"))
    assert config["id2label"] == {"0": "negative", "1": "positive", "2": "short"}


def test_pairs_are_read_with_both_texts(
    teach: Train,
    make_corpus: Callable[..., Corpus],
    toy_rows: tuple[tuple[str, str], ...],
    tmp_path: Path,
    lessons_seen: list[tuple[Any, Lessons]],
) -> None:
    corpus = make_corpus(tmp_path / "corpus", train=toy_rows[:60], dev=toy_rows[60:80], pairs=True)

    student = teach(corpus=corpus)

    lessons = lessons_seen[0][1]
    inputs = lessons.inputs(np.array([0, 1]))
    assert lessons.pairs is not None
    assert inputs.keys() == {"input_ids", "attention_mask", "pair_ids", "pair_mask"}
    assert inputs["pair_mask"][0].sum() == lessons.texts.lengths[1]  # a row's second text is the next row's text
    assert lessons.lengths().tolist() == np.maximum(lessons.texts.lengths, np.roll(lessons.texts.lengths, -1)).tolist()
    assert student.facts.pair
    assert weights_of(student)["dense.weight"].shape == (6, 4 * 12)


def test_a_student_can_be_trained_in_bf16(teach: Train, toy_corpus: Corpus, tmp_path: Path) -> None:
    labels = labels_of(tmp_path / "labels", toy_corpus.splits["train"])

    student = teach(role="student", labels=labels, precision="bf16")

    assert {weight.dtype for weight in weights_of(student).values()} == {torch.float32}
    assert all(weight.isfinite().all() for weight in weights_of(student).values())


def test_class_weights_and_several_labels_reach_student_and_baseline(
    teach: Train, toy_corpus: Corpus, tmp_path: Path, lessons_seen: list[tuple[Any, Lessons]]
) -> None:
    several = tmp_path / "several"
    sets = {
        split: Rows.of(ids=rows.ids, texts=rows.texts, labels=np.stack([rows.labels, 1 - rows.labels], axis=1))
        for split, rows in toy_corpus.splits.items()
    }
    facts = {**toy_corpus.facts, "multi_label": True, "class_weights": [2.0, 1.0]}
    with written_whole(several, kind="corpus", key=KEY) as scratch:
        save_corpus(scratch, splits=sets, facts=facts)
    labels = _even_labels(tmp_path / "labels", sets["train"])

    taught = teach(corpus=Corpus(several), role="student", labels=labels, epochs=1)
    teach(corpus=Corpus(several), role="baseline")

    for model, lessons in lessons_seen:
        assert model["objective"].multi_label
        assert model["objective"].class_weights.tolist() == [2.0, 1.0]
        assert lessons.labels.shape == (len(sets["train"]), 2)
    assert taught.facts.multi_label
    network = AutoModelForSequenceClassification.from_pretrained(taught.folder)
    assert network.config.problem_type == "multi_label_classification"


def _even_labels(folder: Path, rows: Rows) -> TeacherLabels:
    logits = (8.0 * rows.labels - 4.0).astype(np.float32)
    with written_whole(folder, kind="labels", key=KEY) as scratch:
        save_teacher_labels(scratch, ids=rows.ids, logits=logits, facts={})
    return TeacherLabels(folder)


def test_rows_that_the_teacher_said_nothing_of_are_left_out(
    teach: Train, toy_corpus: Corpus, tmp_path: Path, lessons_seen: list[tuple[Any, Lessons]]
) -> None:
    train = toy_corpus.splits["train"]
    covered = train.select(np.arange(0, len(train), 3))
    logits = np.stack([-covered.labels, covered.labels], axis=1).astype(np.float32)
    with written_whole(tmp_path / "labels", kind="labels", key=KEY) as scratch:
        facts = {"uncovered": {"train": len(train) - len(covered)}}
        save_teacher_labels(scratch, ids=covered.ids, logits=logits, facts=facts)

    teach(role="student", labels=TeacherLabels(tmp_path / "labels"))

    ((_, lessons),) = lessons_seen
    assert lessons.labels.tolist() == covered.labels.tolist()
    np.testing.assert_array_equal(lessons.teacher_logits.numpy(), logits)

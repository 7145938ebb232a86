"""The buckets of a student of n-grams, their weights, and the fit that it starts from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.distillation import ngram_vocabulary
from limbeck.distillation.new_student import new_student
from limbeck.distillation.ngram_vocabulary import UNSEEN, build_ngram_vocabulary, width_of_ngrams
from limbeck.progress import SilentReporter
from limbeck.recipe.student import Ngrams
from limbeck.text.ngrams import NgramIds, NgramSettings, first_part
from limbeck.text.student_tokenizer import StudentTokenizer

KEY = Key(section={}, inputs={})
Build = Callable[..., VocabularyFolder]


@pytest.fixture
def build(make_teacher: Callable[..., TeacherFolder], tmp_path: Path) -> Build:
    """build(corpus, extra=…, parameters=…, …): the vocabulary; other keys are those of [student]."""

    def build(
        corpus: Corpus, *, extra: list[Rows] | None = None, parameters: int = 10_000_000, **section: Any
    ) -> VocabularyFolder:
        number = len([*tmp_path.iterdir()])
        return build_ngram_vocabulary(
            Ngrams.model_validate({"kind": "ngrams", **section}),
            corpus=corpus,
            extra=extra or [],
            form=[],
            teacher=make_teacher(tmp_path / f"teacher-{number}", parameters=parameters),
            out=tmp_path / f"vocabulary-{number}",
            key=KEY,
            reporter=SilentReporter(),
        )

    return build


def texts_to_ids(corpus: Corpus, vocabulary: VocabularyFolder, split: str = "train") -> list[list[int]]:
    return StudentTokenizer.load(vocabulary.tokenizer).encode(corpus.splits[split].texts, max_length=256)


def array(vocabulary: VocabularyFolder, name: str) -> Any:
    found = vocabulary.array(name)
    assert found is not None
    return found


def test_buckets_are_a_power_of_two_with_room_for_all_n_grams(toy_corpus: Corpus, build: Build) -> None:
    facts = build(toy_corpus).facts

    everything = NgramIds(NgramSettings(buckets=1 << 32)).read(toy_corpus.splits["train"].texts, max_length=256)
    assert facts["distinct"] == len({number for row in everything for number in row})
    assert facts["tokens"] == 3 + ngram_vocabulary.FEWEST_BUCKETS
    assert facts["width"] == 2


@pytest.mark.parametrize(
    ("distinct", "width", "buckets"),
    [
        (10, 2, 1 << 12),
        (5_000, 2, 1 << 14),
        (10**6, 2, 1 << 18),
        (10**6, 64, 1 << 16),
        (10**6, 150, 1 << 15),
        (10**6, 512, 1 << 15),
        (10**6, 10**6, 1 << 12),
    ],
)
def test_the_number_of_buckets_follows_text_and_width(distinct: int, width: int, buckets: int) -> None:
    """With 64 numbers a bucket takes 72 bytes: 2 to the 16 of them are 4.7 MB, twice as many more than 8."""
    assert ngram_vocabulary._buckets(distinct, width, Ngrams(kind="ngrams")) == buckets


def test_the_recipe_and_the_teacher_limit_the_buckets(toy_corpus: Corpus, build: Build) -> None:
    assert build(toy_corpus, vocabulary={"max_size": 777}).facts["tokens"] == 3 + 777
    assert build(toy_corpus, parameters=3_000).facts["tokens"] * 3 < 3_000


def test_weights_are_logarithms_of_inverse_document_frequencies(
    build: Build, make_corpus: Callable[..., Corpus], tmp_path: Path
) -> None:
    rows = [("a b", "x"), ("a c", "y"), ("a d", "x")]
    vocabulary = build(make_corpus(tmp_path / "corpus", train=rows, dev=rows), vocabulary={"longest": 0, "words": 1})

    weights = array(vocabulary, "word_weights")

    (everywhere, once), *_ = texts_to_ids(Corpus(tmp_path / "corpus"), vocabulary)
    assert np.exp(weights[[everywhere, once]]) == pytest.approx([1.0, np.log(4 / 2) + 1])
    assert (weights == np.float32(UNSEEN)).sum() == len(weights) - 4


def test_words_and_their_parts_weigh_the_same_in_total(toy_corpus: Corpus, build: Build) -> None:
    vocabulary = build(toy_corpus)
    squares, parts = np.exp(2 * array(vocabulary, "word_weights")), first_part(vocabulary.facts["tokens"] - 3)

    ids = np.concatenate(texts_to_ids(toy_corpus, vocabulary))

    assert squares[ids[ids < parts]].sum() == pytest.approx(squares[ids[ids >= parts]].sum(), rel=1e-4)


def test_extra_text_is_counted_too(toy_corpus: Corpus, build: Build) -> None:
    extra = Rows.of(ids=["extra"], texts=["unheard"])
    vocabulary = build(toy_corpus, extra=[extra], vocabulary={"longest": 0})

    ((number,),) = StudentTokenizer.load(vocabulary.tokenizer).encode(["unheard"], max_length=9)
    assert array(vocabulary, "word_weights")[number] > 0


def test_the_same_texts_give_the_same_folder(toy_corpus: Corpus, build: Build) -> None:
    assert build(toy_corpus).fingerprint == build(toy_corpus).fingerprint


def right_share(vocabulary: VocabularyFolder, corpus: Corpus, **section: Any) -> float:
    """Of dev, by the student before its training."""
    model = new_student(
        Ngrams.model_validate({"kind": "ngrams", **section}),
        alone=True,
        vocabulary=vocabulary,
        corpus=corpus,
        start_from=None,
    ).eval()
    answers = [int(model(torch.tensor([row])).logits.argmax()) for row in texts_to_ids(corpus, vocabulary, split="dev")]
    return float((np.array(answers) == corpus.splits["dev"].labels).mean())


def test_a_student_starts_as_a_classifier(toy_corpus: Corpus, build: Build) -> None:
    assert right_share(build(toy_corpus), toy_corpus) > 0.9
    assert right_share(build(toy_corpus, embedding_size=1), toy_corpus, embedding_size=1) > 0.9
    assert right_share(build(toy_corpus, embedding_size=5), toy_corpus, embedding_size=5) > 0.9


def test_a_random_start_has_weights_and_no_fit(toy_corpus: Corpus, build: Build) -> None:
    vocabulary = build(toy_corpus, start="random")

    assert vocabulary.vectors() is vocabulary.array("classifier") is None
    assert vocabulary.array("word_weights") is not None


def test_pairs_start_at_random_and_are_wide(
    build: Build, make_corpus: Callable[..., Corpus], toy_rows: Any, tmp_path: Path
) -> None:
    corpus = make_corpus(tmp_path / "pairs", train=toy_rows[:30], dev=toy_rows[30:40], pairs=True)

    vocabulary = build(corpus)

    assert vocabulary.vectors() is None
    assert vocabulary.facts["width"] == 64


def test_it_is_trained_from_its_start_at_its_own_rate(
    toy_corpus: Corpus,
    build: Build,
    run_training: Callable[..., StudentFolder],
    make_labels: Callable[..., TeacherLabels],
) -> None:
    section = {"kind": "ngrams", "learning_rate": 1e-9}  # so that nothing changes: the rate of FAST would
    labels = make_labels(toy_corpus.splits["train"])

    vocabulary = build(toy_corpus)
    student = run_training(role="student", labels=labels, vocabulary=vocabulary, student=section, epochs=2)

    trained = load_file(student.folder / "model.safetensors")
    np.testing.assert_allclose(trained["embeddings.weight"], array(vocabulary, "vectors"), atol=1e-6)
    assert (student.facts.dev_accuracy or 0) > 0.9
    assert len(student.history) == 2


def test_what_is_kept_is_half_way_between_the_fit_and_what_was_trained(
    toy_corpus: Corpus,
    build: Build,
    run_training: Callable[..., StudentFolder],
    make_labels: Callable[..., TeacherLabels],
) -> None:
    vocabulary, labels = build(toy_corpus), make_labels(toy_corpus.splits["train"])

    def trained(share: float) -> dict[str, Any]:
        section = {"kind": "ngrams", "start_share": share}
        student = run_training(
            role="student", labels=labels, vocabulary=vocabulary, student=section, epochs=2, keep="latest"
        )
        assert student.facts.best_epoch == 2
        return load_file(student.folder / "model.safetensors")

    whole, half, start = trained(0.0), trained(0.5), array(vocabulary, "vectors")

    assert np.abs(whole["embeddings.weight"] - start).max() > 0.01
    np.testing.assert_allclose(half["embeddings.weight"], (whole["embeddings.weight"] + start) / 2, atol=1e-6)
    for name in ("word_weights.weight", "classifier.weight"):
        np.testing.assert_array_equal(half[name], whole[name])
    np.testing.assert_array_equal(whole["word_weights.weight"][:, 0], array(vocabulary, "word_weights"))


def test_the_baseline_is_the_fit_itself(
    toy_corpus: Corpus, build: Build, run_training: Callable[..., StudentFolder]
) -> None:
    section = {"kind": "ngrams", "learning_rate": 1.0}

    vocabulary = build(toy_corpus)
    student = run_training(role="baseline", labels=None, vocabulary=vocabulary, student=section, epochs=2)

    trained = load_file(student.folder / "model.safetensors")
    np.testing.assert_array_equal(trained["embeddings.weight"], array(vocabulary, "vectors"))
    assert (student.history, student.facts.best_epoch) == ([], 0)
    assert (student.facts.dev_accuracy or 0) > 0.9


@pytest.mark.parametrize("part", [{"embedding_size": 1}, {"dense_size": 8}, {"start": "random"}])
def test_a_baseline_that_starts_as_a_part_of_the_fit_is_trained(
    part: dict[str, Any], toy_corpus: Corpus, build: Build, run_training: Callable[..., StudentFolder]
) -> None:
    vocabulary = build(toy_corpus, **part)
    student = run_training(
        role="baseline", labels=None, vocabulary=vocabulary, student={"kind": "ngrams", **part}, epochs=2
    )

    assert len(student.history) == 2


def test_every_class_has_a_number_of_its_own() -> None:
    """The fit of 77 or 150 classes in 64 numbers would lose most of what it knows."""
    section = Ngrams(kind="ngrams")

    widths = [width_of_ngrams(section, classes=classes, pair=False) for classes in (2, 77, 150, 10_000)]

    assert widths == [2, 77, 150, 512]

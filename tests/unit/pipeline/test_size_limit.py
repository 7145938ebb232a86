"""A limit of megabytes is kept by the folder that is really exported, and used up to the last word that fits."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForSequenceClassification

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder, save_student_facts
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.distillation import size_limit
from limbeck.distillation.graph_vocabulary import build_graph_vocabulary
from limbeck.distillation.new_student import new_student
from limbeck.distillation.ngram_vocabulary import build_ngram_vocabulary
from limbeck.distillation.refuse_impossible import refuse_the_impossible
from limbeck.distillation.size_limit import SizeLimitTooSmall
from limbeck.distillation.transformer_vocabulary import build_transformer_vocabulary
from limbeck.distillation.vocabulary import build_vocabulary
from limbeck.export.run import export_student
from limbeck.models.folding import folded
from limbeck.pipeline.students import size_limit_of
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export
from limbeck.recipe.load import parse_recipe
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import Ngrams, Transformer
from limbeck.recipe.textgcn import TextGcn
from limbeck.text.student_tokenizer import StudentTokenizer

KEY = Key(section=Export().model_dump(), inputs={"student": "f" * 32, "corpus": "f" * 32})
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = {"word_vectors": "random", "vocabulary": {"min_count": 1}}
BILSTM = {"kind": "bilstm", "hidden_size": 8, "dense_size": 8, "embedding_size": 20, **WORDS}
STUDENTS: dict[str, dict[str, Any]] = {
    "bilstm": BILSTM,
    "gru": {**BILSTM, "cell": "gru", "pooling": "attention"},
    "two layers": {**BILSTM, "layers": 2},
    "low rank": {**BILSTM, "vector_rank": 7},
    "textcnn": {"kind": "textcnn", "filters": 8, "embedding_size": 20, "static_channel": True, **WORDS},
    "bag": {"kind": "bag", "dense_size": 8, "embedding_size": 20, **WORDS},
    "ngrams": {"kind": "ngrams", "embedding_size": 5},
    "textgcn": {"kind": "textgcn", "vocabulary": {"min_count": 1}},
}


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Of about 4,500 different words, the earlier the more frequent."""
    dice = random.Random(0)
    words = ["".join(dice.choices(LETTERS, k=dice.randint(2, 12))) for _ in range(6_000)]
    return [" ".join(dice.sample(words[: number * 40], 40)) for number in range(1, 151)]


@pytest.fixture(scope="module")
def corpus(make_corpus: Callable[..., Corpus], tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Corpus:
    rows = [(text, ("no", "yes")[number % 2]) for number, text in enumerate(texts)]
    return make_corpus(tmp_path_factory.mktemp("many") / "corpus", train=rows, dev=rows)


@pytest.fixture(scope="module")
def teacher(make_teacher: Callable[..., TeacherFolder], tmp_path_factory: pytest.TempPathFactory) -> TeacherFolder:
    return make_teacher(tmp_path_factory.mktemp("teacher") / "teacher", parameters=10_000_000)


def recipe_of(
    student: dict[str, Any], *, teacher: Path = Path("none"), precisions: Sequence[str] = ("fp32", "int8")
) -> Recipe:
    raw = {
        "corpus": {"train": "train.csv"},
        "teacher": {"checkpoint": str(teacher)},
        "student": student,
        "export": {"precisions": list(precisions), "int8_agreement": 0.0},
    }
    return parse_recipe(raw, recipe="toy")


def vocabulary_of(recipe: Recipe, corpus: Corpus, teacher: TeacherFolder, out: Path) -> VocabularyFolder:
    given: dict[str, Any] = {"corpus": corpus, "extra": [], "form": (), "encoder": teacher, "out": out, "key": KEY}
    given |= {"reporter": SilentReporter(), "size_limit": size_limit_of(recipe)}
    if isinstance(recipe.student, Transformer):
        return build_transformer_vocabulary(recipe.student, **given)
    if isinstance(recipe.student, Ngrams):
        del given["encoder"]
        return build_ngram_vocabulary(recipe.student, teacher=teacher, **given)
    if isinstance(recipe.student, TextGcn):
        del given["encoder"], given["extra"]
        return build_graph_vocabulary(recipe.student, teacher=teacher, **given)
    return build_vocabulary(recipe.student, teacher=teacher, open_encoder=None, **given)


def exported(
    recipe: Recipe,
    corpus: Corpus,
    vocabulary: VocabularyFolder,
    folder: Path,
    *,
    precision: Any,
    teacher: TeacherFolder | None = None,
) -> ModelFolder:
    """The untrained student of this vocabulary as the folder that would ship."""
    student = recipe.student
    is_framed = isinstance(student, Transformer)
    start_from = AutoModelForSequenceClassification.from_pretrained(teacher.folder) if teacher else None
    network = new_student(student, alone=False, vocabulary=vocabulary, corpus=corpus, start_from=start_from)
    facts = StudentFacts(
        name=student.kind, kind=student.kind, role="student", seed=0, labels=corpus.labels, language="en", pair=False,
        max_length=student.max_length, parameters=123_456_789, parameters_without_embeddings=123_456_789,
        best_epoch=1, dev_accuracy=0.5, tokenizer="framed" if is_framed else "words",
    )  # fmt: skip
    with written_atomically(folder / "student", kind="student", key=KEY) as scratch:
        folded(network).save_pretrained(scratch)
        (scratch / "tokenizer.json").write_bytes(vocabulary.tokenizer.read_bytes())
        save_student_facts(scratch, facts, history=[])
    return export_student(
        recipe.export,
        student=StudentFolder(folder / "student"),
        rows=corpus.splits["dev"],
        precision=precision,
        out=folder / "model",
        key=KEY,
        reporter=SilentReporter(),
    )


@pytest.mark.parametrize("precision", ["int8", "fp32"])
@pytest.mark.parametrize("name", list(STUDENTS))
def test_the_exported_folder_keeps_within_the_limit_and_fills_it(
    corpus: Corpus, teacher: TeacherFolder, tmp_path: Path, name: str, precision: str
) -> None:
    most = 0.06 if precision == "int8" or name == "textgcn" else 0.12  # which has two numbers for a word
    recipe = recipe_of({**STUDENTS[name], "max_size_mb": most}, precisions=[precision])

    vocabulary = vocabulary_of(recipe, corpus, teacher, tmp_path / "vocabulary")

    model = exported(recipe, corpus, vocabulary, tmp_path, precision=precision)
    spared = 0.016  # the allowance for the two cards and the profile, and less than a word
    assert most - spared < model.size_mb() <= most
    assert 100 < vocabulary.facts["tokens"] < vocabulary.facts["tokens_without_limit"]


def test_the_smaller_of_two_folders_is_the_one_that_counts(
    corpus: Corpus, teacher: TeacherFolder, tmp_path: Path
) -> None:
    limited = {**BILSTM, "max_size_mb": 0.06}

    both = vocabulary_of(recipe_of(limited), corpus, teacher, tmp_path / "both")
    int8 = vocabulary_of(recipe_of(limited, precisions=["int8"]), corpus, teacher, tmp_path / "int8")
    fp32 = vocabulary_of(recipe_of(limited, precisions=["fp32"]), corpus, teacher, tmp_path / "fp32")

    assert both.facts["tokens"] == int8.facts["tokens"] > 2 * fp32.facts["tokens"]


def test_the_frequent_words_stay(corpus: Corpus, teacher: TeacherFolder, tmp_path: Path) -> None:
    limited = recipe_of({**BILSTM, "max_size_mb": 0.06})

    kept = vocabulary_of(limited, corpus, teacher, tmp_path / "kept")

    whole = vocabulary_of(recipe_of(BILSTM), corpus, teacher, tmp_path / "whole")
    words = StudentTokenizer.load(whole.tokenizer).vocabulary
    assert StudentTokenizer.load(kept.tokenizer).vocabulary == words[: kept.facts["tokens"]]


def test_a_limit_with_room_for_all_words_changes_nothing(
    corpus: Corpus, teacher: TeacherFolder, tmp_path: Path
) -> None:
    limited = vocabulary_of(recipe_of({**BILSTM, "max_size_mb": 5}), corpus, teacher, tmp_path / "limited")
    whole = vocabulary_of(recipe_of(BILSTM), corpus, teacher, tmp_path / "whole")

    assert limited.fingerprint == whole.fingerprint


def test_a_transformers_pieces_are_cut_too(
    teacher: TeacherFolder, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size_limit, "MIN_TOKENS", 20)  # the toy teacher has letters and few words
    section = {"kind": "transformer", "layers": 1, "vocabulary": {"kind": "pieces", "min_count": 1}}
    most = 0.0601
    recipe = recipe_of({**section, "max_size_mb": most}, teacher=teacher.folder)

    vocabulary = vocabulary_of(recipe, corpus, teacher, tmp_path / "vocabulary")

    model = exported(recipe, corpus, vocabulary, tmp_path, precision="int8", teacher=teacher)
    assert most - 0.016 < model.size_mb() <= most
    assert 20 < vocabulary.facts["tokens"] < vocabulary.facts["tokens_without_limit"]


@pytest.mark.parametrize(
    ("student", "least"),
    [
        ({**BILSTM, "hidden_size": 64}, 0.05),
        ({**BILSTM, "word_vectors": "teacher", "embedding_size": 5_000}, 0.012),
        ({"kind": "transformer", "layers": 2, "vocabulary": {"kind": "pieces"}}, 0.02),
    ],
)
def test_what_can_never_fit_is_refused_before_anything_runs(
    tiny_teacher_folder: Path, student: dict[str, Any], least: float
) -> None:
    """The tiny teacher is 32 wide, so vectors from it are no wider."""
    small = recipe_of({**student, "max_size_mb": least}, teacher=tiny_teacher_folder)
    large = recipe_of({**student, "max_size_mb": 5 * least}, teacher=tiny_teacher_folder)

    with pytest.raises(SizeLimitTooSmall):
        refuse_the_impossible(small, size_limit=size_limit_of(small))
    refuse_the_impossible(large, size_limit=size_limit_of(large))

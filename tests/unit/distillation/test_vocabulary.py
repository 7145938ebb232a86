"""The student's vocabulary: what is in it, how large it may be, and what its vectors start from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.artifacts.transfer_text import TransferText, save_transfer_text
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.distillation.vocabulary import BudgetTooSmall, build_vocabulary
from limbeck.errors import FileUnreadable
from limbeck.models.bilstm import bilstm
from limbeck.models.size import parameter_count
from limbeck.progress import SilentReporter
from limbeck.recipe.student import BiLstm
from limbeck.teacher.encoder import Encoder
from limbeck.teacher.loading import open_teacher
from limbeck.text.piece_tokenizer import whole_words
from limbeck.text.student_tokenizer import StudentTokenizer

KEY = Key(section={}, inputs={})
Build = Callable[..., VocabularyFolder]


@pytest.fixture(scope="module")
def teacher(make_teacher: Callable[..., TeacherFolder], tmp_path_factory: pytest.TempPathFactory) -> TeacherFolder:
    return make_teacher(tmp_path_factory.mktemp("teacher") / "teacher", parameters=100_000)


@pytest.fixture
def build(toy_corpus: Corpus, teacher: TeacherFolder, tmp_path: Path) -> Build:
    """build(section keys…): the vocabulary of the toy corpus, of its own folder each time."""

    def build(
        *,
        corpus: Corpus = toy_corpus,
        teacher: TeacherFolder = teacher,
        transfer: TransferText | None = None,
        open_teacher: Callable[[], Encoder] = lambda: open_teacher(teacher),
        **section: Any,
    ) -> VocabularyFolder:
        sizes = {"hidden_size": 4, "dense_size": 4, "embedding_size": 8, **section}
        return build_vocabulary(
            BiLstm.model_validate(sizes),
            corpus=corpus,
            extra=[transfer.rows] if transfer else [],
            form=(),
            teacher=teacher,
            encoder=teacher if teacher.is_encoder else None,
            open_encoder=open_teacher if teacher.is_encoder else None,
            out=tmp_path / str(len(list(tmp_path.iterdir()))),
            key=KEY,
            reporter=SilentReporter(),
        )

    return build


def words_of(vocabulary: VocabularyFolder) -> list[str]:
    return StudentTokenizer.load(vocabulary.tokenizer).vocabulary


def nobody() -> Encoder:
    raise AssertionError("the teacher was opened for nothing")


def test_words_of_train_are_in_it_and_words_of_dev_alone_are_not(
    make_corpus: Callable[..., Corpus], build: Build, tmp_path: Path
) -> None:
    train = [("gorgeous film", "positive"), ("dreadful film", "negative")]
    corpus = make_corpus(tmp_path / "corpus", train=train, dev=[("unheard gorgeous", "positive")])

    words = words_of(build(corpus=corpus, word_vectors="random", vocabulary={"min_count": 1}))

    assert {"gorgeous", "dreadful", "film"} <= set(words)
    assert "unheard" not in words


def test_second_texts_and_transfer_text_count_too(
    make_corpus: Callable[..., Corpus], build: Build, tmp_path: Path
) -> None:
    train = [("gorgeous", "positive"), ("dreadful", "negative")]
    corpus = make_corpus(tmp_path / "corpus", train=train, dev=train, pairs=True)
    with written_atomically(tmp_path / "transfer", kind="transfer", key=KEY) as scratch:
        save_transfer_text(scratch, rows=Rows.of(ids=["a"], texts=["garden"], pairs=["evening"]), quality={})
    options = {"word_vectors": "random", "vocabulary": {"min_count": 1}}

    words = words_of(build(corpus=corpus, transfer=TransferText(tmp_path / "transfer"), **options))

    assert {"garden", "evening"} <= set(words)
    assert words_of(build(corpus=corpus, word_vectors="random", vocabulary={"min_count": 2}))[3:] == [
        "dreadful",
        "gorgeous",
    ]  # each appears once as a text and once as a second text


def test_chinese_text_is_cut_as_the_recipe_says(
    make_corpus: Callable[..., Corpus], build: Build, tmp_path: Path
) -> None:
    train = [("研究生", "positive")] * 9 + [("命", "negative")] * 9 + [("研究生命", "positive"), ("生命", "negative")]
    corpus = make_corpus(tmp_path / "corpus", train=train, dev=train, language="zh")

    def tokens(segmenter: str) -> list[str]:
        asked = {"min_count": 1, "segmenter": segmenter}
        vocabulary = build(corpus=corpus, word_vectors="random", vocabulary=asked)
        tokenizer = StudentTokenizer.load(vocabulary.tokenizer)
        return [tokenizer.vocabulary[number] for number in tokenizer.encode(["研究生命"], max_length=9)[0]]

    assert tokens("longest_match") == ["研究生", "命"]
    assert tokens("jieba") == ["研究", "生命"]


@pytest.mark.parametrize("parameters", [700, 703, 704, 711, 712, 800])
def test_a_student_is_never_larger_than_its_teacher_and_uses_the_room_there_is(
    make_teacher: Callable[..., TeacherFolder], build: Build, tmp_path: Path, toy_corpus: Corpus, parameters: int
) -> None:
    small = make_teacher(tmp_path / "teacher", parameters=parameters)

    vocabulary = build(teacher=small, word_vectors="random", vocabulary={"min_count": 1})

    facts, section = vocabulary.facts, BiLstm(hidden_size=4, dense_size=4)
    student = bilstm(
        section, vocabulary_size=facts["tokens"], embedding_size=8, labels=toy_corpus.labels, pair=toy_corpus.is_pair
    )
    assert facts["tokens"] == facts["budget"] == len(words_of(vocabulary))
    assert parameters - 8 < parameter_count(student) <= parameters


def test_a_teacher_too_small_for_any_student_is_an_error_with_the_numbers(
    make_teacher: Callable[..., TeacherFolder], build: Build, tmp_path: Path
) -> None:
    with pytest.raises(BudgetTooSmall, match="600"):
        build(teacher=make_teacher(tmp_path / "teacher", parameters=600), hidden_size=30, word_vectors="random")


def test_the_budget_of_the_recipe_is_kept(build: Build) -> None:
    vocabulary = build(word_vectors="random", vocabulary={"max_size": 12, "min_count": 1})

    assert vocabulary.facts["tokens"] == 12
    assert {"gorgeous", "dreadful"} <= set(words_of(vocabulary))  # the most frequent words of the toy rows


def test_random_vectors_need_no_teacher_and_no_file(build: Build) -> None:
    vocabulary = build(word_vectors="random", open_teacher=nobody)

    assert vocabulary.vectors() is None
    assert vocabulary.facts["width"] == 8
    assert vocabulary.facts["words_with_a_vector"] == 0


def test_vectors_from_a_file_have_its_width(build: Build, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("gorgeous 1 2 3 4 5\ndreadful 5 4 3 2 1\n", encoding="utf-8")

    vocabulary = build(word_vectors=str(path), open_teacher=nobody)

    vectors = vocabulary.vectors()
    assert vectors is not None
    assert vectors.shape == (vocabulary.facts["tokens"], 5)
    assert vocabulary.facts["width"] == 5
    assert vocabulary.facts["words_with_a_vector"] == 2
    assert vectors[words_of(vocabulary).index("gorgeous")].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert vocabulary.facts["word_vectors"] == "vectors.txt"  # its name alone: folders tell about the machine


def test_vectors_of_several_sources_are_side_by_side(build: Build, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("gorgeous 1 2 3 4 5\n", encoding="utf-8")

    vocabulary = build(word_vectors=["teacher", str(path)])

    vectors, alone = vocabulary.vectors(), [build(word_vectors=source).vectors() for source in ("teacher", str(path))]
    assert vectors is not None
    np.testing.assert_array_equal(vectors, np.concatenate([part for part in alone if part is not None], axis=1))
    facts = vocabulary.facts
    assert facts["width"] == vectors.shape[1] == 13
    assert facts["word_vectors"] == ["teacher", "vectors.txt"]
    assert facts["words_with_a_vector"] == [facts["tokens"], 1]
    assert facts["parts"] == [{"source": "teacher", "width": 8}, {"source": "file", "width": 5}]


def test_a_random_part_is_left_for_each_student_to_draw(build: Build, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("gorgeous 1 2 3\n", encoding="utf-8")

    vocabulary = build(word_vectors=[str(path), "random"], open_teacher=nobody)

    vectors = vocabulary.vectors()
    assert vectors is not None
    assert vectors[words_of(vocabulary).index("gorgeous")].tolist() == [1.0, 2.0, 3.0] + [0.0] * 8
    assert vocabulary.facts["parts"] == [{"source": "file", "width": 3}, {"source": "random", "width": 8}]


def test_all_sources_count_against_the_room_that_the_teacher_leaves(
    make_teacher: Callable[..., TeacherFolder], build: Build, tmp_path: Path
) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("gorgeous 1 2 3 4 5 6 7 8\n", encoding="utf-8")
    small = make_teacher(tmp_path / "teacher", parameters=1200)

    single, double = (
        build(teacher=small, word_vectors=sources, vocabulary={"min_count": 1}, open_teacher=nobody).facts["budget"]
        for sources in ("random", ["random", str(path)])
    )

    assert single > 2 * double  # twice as wide, and the network that reads them is larger too


@pytest.mark.parametrize(("asked", "width"), [(8, 8), (500, 32)])
def test_vectors_from_the_teacher_are_at_most_as_wide_as_its_states(build: Build, asked: int, width: int) -> None:
    vocabulary = build(word_vectors="teacher", embedding_size=asked)

    vectors = vocabulary.vectors()
    assert vectors is not None
    assert vectors.shape == (vocabulary.facts["tokens"], width)
    assert vocabulary.facts["width"] == width
    assert vectors[0].tolist() == [0.0] * width
    assert (np.abs(vectors[3:]).sum(axis=1) > 0).all()


def test_pieces_are_the_teachers_own_and_are_read_as_such(build: Build, teacher: TeacherFolder) -> None:
    """The letters of a rare word are "##x" pieces; read as text, "##x" would be "#", "#" and "x"."""
    vocabulary = build(word_vectors="teacher", embedding_size=32, vocabulary={"kind": "pieces", "min_count": 1})

    pieces, encoder = words_of(vocabulary), open_teacher(teacher)
    with SilentReporter().bar("pieces", total=1, unit="pieces") as bar:
        read = encoder.word_states(pieces, are_pieces=True, tokens_per_batch=512, bar=bar)
    vectors = vocabulary.vectors()
    assert vectors is not None
    assert set(pieces[3:]) <= set(encoder.tokenizer.get_vocab())
    known = slice(3, None)
    distances = np.linalg.norm(read[known, None] - read[None, known], axis=2)
    ours = np.linalg.norm(vectors[known, None] - vectors[None, known], axis=2)
    np.testing.assert_allclose(ours, distances * (ours.sum() / distances.sum()), rtol=0.05, atol=1e-3)


@pytest.mark.parametrize("kind", ["words", "pieces"])
def test_the_same_texts_give_the_same_vocabulary_byte_for_byte(build: Build, kind: str) -> None:
    first, second = (build(word_vectors="teacher", vocabulary={"kind": kind}) for _ in range(2))

    assert first.fingerprint == second.fingerprint


def test_next_to_a_file_of_vectors_a_teacher_without_any_gives_a_random_part(build: Build, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("gorgeous 1 2 3\n", encoding="utf-8")
    facts = TeacherFacts(name="said.csv", kind="file", labels=["negative", "positive"], dev_accuracy=0.9)
    with written_atomically(tmp_path / "file", kind="teacher", key=KEY) as scratch:
        save_teacher_facts(scratch, facts)

    vocabulary = build(teacher=TeacherFolder(tmp_path / "file"), word_vectors=["teacher", str(path)])

    assert vocabulary.facts["parts"] == [{"source": "random", "width": 8}, {"source": "file", "width": 3}]


def test_a_teacher_that_is_a_file_has_no_vectors_and_sets_no_limit(build: Build, tmp_path: Path) -> None:
    facts = TeacherFacts(name="said.csv", kind="file", labels=["negative", "positive"], dev_accuracy=0.9)
    with written_atomically(tmp_path / "file", kind="teacher", key=KEY) as scratch:
        save_teacher_facts(scratch, facts)

    vocabulary = build(teacher=TeacherFolder(tmp_path / "file"), word_vectors="teacher", open_teacher=nobody)

    assert vocabulary.vectors() is None
    assert vocabulary.facts["width"] == 8
    assert vocabulary.facts["budget"] == 30_000


def test_common_words_of_the_teacher_follow_those_of_the_text(build: Build, teacher: TeacherFolder) -> None:
    plain, more = build(), build(vocabulary={"teacher_words": 5})
    own, words = (StudentTokenizer.load(found.tokenizer).vocabulary for found in (plain, more))
    known = whole_words(teacher.tokenizer_json())[:5]

    assert words[: len(own)] == own
    assert words[len(own) :] == [word for word in dict.fromkeys(map(str.lower, known)) if word not in own]
    vectors = more.vectors()
    assert vectors is not None
    assert len(vectors) == len(words)
    assert np.abs(vectors[len(own) :]).sum(axis=1).all()


def test_the_limit_holds_for_common_words_too(build: Build) -> None:
    own = StudentTokenizer.load(build().tokenizer).vocabulary

    limited = build(vocabulary={"teacher_words": 1_000, "max_size": len(own) + 1})

    assert len(StudentTokenizer.load(limited.tokenizer).vocabulary) <= len(own) + 1


def test_words_of_a_file_are_taken_in_its_order_and_none_are_counted(build: Build, tmp_path: Path) -> None:
    listed = tmp_path / "words.txt"
    listed.write_text("zebra\ngood\n\n  Film  \nzebra\nnever\nplot\nsix\n", encoding="utf-8")

    vocabulary = build(vocabulary={"path": str(listed), "max_size": 8, "min_count": 5})

    assert words_of(vocabulary)[3:] == ["zebra", "good", "film", "never", "plot"]


@pytest.mark.parametrize(("content", "reason"), [(b"", "no words"), (b"\xff\xfe", "not UTF-8")])
def test_a_file_without_words_is_refused(build: Build, tmp_path: Path, content: bytes, reason: str) -> None:
    listed = tmp_path / "words.txt"
    listed.write_bytes(content)

    with pytest.raises(FileUnreadable) as refused:
        build(vocabulary={"path": str(listed)})

    assert reason in str(refused.value)

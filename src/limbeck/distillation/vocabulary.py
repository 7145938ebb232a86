"""The student's vocabulary: built once per run, shared by all variants and seeds."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import assert_never

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.vocabulary_folder import VocabularyFolder, save_vocabulary
from limbeck.artifacts.whole import written_whole
from limbeck.distillation.vectors import Vectors, WordReader, file_vectors, teacher_vectors
from limbeck.errors import BudgetTooSmall
from limbeck.models.size import parameter_count
from limbeck.models.students import word_student
from limbeck.progress import Reporter, counted
from limbeck.recipe.student import AnyWordStudent
from limbeck.text.forms import FormStep
from limbeck.text.piece_tokenizer import cut_down_pieces
from limbeck.text.student_tokenizer import StudentTokenizer
from limbeck.text.word_tokenizer import build_word_tokenizer
from limbeck.text.word_vectors import vector_width

FEWEST_TOKENS = 8
TEXTS_AT_ONCE = 65_536


def build_vocabulary(
    section: AnyWordStudent,
    *,
    corpus: Corpus,
    extra: Sequence[Rows],
    form: Sequence[FormStep],
    teacher: TeacherFolder,
    encoder: TeacherFolder | None,
    open_encoder: Callable[[], WordReader] | None,
    out: Path,
    key: Key,
    reporter: Reporter,
) -> VocabularyFolder:
    """Count tokens in train and the extra rows, keep as many as the budget allows, and find their first vectors.

    `encoder` is the teacher, or of an ensemble the first member, that has word pieces and states; a teacher that is a
    file or a student has none to give, and then "teacher" vectors start at random.
    """
    if section.word_vectors == "teacher" and encoder is None:
        section = section.model_copy(update={"word_vectors": "random"})
        reporter.note("  the teacher is no encoder and has no word vectors to give: they start at random")
    with written_whole(out, kind="vocabulary", key=key) as scratch:
        width = _width(section, encoder)
        budget = _budget(section, corpus=corpus, teacher=teacher, width=width)
        sources = [corpus.splits["train"], *extra]
        texts = sum(len(rows) * (2 if rows.is_pair else 1) for rows in sources)
        with reporter.bar("counting words", total=texts, unit="texts") as bar:
            tokenizer = _tokenizer(
                section,
                counted(_texts(sources), bar),
                language=corpus.language,
                encoder=encoder,
                max_size=budget,
                form=form,
            )
        tokenizer.save(scratch / "tokenizer.json")
        vectors, found = _vectors(section, tokenizer, width=width, open_encoder=open_encoder, reporter=reporter)
        facts = {
            "kind": section.vocabulary.kind,
            "tokens": len(tokenizer),
            "budget": budget,
            "width": width,
            "word_vectors": Path(section.word_vectors).name,
            "words_with_a_vector": found,
        }
        save_vocabulary(scratch, vectors=vectors, facts=facts)
    cut = (
        " (lowered so that the student stays smaller than its teacher)" if budget < section.vocabulary.max_size else ""
    )
    reporter.note(f"  vocabulary: {len(tokenizer):,} {section.vocabulary.kind}, at most {budget:,}{cut}")
    return VocabularyFolder(out)


def _width(section: AnyWordStudent, encoder: TeacherFolder | None) -> int:
    match section.word_vectors:
        case "random":
            return section.embedding_size
        case "teacher":
            assert encoder is not None
            return min(section.embedding_size, encoder.hidden_size)
        case path:
            return vector_width(Path(path))


def _budget(section: AnyWordStudent, *, corpus: Corpus, teacher: TeacherFolder, width: int) -> int:
    """Most tokens with which the student still has fewer parameters than its teacher; a file sets no such limit."""
    if teacher.facts.parameters is None:
        return section.vocabulary.max_size
    one, two = (
        parameter_count(
            word_student(
                section, vocabulary_size=words, embedding_size=width, labels=corpus.labels, pair=corpus.is_pair
            )
        )
        for words in (1, 2)
    )
    of_word = two - one
    without_words = one - of_word
    room = (teacher.facts.parameters - without_words) // of_word
    if room < FEWEST_TOKENS:
        raise BudgetTooSmall(without_words=without_words, budget=teacher.facts.parameters)
    return min(section.vocabulary.max_size, room)


def _texts(sources: Sequence[Rows]) -> Iterator[str]:
    """Every text the student will learn from, second texts included; some in memory at a time."""
    for rows in sources:
        for part in rows.slices(TEXTS_AT_ONCE):
            yield from part.texts
            yield from part.pairs or []


def _tokenizer(
    section: AnyWordStudent,
    texts: Iterable[str],
    *,
    language: str,
    encoder: TeacherFolder | None,
    max_size: int,
    form: Sequence[FormStep],
) -> StudentTokenizer:
    vocabulary = section.vocabulary
    match vocabulary.kind:
        case "words":
            return build_word_tokenizer(
                texts,
                language=language,
                max_size=max_size,
                min_count=vocabulary.min_count,
                lowercase=vocabulary.lowercase,
                form=form,
                segmenter=vocabulary.segmenter,
            )
        case "pieces":
            assert encoder is not None  # the recipe is refused else
            return cut_down_pieces(
                encoder.tokenizer_json(),
                texts,
                max_size=max_size,
                min_count=vocabulary.min_count,
                form=form,
            )
        case _:
            assert_never(vocabulary.kind)


def _vectors(
    section: AnyWordStudent,
    tokenizer: StudentTokenizer,
    *,
    width: int,
    open_encoder: Callable[[], WordReader] | None,
    reporter: Reporter,
) -> tuple[Vectors | None, int]:
    """First vectors, None for random ones, and how many tokens have one of their own."""
    words = tokenizer.vocabulary
    match section.word_vectors:
        case "random":
            return None, 0
        case "teacher":
            assert open_encoder is not None
            are_pieces = section.vocabulary.kind == "pieces"
            vectors = teacher_vectors(
                words, are_pieces=are_pieces, teacher=open_encoder(), width=width, reporter=reporter
            )
            return vectors, len(words)
        case path:
            return file_vectors(words, path=Path(path))

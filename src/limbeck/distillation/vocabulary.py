"""The student's vocabulary: built once per run, shared by all variants and seeds."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, assert_never

import numpy as np

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.general_folder import GeneralFolder
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.vocabulary_folder import IS_GENERAL, VocabularyFolder, save_vocabulary
from limbeck.distillation.size_limit import SizeLimit, cut_facts, levers_of, report_cut
from limbeck.distillation.transformer_vocabulary import texts_of
from limbeck.distillation.vectors import (
    Vectors,
    WordReader,
    file_vectors,
    general_vectors,
    side_by_side,
    teacher_vectors,
    width_of,
)
from limbeck.errors import FileUnreadable, StudentError
from limbeck.models.folding import folded
from limbeck.models.size import parameter_count
from limbeck.models.students import word_student
from limbeck.progress import Reporter, counted
from limbeck.recipe.files import READY
from limbeck.recipe.no_teacher import NONE
from limbeck.recipe.student import WordStudent, source_kind
from limbeck.recipe.student_vocabulary import Vocabulary
from limbeck.text.forms import FormStep
from limbeck.text.piece_tokenizer import count_pieces, whole_words
from limbeck.text.student_tokenizer import SPECIAL_TOKENS, StudentTokenizer
from limbeck.text.word_tokenizer import OfSize, count_words

MIN_TOKENS = 8
ALL_DIMENSIONS = 1 << 20


class BudgetTooSmall(StudentError):
    """The student without any word is already larger than its teacher."""

    def __init__(self, *, without_words: int, budget: int) -> None:
        super().__init__(
            f"the student has {without_words:,} parameters without any word; its teacher has {budget:,}",
            advice="A student may not be larger than its teacher: lower student.hidden_size or student.embedding_size.",
        )


def build_vocabulary(
    section: WordStudent,
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
    size_limit: SizeLimit | None = None,
    general: GeneralFolder | None = None,
) -> VocabularyFolder:
    """Count tokens in train and the extra rows, keep what the budget allows, and compute their initial vectors.

    With a `general` student, its words have its vectors; those of other words are mapped to the same space.

    `encoder` is the teacher, or the first member of an ensemble, that has word pieces and states; a teacher that is a
    file or a student has none, and then "teacher" vectors start at random.
    """
    sources = section.vector_sources
    if "teacher" in sources and encoder is None:
        sources = ["random" if source == "teacher" else source for source in sources]
        if teacher.facts.kind != NONE:
            reporter.note("  the teacher is not an encoder and has no word vectors: the student's start at random")
    with written_atomically(out, kind="vocabulary", key=key) as scratch:
        widths = [_width(source, section, encoder) for source in sources]
        if general is not None:
            widths = [min(section.embedding_size, general.facts.width)]
        student = _shape(section, corpus=corpus, width=sum(widths))
        budget = most_tokens(student, teacher=teacher, most=section.vocabulary.max_size)
        read = [corpus.splits["train"], *extra]
        if section.vocabulary.path is not None:
            read = []  # its words are listed, not counted
        texts = sum(len(rows) * (2 if rows.is_pair else 1) for rows in read)
        with reporter.bar("counting words", total=texts, unit="texts") as bar:
            of_size = _count(
                section,
                counted(texts_of(read), bar),
                language=corpus.language,
                encoder=encoder,
                max_size=budget,
                form=form,
                general=general,
            )
        tokenizer = before_limit = of_size(budget)
        if size_limit is not None:
            size_budget = size_limit.budget(student, levers=levers_of(section), labels=corpus.labels)
            tokenizer = of_size(size_budget.most_tokens(of_size, most=len(before_limit)))
        tokenizer.save(scratch / "tokenizer.json")
        parts = [
            _vectors(
                source,
                section,
                tokenizer,
                width=width if general is None else ALL_DIMENSIONS,  # they are mapped below
                open_encoder=open_encoder,
                reporter=reporter,
            )
            for source, width in zip(sources, widths, strict=True)
        ]
        facts = {
            "kind": section.vocabulary.kind,
            "tokens": len(tokenizer),
            "budget": budget,
            "width": sum(widths),
            **cut_facts(size_limit, before=len(before_limit), after=len(tokenizer)),
            **_origins(sources, widths, found=[found for _, found in parts]),
        }
        vectors, others = side_by_side([part for part, _ in parts], widths=widths), {}
        if general is not None:
            vectors, is_known = general_vectors(
                tokenizer.vocabulary,
                words_of_general=general.vocabulary,
                vectors=general.vectors(),
                others=vectors,
                width=widths[0],
            )
            others = {IS_GENERAL: is_known.astype(np.float32)}
            facts |= {"general": general.facts.name, "general_words": int(is_known.sum())}
            place = "" if general.folder.is_relative_to(READY) else f" in {general.folder}"
            words = f"{facts['general_words']:,} words have the vectors"
            reporter.note(f"  {words} of the general student {facts['general']}{place}")
        save_vocabulary(scratch, vectors=vectors, facts=facts, others=others)
    if section.vector_rank and section.vector_rank >= sum(widths):
        reporter.note(
            f"  student.vector_rank = {section.vector_rank} has no effect on word vectors of width {sum(widths)}"
        )
    cut = (
        " (lowered so that the student stays smaller than its teacher)" if budget < section.vocabulary.max_size else ""
    )
    reporter.note(f"  vocabulary: {len(before_limit):,} {section.vocabulary.kind}, at most {budget:,}{cut}")
    report_cut(size_limit, reporter, what=section.vocabulary.kind, before=len(before_limit), after=len(tokenizer))
    return VocabularyFolder(out)


def _width(source: str, section: WordStudent, encoder: TeacherFolder | None) -> int:
    def teacher_width() -> int:
        assert encoder is not None  # otherwise "teacher" was replaced by "random"
        return encoder.hidden_size

    return width_of(source, embedding_size=section.embedding_size, teacher_width=teacher_width)


def _origins(sources: Sequence[str], widths: Sequence[int], *, found: Sequence[int]) -> dict[str, Any]:
    """The sources of the vectors and how many tokens had one; with several sources, also the width of each."""
    names = [Path(source).name for source in sources]  # without folders, which are specific to this machine
    if not names[1:]:
        return {"word_vectors": names[0], "words_with_a_vector": found[0]}
    parts = [{"source": source_kind(source), "width": width} for source, width in zip(sources, widths, strict=True)]
    return {"word_vectors": names, "words_with_a_vector": list(found), "parts": parts}


def _shape(section: WordStudent, *, corpus: Corpus, width: int) -> Callable[[int], Any]:
    """Makes the student for a number of tokens, in the shape that it has after training."""
    return lambda tokens: folded(
        word_student(section, vocabulary_size=tokens, embedding_size=width, labels=corpus.labels, pair=corpus.is_pair)
    )


def most_tokens(student: Callable[[int], Any], *, teacher: TeacherFolder, most: int) -> int:
    """Most tokens with which the student has fewer parameters than its teacher; a file sets no such limit."""
    if teacher.facts.parameters is None:
        return most
    one, two = (parameter_count(student(words)) for words in (1, 2))
    of_word = two - one
    without_words = one - of_word
    found = (teacher.facts.parameters - without_words) // of_word
    if found < MIN_TOKENS:
        raise BudgetTooSmall(without_words=without_words, budget=teacher.facts.parameters)
    return min(most, found)


def _count(
    section: WordStudent,
    texts: Iterable[str],
    *,
    language: str,
    encoder: TeacherFolder | None,
    max_size: int,
    form: Sequence[FormStep],
    general: GeneralFolder | None,
) -> OfSize:
    vocabulary = section.vocabulary
    match vocabulary.kind:
        case "words":
            return count_words(
                texts,
                language=language,
                max_size=max_size,
                min_count=vocabulary.min_count,
                lowercase=vocabulary.lowercase,
                form=form,
                segmenter=vocabulary.segmenter,
                also=_other_words(vocabulary, encoder, general),
                listed=listed_words(vocabulary),
            )
        case "pieces":
            assert encoder is not None  # otherwise the recipe is refused
            return count_pieces(encoder.tokenizer_json(), texts, min_count=vocabulary.min_count, form=form)
        case _:
            assert_never(vocabulary.kind)


def listed_words(vocabulary: Vocabulary) -> list[str]:
    """The words of its file, one a line, each once; empty without a file. Raises FileUnreadable."""
    if vocabulary.path is None:
        return []
    path = Path(vocabulary.path)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"not UTF-8: {error.reason}"
        advice = "Give a text file with one word a line: student.vocabulary.path."
        raise FileUnreadable(path=path, kind="words", reason=str(reason), advice=advice) from None
    words = list(dict.fromkeys(word for line in lines if (word := line.strip())))
    if not words:
        advice = "Give a text file with one word a line: student.vocabulary.path."
        raise FileUnreadable(path=path, kind="words", reason="it has no words", advice=advice)
    return words


def _other_words(vocabulary: Vocabulary, encoder: TeacherFolder | None, general: GeneralFolder | None) -> list[str]:
    """Common words that the text may lack."""
    if general is not None and vocabulary.general_words:
        return general.vocabulary[len(SPECIAL_TOKENS) :][: vocabulary.general_words]
    if encoder is None or not vocabulary.teacher_words:
        return []
    return whole_words(encoder.tokenizer_json())[: vocabulary.teacher_words]


def _vectors(
    source: str,
    section: WordStudent,
    tokenizer: StudentTokenizer,
    *,
    width: int,
    open_encoder: Callable[[], WordReader] | None,
    reporter: Reporter,
) -> tuple[Vectors | None, int]:
    """Initial vectors from one source, None for random ones, and how many tokens have one in the source."""
    words = tokenizer.vocabulary
    match source:
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

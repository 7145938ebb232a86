"""What can be examined before a run: corpus, transfer text, the student's words, and teachers that are ready."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.transfer_text import TransferText
from limbeck.corpus.run import read_corpus
from limbeck.distillation.terms.custom import custom_files
from limbeck.distillation.vectors import width_of
from limbeck.doctor.known import Collected, Known, NotThere
from limbeck.doctor.ready_teachers import ReadyTeachers
from limbeck.doctor.tokens import StudentReading, sample, texts_of
from limbeck.pretraining.run import refuse_pretraining
from limbeck.progress import Reporter
from limbeck.recipe.load import LoadedRecipe
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import WordStudent
from limbeck.teacher.run import refuse_unusable
from limbeck.text.piece_tokenizer import cut_down_pieces
from limbeck.text.student_tokenizer import StudentTokenizer
from limbeck.text.word_tokenizer import build_word_tokenizer
from limbeck.training.tracks import refuse_unknown_trackers
from limbeck.transfer.run import gather_transfer

NO_KEY = Key(section={}, inputs={})
# Rows of the transfer text in which the student's words are counted; with all of them it may know a few more. Splitting
# Chinese into words takes far longer, and every character seen is known anyway.
COUNTED_ROWS, COUNTED_CHINESE = 200_000, 20_000
NO_RUN = "it needs a run"


def known_of_recipe(loaded: LoadedRecipe, *, scratch: Path, asks: bool = True, reporter: Reporter) -> Known:
    """Read the corpus and the transfer text into a scratch folder. With `asks`, teachers that are ready are asked.

    Raises if the corpus cannot be read.
    """
    recipe, collected = loaded.recipe, Collected()
    corpus = read_corpus(recipe.corpus, name=loaded.name, out=scratch / "corpus", key=NO_KEY, reporter=reporter)
    collected.parts["corpus"] = corpus
    collected.add("custom_losses", lambda: custom_files(recipe.distillation.every_loss))
    collected.add("trackers", lambda: refuse_unknown_trackers(recipe.tracking.trackers))
    collected.add("transfer", lambda: _transfer(recipe, corpus, scratch=scratch, reporter=reporter), check="transfer")
    teachers = ReadyTeachers(recipe, corpus, scratch=scratch, asks=asks, reporter=reporter)
    collected.add("usable_teacher", lambda: refuse_unusable(recipe.teacher, recipe=loaded.source.name), check="teacher")
    for name in ("teacher_readings", "teacher_parameters", "asked", "asked_twice"):
        collected.add(name, partial(getattr, teachers, name), check="teacher")
    collected.add("pretraining", lambda: refuse_pretraining(recipe.teacher), check="teacher")
    gathered = collected.parts.get("transfer")
    collected.add("student_reading", lambda: _reading(recipe, corpus, gathered, teachers), check="teacher")
    reading = collected.parts.get("student_reading")
    collected.add("vocabulary", lambda: _vocabulary(recipe, reading, teachers), check="teacher")
    for name in ("copies", "chosen", "teacher", "model_answers", "students", "models", "report"):
        collected.absent[name] = NO_RUN
    if recipe.augmentation is None:
        collected.absent["copies"] = "the recipe has no [augmentation]"
    return Known(recipe, collected.parts, collected.absent, found=tuple(collected.found))


def _transfer(recipe: Recipe, corpus: Corpus, *, scratch: Path, reporter: Reporter) -> TransferText:
    if recipe.transfer is None:
        raise NotThere("the recipe has no [transfer]")
    return gather_transfer(recipe.transfer, corpus=corpus, out=scratch / "transfer", key=NO_KEY, reporter=reporter)


def _reading(recipe: Recipe, corpus: Corpus, gathered: TransferText | None, teachers: ReadyTeachers) -> StudentReading:
    """The student's tokens, as a run would count them."""
    student = recipe.student
    if not isinstance(student, WordStudent):
        raise NotThere(f"the tokens of this kind of student ({student.kind}) are made in a run")
    steps = gathered.quality["form"]["steps"] if gathered else []
    tokenizer = _tokenizer(student, corpus, _texts(corpus, gathered), steps=steps, teachers=teachers)
    return StudentReading(tokenizer, student.max_length)


def _texts(corpus: Corpus, gathered: TransferText | None) -> Iterator[str]:
    extra = (
        [sample(gathered.rows, most=COUNTED_CHINESE if corpus.language == "zh" else COUNTED_ROWS)] if gathered else []
    )
    return texts_of([corpus.splits["train"], *extra])


def _tokenizer(
    student: WordStudent, corpus: Corpus, texts: Iterator[str], *, steps: list[Any], teachers: ReadyTeachers
) -> StudentTokenizer:
    section = student.vocabulary
    if section.kind == "pieces":
        pieces = teachers.first_tokenizer.read_text(encoding="utf-8")
        return cut_down_pieces(pieces, texts, max_size=section.max_size, min_count=section.min_count, form=steps)
    return build_word_tokenizer(
        texts,
        language=corpus.language,
        max_size=section.max_size,
        min_count=section.min_count,
        lowercase=section.lowercase,
        form=steps,
        segmenter=section.segmenter,
    )


def _vocabulary(recipe: Recipe, reading: StudentReading | None, teachers: ReadyTeachers) -> dict[str, Any]:
    """The number of word vectors that there would be, and their width."""
    student = recipe.student
    if reading is None or not isinstance(student, WordStudent):
        raise NotThere("the student's tokens are not known yet")

    def teacher_width() -> int:
        return TeacherFolder(teachers.first_tokenizer.parent).hidden_size

    widths = [
        width_of(source, embedding_size=student.embedding_size, teacher_width=teacher_width)
        for source in student.vector_sources
    ]
    return {"tokens": len(reading.tokens), "width": sum(widths)}

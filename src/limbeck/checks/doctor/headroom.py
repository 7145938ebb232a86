"""What could still be gained: a student far below its teacher, and the levers left; a teacher with little to teach."""

from collections.abc import Iterator

from limbeck.checks.doctor.finding import Finding
from limbeck.checks.doctor.known import Known, NotThere
from limbeck.checks.doctor.likely_reasons import HARDLY_BETTER, NOTHING_LEFT, model_of
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import BiLstm, Transformer
from limbeck.recipe.teacher import EncoderTeacher, EnsembleTeacher, FileTeacher

FAR_BELOW = 0.02  # of accuracy
FEWEST_ROWS = 2  # that the distance must be more than
MOST_LEVERS = 3
WIDE, LONG = 300, 12  # hidden size and epochs of the recipes that won in docs/results.md
MANY_WORDS, NARROW = 100_000, 128  # and words, and the numbers a word that they then have
DOCUMENTS = 300  # a student that is to read so many tokens reads documents; those recipes read sentences, and no pairs
BETTER = {
    "encoder": "a larger checkpoint",
    "file": "what a stronger model says",
    "student": "a larger student, or the model that taught it",
    "ensemble": "larger members",
}


def headroom(known: Known) -> list[Finding]:
    """A note about the distance from student to teacher, or from the student alone to the teacher."""
    teacher, student = (model_of(known.report, role) for role in ("teacher", "student"))
    if teacher.get("accuracy") is None:
        raise NotThere("the teacher was not judged")
    if not student:
        raise NotThere("the report has no student")
    return [*_far_below(known, teacher["accuracy"]), *_little_to_teach(known, teacher["accuracy"])]


def _far_below(known: Known, teacher: float) -> Iterator[Finding]:
    student = _accuracy(known, "student")
    distance = teacher - student
    levers = [
        *_layers_to_start_from(known),
        *_more_text(known),
        *_more_lessons(known.recipe),
        *_more_words(known),
        *_more_student(known.recipe),
    ]
    if distance > FAR_BELOW and round(distance * known.report["judged_rows"]) > FEWEST_ROWS and levers:
        yield Finding(
            "headroom",
            "note",
            "the student could come closer to its teacher",
            f"{student:.1%} against {teacher:.1%}, {100 * distance:.1f} points below",
            f"What the best recipes of docs/results.md have, and this one has not: {'; '.join(levers[:MOST_LEVERS])}.",
        )


def _little_to_teach(known: Known, teacher: float) -> Iterator[Finding]:
    """Where the student has no gain at all, `gain` says so."""
    gained = (model_of(known.report, "student").get("gain_over_baseline") or {}).get("accuracy", 0.0)
    if gained <= 0:
        return
    alone = _accuracy(known, "baseline")
    if alone <= NOTHING_LEFT and teacher - alone < HARDLY_BETTER:
        several = ", or several together (teacher.seeds = [0, 1, 2])" if _can_be_several(known.recipe) else ""
        yield Finding(
            "headroom",
            "note",
            f"the teacher has little to teach: it is {'worse' if teacher < alone else 'hardly better'} than the "
            "student alone",
            f"{teacher:.1%} against {alone:.1%} alone",
            f"A better teacher would help most: {BETTER[known.recipe.teacher.kind]}{several}.",
        )


def _can_be_several(recipe: Recipe) -> bool:
    """Whether teacher.seeds may be set: losses on features or layers are taught by one encoder alone."""
    trained = isinstance(recipe.teacher, EncoderTeacher) and recipe.teacher.train != "none"
    return trained and recipe.features == "none" and "layers" not in recipe.distillation.needs


def _accuracy(known: Known, role: str) -> float:
    """On the rows that the teacher knows, where those are not all."""
    model = model_of(known.report, role)
    accuracy: float = model.get("accuracy_on_teacher_rows", model["accuracy"])
    return accuracy


def _layers_to_start_from(known: Known) -> Iterator[str]:
    """A student of 4 layers of 312 stayed far below one of 6 layers of the teacher, on SST-2 and on IMDB, and below a
    Bi-LSTM too."""
    student = known.recipe.student
    if not isinstance(student, Transformer) or student.width is None or not known.has("teacher"):
        return
    if known.teacher.is_encoder and known.teacher.hidden_size != student.width:
        yield (
            f"layers of the teacher to start from (leave student.width out: of width {student.width} it has the "
            'embeddings alone), or student.kind = "bilstm"'
        )


def _more_text(known: Known) -> Iterator[str]:
    """Beside SST-2's 67,349 labelled rows 10,000 of text brought little, 50,000 more, 200,000 most: docs/results.md."""
    text = ((known.report.get("transfer") or {}).get("chosen") or {}).get("rows")
    labelled = (known.report.get("corpus") or {}).get("rows", {}).get("train")
    if text and labelled and text < labelled:
        yield f"more unlabelled text ({text:,} rows are few beside {labelled:,} labelled ones)"


def _more_lessons(recipe: Recipe) -> Iterator[str]:
    """These bring most."""
    if recipe.transfer is None:
        yield "unlabelled text of the same kind ([transfer])"
    members = recipe.teacher.members if isinstance(recipe.teacher, EnsembleTeacher) else [recipe.teacher]
    is_file = any(isinstance(member, FileTeacher) for member in members)  # which says nothing of texts made anew
    if recipe.augmentation is None and not is_file:
        yield "changed copies of the rows ([augmentation])"


def _more_words(known: Known) -> Iterator[str]:
    """On TNEWS, whose headlines are full of names, as in the recipe tnews-15-words; less so on SST-2."""
    student = known.recipe.student
    if isinstance(student, Transformer) or student.vocabulary.kind != "words" or student.max_size_mb is not None:
        return
    words = known.part("vocabulary")["tokens"] if known.has("vocabulary") else 0
    if student.vocabulary.max_size <= words < MANY_WORDS:
        narrow = "" if student.vector_rank else f"; student.vector_rank = {NARROW} keeps the model small"
        yield f"more words (student.vocabulary.max_size lets it have {words:,}{narrow})"


def _more_student(recipe: Recipe) -> Iterator[str]:
    student, of_one_text = recipe.student, recipe.corpus.pair is None
    if not isinstance(student, BiLstm):
        return
    if recipe.transfer is not None and of_one_text and student.tune_vectors and "teacher" in student.vector_sources:
        yield "word vectors that stand still (student.tune_vectors = false)"
    if student.max_length >= DOCUMENTS or not of_one_text:
        return
    if student.hidden_size < WIDE:
        yield f"a wider student (student.hidden_size = {WIDE})"
    if recipe.distillation.epochs < LONG and not recipe.distillation.stages:
        yield f"more epochs (distillation.epochs = {LONG})"

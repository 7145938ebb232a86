"""What could still be gained: a student far below its teacher, and the levers left; a teacher with little to teach."""

from collections.abc import Iterator

from limbeck.checks.doctor.finding import Finding
from limbeck.checks.doctor.known import Known, NotThere
from limbeck.checks.doctor.likely_reasons import HARDLY_BETTER, NOTHING_LEFT, model_of
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import BiLstm
from limbeck.recipe.teacher import EncoderTeacher, EnsembleTeacher, FileTeacher

FAR_BELOW = 0.02  # of accuracy
FEWEST_ROWS = 2  # that the distance must be more than
MOST_LEVERS = 3
WIDE, LONG = 300, 12  # hidden size and epochs of the recipes that won in docs/results.md
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
    levers = [*_more_text(known), *_levers(known.recipe)][:MOST_LEVERS]
    if distance > FAR_BELOW and round(distance * known.report["judged_rows"]) > FEWEST_ROWS and levers:
        yield Finding(
            "headroom",
            "note",
            "the student could come closer to its teacher",
            f"{student:.1%} against {teacher:.1%}, {100 * distance:.1f} points below",
            f"What the best recipes of docs/results.md have, and this one has not: {'; '.join(levers)}.",
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


def _more_text(known: Known) -> Iterator[str]:
    """Beside SST-2's 67,349 labelled rows 10,000 of text brought little, 50,000 more, 200,000 most: docs/results.md."""
    text = ((known.report.get("transfer") or {}).get("chosen") or {}).get("rows")
    labelled = (known.report.get("corpus") or {}).get("rows", {}).get("train")
    if text and labelled and text < labelled:
        yield f"more unlabelled text ({text:,} rows are few beside {labelled:,} labelled ones)"


def _levers(recipe: Recipe) -> Iterator[str]:
    """The strongest first."""
    student = recipe.student
    if recipe.transfer is None:
        yield "unlabelled text of the same kind ([transfer])"
    members = recipe.teacher.members if isinstance(recipe.teacher, EnsembleTeacher) else [recipe.teacher]
    is_file = any(isinstance(member, FileTeacher) for member in members)  # which says nothing of texts made anew
    if recipe.augmentation is None and not is_file:
        yield "changed copies of the rows ([augmentation])"
    if not isinstance(student, BiLstm):
        return
    of_one_text = recipe.corpus.pair is None
    if recipe.transfer is not None and of_one_text and student.tune_vectors and "teacher" in student.vector_sources:
        yield "word vectors that stand still (student.tune_vectors = false)"
    if student.max_length >= DOCUMENTS or not of_one_text:
        return
    if student.hidden_size < WIDE:
        yield f"a wider student (student.hidden_size = {WIDE})"
    if recipe.distillation.epochs < LONG and not recipe.distillation.stages:
        yield f"more epochs (distillation.epochs = {LONG})"

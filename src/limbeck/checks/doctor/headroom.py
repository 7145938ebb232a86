"""What could still be gained: a student far below its teacher, and the levers left; a teacher with little to teach."""

from collections.abc import Iterator

from limbeck.checks.doctor.finding import Finding
from limbeck.checks.doctor.known import Known, NotThere
from limbeck.checks.doctor.likely_reasons import HARDLY_BETTER, model_of
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import BiLstm
from limbeck.recipe.teacher import EncoderTeacher

FAR_BELOW = 0.02  # of accuracy
FEWEST_ROWS = 2  # that the distance must be more than
MOST_LEVERS = 3
WIDE, LONG = 300, 12  # hidden size and epochs of the recipes that won in docs/results.md


def headroom(known: Known) -> list[Finding]:
    """A note about the distance from student to teacher, or from the student alone to the teacher."""
    teacher, student = (model_of(known.report, role) for role in ("teacher", "student"))
    if teacher.get("accuracy") is None or not student:
        raise NotThere("the teacher was not judged")
    return [*_far_below(known, teacher["accuracy"]), *_little_to_teach(known, teacher["accuracy"])]


def _far_below(known: Known, teacher: float) -> Iterator[Finding]:
    student = _accuracy(known, "student")
    distance = teacher - student
    levers = list(_levers(known.recipe))[:MOST_LEVERS]
    if distance > FAR_BELOW and round(distance * known.report["judged_rows"]) > FEWEST_ROWS and levers:
        yield Finding(
            "headroom",
            "note",
            "the student could come closer to its teacher",
            f"{student:.1%} against {teacher:.1%}, {100 * distance:.1f} points below",
            f"What brought most in docs/results.md, and is not in this recipe: {'; '.join(levers)}.",
        )


def _little_to_teach(known: Known, teacher: float) -> Iterator[Finding]:
    """Where the student has no gain at all, `gain` says so."""
    alone = model_of(known.report, "baseline")
    gained = (model_of(known.report, "student").get("gain_over_baseline") or {}).get("accuracy", 0.0)
    if alone and gained > 0 and 0 <= teacher - _accuracy(known, "baseline") < HARDLY_BETTER:
        several = isinstance(known.recipe.teacher, EncoderTeacher)
        yield Finding(
            "headroom",
            "note",
            "the teacher has little to teach: it is hardly better than the student alone",
            f"{teacher:.1%} against {_accuracy(known, 'baseline'):.1%} alone",
            "A better teacher would help most: a larger checkpoint"
            + (", or several together (teacher.seeds = [0, 1, 2])." if several else "."),
        )


def _accuracy(known: Known, role: str) -> float:
    """On the rows that the teacher knows, where those are not all."""
    model = model_of(known.report, role)
    accuracy: float = model.get("accuracy_on_teacher_rows", model["accuracy"])
    return accuracy


def _levers(recipe: Recipe) -> Iterator[str]:
    """The strongest first."""
    student = recipe.student
    if recipe.transfer is None:
        yield "unlabelled text of the same kind ([transfer])"
    if recipe.augmentation is None:
        yield "changed copies of the rows ([augmentation])"
    if not isinstance(student, BiLstm):
        return
    if recipe.transfer is not None and student.tune_vectors and "teacher" in student.vector_sources:
        yield "word vectors that stand still (student.tune_vectors = false)"
    if student.hidden_size < WIDE:
        yield f"a wider student (student.hidden_size = {WIDE})"
    if recipe.distillation.epochs < LONG and not recipe.distillation.stages:
        yield f"more epochs (distillation.epochs = {LONG})"

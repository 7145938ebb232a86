"""What could still be gained: a student far below its teacher, and the levers left; a teacher with little to teach."""

from collections.abc import Iterator

from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Known, NotThere
from limbeck.doctor.levers import levers
from limbeck.doctor.likely_reasons import HARDLY_BETTER, NOTHING_LEFT, model_of
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.teacher import EncoderTeacher

FAR_BELOW = 0.02  # of accuracy
FEWEST_ROWS = 2  # that the distance must be more than
MOST_LEVERS = 3
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
    left = [lever.said for lever in levers(known)]
    if distance > FAR_BELOW and round(distance * known.report["judged_rows"]) > FEWEST_ROWS and left:
        yield Finding(
            "headroom",
            "note",
            "the student could come closer to its teacher",
            f"{student:.1%} against {teacher:.1%}, {100 * distance:.1f} points below",
            f"What the best recipes of docs/results.md have, and this one has not: {'; '.join(left[:MOST_LEVERS])}.",
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

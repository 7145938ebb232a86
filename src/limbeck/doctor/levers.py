"""What the recipes that won in docs/results.md have and a recipe has not, with the keys to set where those are all."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Known, NotThere
from limbeck.doctor.likely_reasons import HARDLY_BETTER, NOTHING_LEFT, model_of
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import BiLstm, Transformer, WordStudent
from limbeck.recipe.teacher import each_teacher
from limbeck.teacher.kinds import kind_of

WIDE, LONG = 300, 12  # hidden size and epochs of those recipes
MANY_WORDS, NARROW = 100_000, 128  # and words, and the numbers a word that they then have
DOCUMENTS = 300  # a student that is to read so many tokens reads documents; those recipes read sentences, and no pairs
# BERT and most others · DistilBERT
NAMES_OF_HEADS = ("num_attention_heads", "n_heads")
NAMES_OF_INNER = ("intermediate_size", "hidden_dim")


@dataclass(frozen=True)
class Lever:
    """One thing to try; `settings` as `--set` takes them, empty where it takes more than keys."""

    said: str
    settings: tuple[str, ...] = ()


def levers(known: Known) -> Iterator[Lever]:
    """Those that are left, the strongest first."""
    yield from _layers_to_start_from(known)
    yield from _more_text(known)
    yield from _more_copies(known.recipe)
    yield from _more_words(known)
    yield from _more_student(known.recipe)


def _layers_to_start_from(known: Known) -> Iterator[Lever]:
    """A student of 4 layers of 312 stayed far below one of 6 layers of the teacher, on SST-2 and on IMDB, and below a
    Bi-LSTM too."""
    student, shape = known.recipe.student, _shape_of_lender(known)
    if not isinstance(student, Transformer) or student.start != "teacher" or student.width is None or shape is None:
        return
    if shape["width"] != student.width:
        settings = tuple(f"student.{key}={value}" for key, value in shape.items())
        keys = ", ".join(setting.replace("=", " = ") for setting in settings)
        yield Lever(
            f"layers of the teacher to start from ({keys}: of width {student.width} it starts with the embeddings "
            'alone), or student.kind = "bilstm"',
            settings,
        )


def _shape_of_lender(known: Known) -> dict[str, int] | None:
    """Width, heads and inner size of the encoder that lends its weights: of an ensemble the first one."""
    if not known.has("teacher"):
        return None
    beside = known.teacher.folder.parent / "teachers"
    candidates = [known.teacher, *(TeacherFolder(beside / name) for name in known.teacher.facts.members)]
    for one in candidates:
        if (one.folder / "config.json").is_file() and one.is_encoder:
            config: dict[str, Any] = json.loads((one.folder / "config.json").read_text(encoding="utf-8"))
            heads = next((config[name] for name in NAMES_OF_HEADS if name in config), None)
            inner = next((config[name] for name in NAMES_OF_INNER if name in config), None)
            return {"width": one.hidden_size, "heads": heads, "inner_size": inner} if heads and inner else None
    return None


def _more_text(known: Known) -> Iterator[Lever]:
    """Beside SST-2's 67,349 labelled rows 10,000 of text brought little, 50,000 more, 200,000 most: docs/results.md."""
    text = ((known.report.get("transfer") or {}).get("chosen") or {}).get("rows")
    labelled = (known.report.get("corpus") or {}).get("rows", {}).get("train")
    if text and labelled and text < labelled:
        yield Lever(f"more unlabelled text ({text:,} rows are few beside {labelled:,} labelled ones)")


def _more_copies(recipe: Recipe) -> Iterator[Lever]:
    """These bring most."""
    if recipe.transfer is None:
        yield Lever("unlabelled text of the same kind ([transfer])")
    if recipe.augmentation is None and all(one.traits.answers_new_texts for one in each_teacher(recipe.teacher)):
        yield Lever("changed copies of the rows ([augmentation])")


def _more_words(known: Known) -> Iterator[Lever]:
    """On TNEWS, whose Chinese headlines are full of names, as in the recipe tnews-15-words. English was not tried."""
    recipe, student = known.recipe, known.recipe.student
    if not isinstance(student, WordStudent) or student.vocabulary.kind != "words" or student.max_size_mb is not None:
        return
    is_chinese = (known.report.get("corpus") or {}).get("language") == "zh"
    if not is_chinese or recipe.corpus.pair is not None or student.max_length >= DOCUMENTS:
        return
    vocabulary = known.part("vocabulary") if known.has("vocabulary") else {"tokens": 0}
    words = vocabulary["tokens"]
    if student.vocabulary.max_size <= words < MANY_WORDS:
        can_be_narrow = not student.vector_rank and not student.static_channel
        narrow = (f"student.vector_rank={NARROW}",) if can_be_narrow and vocabulary.get("width", 0) > NARROW else ()
        told = f"; student.vector_rank = {NARROW} keeps the model small" if narrow else ""
        yield Lever(
            f"more words (student.vocabulary.max_size lets it have {words:,}{told})",
            (f"student.vocabulary.max_size={MANY_WORDS}", *narrow),
        )


def _more_student(recipe: Recipe) -> Iterator[Lever]:
    student, of_one_text = recipe.student, recipe.corpus.pair is None
    if not isinstance(student, BiLstm):
        return
    if recipe.transfer is not None and of_one_text and _could_stand_still(student):
        yield Lever("word vectors that stand still (student.tune_vectors = false)", ("student.tune_vectors=false",))
    if student.max_length >= DOCUMENTS or not of_one_text:
        return
    if student.hidden_size < WIDE:
        yield Lever(f"a wider student (student.hidden_size = {WIDE})", (f"student.hidden_size={WIDE}",))
    if recipe.distillation.epochs < LONG and not recipe.distillation.stages:
        yield Lever(f"more epochs (distillation.epochs = {LONG})", (f"distillation.epochs={LONG}",))


def _could_stand_still(student: BiLstm) -> bool:
    """Whether the vectors learn, and are wide enough to say without that what the teacher knows of a word."""
    learn = student.tune_vectors and not student.static_channel
    return learn and "teacher" in student.vector_sources and student.embedding_size > NARROW


FAR_BELOW = 0.02  # of accuracy
FEWEST_ROWS = 2  # that the distance must be more than
MOST_LEVERS = 3


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
            f"A better teacher would help most: {kind_of(known.recipe.teacher).advice.better}{several}.",
        )


def _can_be_several(recipe: Recipe) -> bool:
    """Whether teacher.seeds may be set: losses on features or layers are taught by one encoder alone."""
    trained = kind_of(recipe.teacher).is_fine_tuned(recipe.teacher)
    return trained and recipe.features == "none" and "layers" not in recipe.distillation.needs


def _accuracy(known: Known, role: str) -> float:
    """On the rows that the teacher knows, where those are not all."""
    model = model_of(known.report, role)
    accuracy: float = model.get("accuracy_on_teacher_rows", model["accuracy"])
    return accuracy

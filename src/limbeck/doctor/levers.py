"""Settings of the best recipes in docs/results.md that a recipe does not use, with the keys to set."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.doctor import scores
from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Known, NotThere
from limbeck.doctor.likely_reasons import HARDLY_BETTER, NEAR_PERFECT, model_of
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import BiLstm, PairStudent, Transformer, WordStudent
from limbeck.recipe.teacher import each_teacher
from limbeck.teacher.kinds import kind_of

WIDE, LONG = 300, 12  # hidden size and epochs of those recipes
MANY_WORDS, NARROW = 100_000, 128  # vocabulary size, and the width of the word vectors with it
DOCUMENTS = 300  # a student with at least this max_length reads documents; those recipes read sentences, and no pairs
# BERT and most others · DistilBERT
NAMES_OF_HEADS = ("num_attention_heads", "n_heads")
NAMES_OF_INNER = ("intermediate_size", "hidden_dim")


@dataclass(frozen=True)
class Lever:
    """One thing to try, in words; `settings` as for `--set`, empty if setting keys is not enough."""

    text: str
    settings: tuple[str, ...] = ()


def levers(known: Known) -> Iterator[Lever]:
    """The levers that the recipe does not use yet, the strongest first."""
    yield from _initial_layers(known)
    yield from _more_text(known)
    yield from _more_copies(known.recipe)
    yield from _more_words(known)
    yield from _more_student(known.recipe)


def _initial_layers(known: Known) -> Iterator[Lever]:
    """On SST-2 and IMDB, a student of 4 layers of width 312 was far below one of 6 layers of the teacher, and below a
    Bi-LSTM too."""
    student, shape = known.recipe.student, _encoder_shape(known)
    if not isinstance(student, Transformer) or student.start != "teacher" or student.width is None or shape is None:
        return
    if shape["width"] != student.width:
        settings = tuple(f"student.{key}={value}" for key, value in shape.items())
        keys = ", ".join(setting.replace("=", " = ") for setting in settings)
        yield Lever(
            f"layers of the teacher to start from ({keys}: with width {student.width} only the embeddings are copied), "
            'or student.kind = "bilstm"',
            settings,
        )


def _encoder_shape(known: Known) -> dict[str, int] | None:
    """Width, heads and inner size of the encoder that students start from: the first one of an ensemble."""
    if not known.has("teacher"):
        return None
    folder = known.teacher.folder.parent / "teachers"
    candidates = [known.teacher, *(TeacherFolder(folder / name) for name in known.teacher.facts.members)]
    for one in candidates:
        if (one.folder / "config.json").is_file() and one.is_encoder:
            config: dict[str, Any] = json.loads((one.folder / "config.json").read_text(encoding="utf-8"))
            heads = next((config[name] for name in NAMES_OF_HEADS if name in config), None)
            inner = next((config[name] for name in NAMES_OF_INNER if name in config), None)
            return {"width": one.hidden_size, "heads": heads, "inner_size": inner} if heads and inner else None
    return None


def _more_text(known: Known) -> Iterator[Lever]:
    """With SST-2's 67,349 labelled rows, 10,000 of text gained little, 50,000 more, 200,000 most: docs/results.md."""
    text = ((known.report.get("transfer") or {}).get("chosen") or {}).get("rows")
    labelled = (known.report.get("corpus") or {}).get("rows", {}).get("train")
    if text and labelled and text < labelled:
        yield Lever(f"more unlabelled text ({text:,} rows are few compared with {labelled:,} labelled ones)")


def _more_copies(recipe: Recipe) -> Iterator[Lever]:
    """These gain most."""
    if recipe.transfer is None:
        yield Lever("unlabelled text of the same kind ([transfer])")
    if recipe.augmentation is None and all(one.traits.answers_new_texts for one in each_teacher(recipe.teacher)):
        yield Lever("changed copies of the rows ([augmentation])")


def _more_words(known: Known) -> Iterator[Lever]:
    """Helped on TNEWS, whose Chinese headlines have many names (recipe tnews-15-words). Not tried in English."""
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
        note = f"; student.vector_rank = {NARROW} keeps the model small" if narrow else ""
        yield Lever(
            f"more words (student.vocabulary.max_size limits it to {words:,}{note})",
            (f"student.vocabulary.max_size={MANY_WORDS}", *narrow),
        )


def _more_student(recipe: Recipe) -> Iterator[Lever]:
    student, of_one_text = recipe.student, recipe.corpus.pair is None
    if isinstance(student, PairStudent) and not of_one_text and not student.attends:
        yield Lever('comparing the two texts word by word (student.pairing = "attend")', ('student.pairing="attend"',))
    if not isinstance(student, BiLstm):
        return
    if recipe.transfer is not None and of_one_text and _could_be_frozen(student):
        yield Lever("frozen word vectors (student.tune_vectors = false)", ("student.tune_vectors=false",))
    if student.max_length >= DOCUMENTS or not of_one_text:
        return
    if student.hidden_size < WIDE:
        yield Lever(f"a wider student (student.hidden_size = {WIDE})", (f"student.hidden_size={WIDE}",))
    if recipe.distillation.epochs < LONG and not recipe.distillation.stages:
        yield Lever(f"more epochs (distillation.epochs = {LONG})", (f"distillation.epochs={LONG}",))


def _could_be_frozen(student: BiLstm) -> bool:
    """Whether the vectors are trained, and wide enough to hold the teacher's knowledge of a word without training."""
    learn = student.tune_vectors and not student.static_channel
    return learn and "teacher" in student.vector_sources and student.embedding_size > NARROW


FAR_BELOW = 0.02  # accuracy
MIN_ROWS = 2  # the distance must be more than this many rows
MAX_LEVERS = 3


def headroom(known: Known) -> list[Finding]:
    """A note if the student is far below its teacher, or if the teacher is hardly better than the student alone."""
    if scores.gives_scores(known.report):
        raise NotThere(scores.HAS_NO_CLASSES)
    teacher, student = (model_of(known.report, role) for role in ("teacher", "student"))
    if teacher.get("accuracy") is None:
        raise NotThere("the teacher was not judged")
    if not student:
        raise NotThere("the report has no student")
    return [*_far_below(known, teacher["accuracy"]), *_weak_teacher(known, teacher["accuracy"])]


def _far_below(known: Known, teacher: float) -> Iterator[Finding]:
    student = _accuracy(known, "student")
    distance = teacher - student
    left = [lever.text for lever in levers(known)]
    if distance > FAR_BELOW and round(distance * known.report["judged_rows"]) > MIN_ROWS and left:
        yield Finding(
            "headroom",
            "note",
            "the student could come closer to its teacher",
            f"{student:.1%} against {teacher:.1%}, {100 * distance:.1f} points below",
            f"The best recipes of docs/results.md use, and this one does not: {'; '.join(left[:MAX_LEVERS])}.",
        )


def _weak_teacher(known: Known, teacher: float) -> Iterator[Finding]:
    """If the student has no gain at all, `gain` reports that instead."""
    gained = (model_of(known.report, "student").get("gain_over_baseline") or {}).get("accuracy", 0.0)
    if gained <= 0:
        return
    alone = _accuracy(known, "baseline")
    if alone <= NEAR_PERFECT and teacher - alone < HARDLY_BETTER:
        several = ", or an ensemble (teacher.seeds = [0, 1, 2])" if _can_be_several(known.recipe) else ""
        yield Finding(
            "headroom",
            "note",
            f"the teacher is {'worse' if teacher < alone else 'hardly better'} than the student alone",
            f"{teacher:.1%} against {alone:.1%} alone: there is little to learn from it",
            f"A better teacher would help most: {kind_of(known.recipe.teacher).advice.better}{several}.",
        )


def _can_be_several(recipe: Recipe) -> bool:
    """Whether teacher.seeds may be set: losses on features or layers need a single encoder."""
    trained = kind_of(recipe.teacher).is_fine_tuned(recipe.teacher)
    return trained and recipe.features == "none" and "layers" not in recipe.distillation.needs


def _accuracy(known: Known, role: str) -> float:
    """Accuracy on the rows that the teacher has labelled."""
    model = model_of(known.report, role)
    accuracy: float = model.get("accuracy_on_teacher_rows", model["accuracy"])
    return accuracy

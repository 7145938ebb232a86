"""Answers on the labelled rows of a run by models that have not trained on them, kept in the run's folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.atomic_folder import why_redo, written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import WORK, Key
from limbeck.artifacts.out_of_fold import OutOfFold
from limbeck.artifacts.rows import Rows, joined
from limbeck.artifacts.teacher_labels import save_teacher_labels
from limbeck.errors import ArtifactError, DataError, RecipeError, TeacherError
from limbeck.pipeline.labels import LabelledRun
from limbeck.pipeline.teachers import checkpoint_key
from limbeck.progress import Reporter
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.teacher import EncoderTeacher, EnsembleTeacher, each_teacher
from limbeck.review.folds import OUTSIDE, Logits, View, combined, keys_of, out_of_fold, parts_of
from limbeck.review.views import frozen_vectors, teacher_view, vectors_view, words_view
from limbeck.runtime.probabilities import probabilities_of
from limbeck.teacher.kinds import kind_of
from limbeck.training.skill import predicted
from limbeck.training.temperature import fitted_temperature

PLACE = "out-of-fold"  # in the folder of the review
WORDS, VECTORS, TEACHER = "words", "vectors", "teacher"
IN_WORDS = {
    WORDS: "TF-IDF",
    VECTORS: "a linear head on the encoder's vectors",
    TEACHER: "the teacher, prepared again",
}


class TeacherNotRepeatable(TeacherError):
    """`--with-teacher` asks to train a teacher that is not trained on the corpus, or that is several."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(
            f"this teacher cannot be trained again without a part of the rows: {reason}",
            advice="Leave out --with-teacher: the rows are then judged by words and vectors.",
        )


class EncoderMissing(TeacherError):
    """The checkpoint that the teacher was fine-tuned from cannot be loaded any more."""

    def __init__(self, *, checkpoint: str, reason: str) -> None:
        super().__init__(
            f"cannot compute vectors with '{checkpoint}', from which the teacher was fine-tuned",
            found=reason,
            advice="Make it available again, or judge by words alone, which is worse: --no-vectors.",
        )


@dataclass(frozen=True)
class ReviewSettings:
    """How the rows are judged."""

    parts: int = 5
    with_vectors: bool = True
    with_teacher: bool = False


@dataclass(frozen=True)
class JudgedSplit:
    """The labelled rows of a split, and what models say that have not trained on them."""

    split: str
    rows: Rows
    probabilities: npt.NDArray[np.float32]  # (rows, classes)
    by: str  # who answered, in words


def judgeable(corpus: Corpus) -> dict[str, Rows]:
    """The rows of each split whose label is a class of train. A row of dev or test whose text is also in train is left
    out: models have trained on its text."""
    train = corpus.splits["train"]
    known = set(keys_of(train))
    found = {"train": train.select(np.flatnonzero(has_class(train)))}
    for split, rows in corpus.splits.items():
        if split != "train":
            is_new = np.array([key not in known for key in keys_of(rows)], dtype=np.bool_)
            found[split] = rows.select(np.flatnonzero(has_class(rows) & is_new))
    return found


def has_class(rows: Rows) -> npt.NDArray[np.bool_]:
    """(rows): whether the label of a row is a class, or a set of classes."""
    labels = rows.labels
    return labels >= 0 if labels.ndim == 1 else np.asarray((labels >= 0).all(axis=1))


def out_of_fold_answers(
    run: LabelledRun, recipe: Recipe, settings: ReviewSettings, *, folder: Path, reporter: Reporter
) -> OutOfFold:
    """The answers, made or reused; a stopped review continues where it stopped."""
    encoder = _encoder(recipe) if settings.with_vectors else None
    if settings.with_teacher:
        _refuse_teacher(recipe)
    key = _key(run, recipe, settings, encoder)
    place = folder / PLACE
    reason = why_redo(place, kind="out_of_fold", key=key)
    if reason is None:
        reporter.stage(PLACE, "reused: nothing it is made from has changed", is_reused=True)
        return OutOfFold(place)
    reporter.stage(PLACE, reason)
    place.parent.mkdir(parents=True, exist_ok=True)
    with written_atomically(place, kind="out_of_fold", key=key) as scratch:
        _make(run.corpus, recipe, settings, encoder, scratch=scratch, reporter=reporter)
    return OutOfFold(place)


def _make(
    corpus: Corpus,
    recipe: Recipe,
    settings: ReviewSettings,
    encoder: EncoderTeacher | None,
    *,
    scratch: Path,
    reporter: Reporter,
) -> None:
    splits, work = judgeable(corpus), scratch / WORK
    rows = joined(list(splits.values()))
    part = np.full(len(rows), OUTSIDE, dtype=np.int64)
    part[: len(splits["train"])] = parts_of(splits["train"], parts=settings.parts)
    views = _views(corpus, recipe, settings, encoder, rows, work=work, reporter=reporter)
    with reporter.bar("answering", total=settings.parts * len(views), unit="models") as bar:
        answers = {name: out_of_fold(view, part, name=name, work=work, bar=bar) for name, view in views.items()}
    logits = combined(answers, rows.labels, is_train=part != OUTSIDE)
    agreement = {name: _agreement(one, rows, part) for name, one in {**answers, "all": logits}.items()}
    facts = {"parts": settings.parts, "views": list(answers), "rows": len(rows), "agreement": agreement}
    save_teacher_labels(scratch, ids=rows.ids, logits=logits, facts=facts)


def _key(run: LabelledRun, recipe: Recipe, settings: ReviewSettings, encoder: EncoderTeacher | None) -> Key:
    section: dict[str, Any] = {"parts": settings.parts}
    inputs = {"corpus": run.corpus.fingerprint}
    if encoder is not None:
        inputs["encoder"] = checkpoint_key(encoder)
        section["reading"] = encoder.model_dump(mode="json", include={"max_length", "long_texts", "pairs", "head"})
    if settings.with_teacher:
        section["teacher"] = recipe.teacher.model_dump(mode="json")
        inputs |= kind_of(recipe.teacher).inputs(recipe.teacher)
    return Key(section=section, inputs=inputs)


def _encoder(recipe: Recipe) -> EncoderTeacher | None:
    """The encoder that was fine-tuned for the run; one that was ready before may have learned from these very rows."""
    members = each_teacher(recipe.teacher)
    return next((one for one in members if isinstance(one, EncoderTeacher) and one.train != "none"), None)


def _refuse_teacher(recipe: Recipe) -> None:
    if isinstance(recipe.teacher, EnsembleTeacher):
        raise TeacherNotRepeatable(reason="it is an ensemble")
    if not kind_of(recipe.teacher).is_fine_tuned(recipe.teacher):
        raise TeacherNotRepeatable(reason="it was not trained in this run")


def _views(
    corpus: Corpus,
    recipe: Recipe,
    settings: ReviewSettings,
    encoder: EncoderTeacher | None,
    rows: Rows,
    *,
    work: Path,
    reporter: Reporter,
) -> dict[str, View]:
    views: dict[str, View] = {WORDS: words_view(rows, corpus)}
    if encoder is not None:
        try:
            with reporter.bar("vectors", total=len(rows), unit="rows") as bar:
                vectors = frozen_vectors(encoder, corpus, rows, work=work, bar=bar)
            views[VECTORS] = vectors_view(vectors, rows.labels, classes=len(corpus.labels))
        except (ArtifactError, DataError, RecipeError, TeacherError) as error:
            raise EncoderMissing(checkpoint=encoder.checkpoint, reason=error.what) from None
    elif settings.with_vectors:
        reporter.note("  judged by words alone: the run has no encoder that was fine-tuned on its rows")
    if settings.with_teacher:
        views[TEACHER] = teacher_view(recipe.teacher, corpus, rows, work=work, reporter=reporter)
    return views


def _agreement(logits: Logits, rows: Rows, part: npt.NDArray[np.int64]) -> float:
    """The share of train's labels that are answered; of several labels, of all of a row."""
    labels, inside = rows.labels, part != OUTSIDE
    same = predicted(logits, multi_label=labels.ndim == 2)[inside] == labels[inside]
    return float((same if same.ndim == 1 else same.all(axis=1)).mean())


def judged_splits(run: LabelledRun, recipe: Recipe, out_of_fold: OutOfFold) -> list[JudgedSplit]:
    """Train by its out-of-fold answers; dev and test by the teacher, if it was trained on train alone and has an answer
    for every row, else by the models of all parts, which have not trained on them either."""
    trained_here = all(kind_of(one).is_fine_tuned(one) for one in each_teacher(recipe.teacher))
    models = " and ".join(IN_WORDS[name] for name in out_of_fold.facts["views"])
    found = []
    for split, rows in judgeable(run.corpus).items():
        if not len(rows):
            continue
        by_teacher = run.labels.if_complete(rows.ids) if split != "train" and trained_here else None
        by = f"{models}, trained without the row" if by_teacher is None else "the teacher"
        logits = out_of_fold.answers.for_rows(rows.ids) if by_teacher is None else _calibrated(by_teacher, rows)
        found.append(JudgedSplit(split, rows, probabilities_of(logits, multi_label=rows.labels.ndim == 2), by))
    return found


def _calibrated(logits: Logits, rows: Rows) -> Logits:
    scaled: Logits = logits / np.float32(fitted_temperature(logits, rows.labels))
    return scaled

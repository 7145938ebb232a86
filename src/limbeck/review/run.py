"""`limbeck review RUN`: judges the labels of a run, and writes what a person should look at into `RUN/review`."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from limbeck.artifacts.run_folder import open_run
from limbeck.errors import NeedsClasses, PathUnusable
from limbeck.pipeline.labels import LabelledRun, labelled_run
from limbeck.pipeline.report_page import keep_review, write_report_page
from limbeck.progress import Reporter, TerminalReporter
from limbeck.recipe.corpus import CorpusSection
from limbeck.recipe.load import load_recipe
from limbeck.recipe.recipe import Recipe
from limbeck.review.answers import JudgedSplit, ReviewSettings, judged_splits, out_of_fold_answers
from limbeck.review.class_overlap import ClassPair, overlapping_classes
from limbeck.review.next_rows import NextRow, next_rows
from limbeck.review.page import PAGE, content_of, page
from limbeck.review.sheets import CLASSES, LABELS, NEXT, refuse_edited, write_sheet
from limbeck.review.wrong_labels import DoubtfulRow, LabelNames, doubtful_rows, unjudged_classes

FOLDER, SUMMARY = "review", "review.json"  # the folder is in that of the run
LABEL_COLUMNS = ("id", "split", "file", "row", "text", "pair", "label", "new_label", "suggested", "sure")
NEXT_COLUMNS = ("id", "text", "pair", "label", "teacher", "teacher_sure", "student", "student_sure", "cluster")
CLASS_COLUMNS = ("first", "second", "confused", "share", "first_as_second", "second_as_first")


@dataclass(frozen=True)
class Review:
    """What a review has found."""

    folder: Path
    doubtful: list[DoubtfulRow]
    pairs: list[ClassPair]
    next_rows: list[NextRow]
    judged: list[dict[str, Any]]  # of each split: name, rows, doubtful rows, who answered
    agreement: Mapping[str, float]  # with the labels of train, of each model and of all together
    unjudged: list[str]  # classes with too few rows
    has_transfer: bool

    def as_json(self) -> dict[str, Any]:
        """The numbers, without texts."""
        return {
            "judged": self.judged,
            "agreement_on_train": dict(self.agreement),
            "doubtful": len(self.doubtful),
            "same_text": sum("same text" in row.found_by for row in self.doubtful),
            "classes_with_too_few_rows": self.unjudged,
            "next": len(self.next_rows),
            "class_pairs": [
                {"first": pair.first, "second": pair.second, "confused": pair.confused, "share": round(pair.share, 4)}
                for pair in self.pairs
            ],
        }


def label_separator(section: CorpusSection) -> str:
    """What is written between the labels of a row; of a corpus with a column for each class, the default."""
    return "|" if isinstance(section.label, list) else section.label_separator


def review(
    folder: Path,
    *,
    settings: ReviewSettings | None = None,
    count: int = 100,
    force: bool = False,
    reporter: Reporter | None = None,
) -> Review:
    """Review a labelled run: RUN/review/labels.csv, next.csv with at most `count` rows, classes.csv, review.json, and
    review.html with all of them; the report's page has the most important ones.

    The answers behind it are kept in the folder, and are reused by the next review of the same corpus.
    """
    reporter = reporter or TerminalReporter()
    run = labelled_run(folder)
    recipe = load_recipe(folder, locate=False).recipe
    if not run.corpus.task.has_classes:
        advice = "The report of the run has the rows with the largest residuals: their scores may be wrong."
        raise NeedsClasses(what="a review of labels", name=str(folder), advice=advice)
    out = folder / FOLDER
    with open_run(folder, reporter=reporter, facts={}):  # for its lock: nothing in run.json changes
        refuse_edited(out, force=force)
        found = _found(run, recipe, settings or ReviewSettings(), out=out, count=count, reporter=reporter)
        content = content_of(found)
        _write(found, content, is_pair=run.corpus.is_pair)
        keep_review(folder, content, corpus=run.corpus.fingerprint)
        if (folder / "report" / "report.json").is_file() and not write_report_page(folder):
            reporter.note("  report.html is that of an earlier version, and has no review in it: see review.html")
    return found


def _found(
    run: LabelledRun, recipe: Recipe, settings: ReviewSettings, *, out: Path, count: int, reporter: Reporter
) -> Review:
    corpus = run.corpus
    separator = label_separator(recipe.corpus)
    naming = LabelNames(corpus.labels, separator, corpus.unknown_labels, corpus.is_multi_label)
    if corpus.is_multi_label and (unwritable := [name for name in corpus.labels if separator in name]):
        reason = f"its label {unwritable[0]!r} has a {separator!r}, which is written between the labels of a row"
        advice = "Give it another name with label_names in [corpus], and run the recipe again."
        raise PathUnusable(path=str(run.folder), reason=reason, advice=advice)
    answers = out_of_fold_answers(run, recipe, settings, folder=out, reporter=reporter)
    judged = judged_splits(run, recipe, answers)
    doubtful = doubtful_rows(corpus, judged, naming)
    return Review(
        folder=out,
        doubtful=doubtful,
        pairs=overlapping_classes(judged, corpus.labels),
        next_rows=next_rows(run, count=count, naming=naming, reporter=reporter) if count else [],
        judged=[_summary(split, doubtful) for split in judged],
        agreement=answers.facts["agreement"],
        unjudged=unjudged_classes(corpus),
        has_transfer="transfer" in run.splits,
    )


def _summary(split: JudgedSplit, doubtful: Iterable[DoubtfulRow]) -> dict[str, Any]:
    found = sum(row.split == split.split for row in doubtful)
    return {"split": split.split, "rows": len(split.rows), "doubtful": found, "by": split.by}


def _write(found: Review, content: Mapping[str, Any], *, is_pair: bool) -> None:
    def columns(names: Iterable[str]) -> list[str]:
        return [name for name in names if name != "pair" or is_pair]

    rows = ({**asdict(row), "new_label": "", "sure": round(row.sure, 4)} for row in found.doubtful)
    write_sheet(found.folder / LABELS, [*columns(LABEL_COLUMNS), "found_by", "reason"], rows)
    write_sheet(found.folder / CLASSES, [*CLASS_COLUMNS, "first_example", "second_example"], map(_pair, found.pairs))
    if found.next_rows:
        write_sheet(
            found.folder / NEXT, columns(NEXT_COLUMNS), ({**asdict(row), "label": ""} for row in found.next_rows)
        )
    else:
        (found.folder / NEXT).unlink(missing_ok=True)
    text = json.dumps(found.as_json(), indent=1, ensure_ascii=False)
    (found.folder / SUMMARY).write_text(f"{text}\n", encoding="utf-8")
    (found.folder / PAGE).write_text(page(content), encoding="utf-8")


def _pair(pair: ClassPair) -> dict[str, Any]:
    return {
        "first": pair.first,
        "second": pair.second,
        "confused": pair.confused,
        "share": round(pair.share, 4),
        "first_as_second": pair.forth.rows,
        "second_as_first": pair.back.rows,
        "first_example": pair.forth.example,
        "second_example": pair.back.example,
    }

"""`limbeck run texts.csv --classes … --endpoint …`: labels by a language model, and the recipe of a run on them."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.annotation.checking import (
    Checked,
    draw,
    plain_rows,
    read_sheet,
    refuse_ambiguous,
    texts_of_sheet,
    write_sheet,
)
from limbeck.annotation.first_students import Logits, Texts, is_known
from limbeck.annotation.labelling_model import LabellingModel, NewTask
from limbeck.annotation.recipes import refuse_other_recipe, section_in, written_recipe
from limbeck.annotation.rounds import Ask, AskedTexts, Choice, Judges, ask_in_rounds
from limbeck.annotation.texts import read_texts
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.run_folder import RUNS
from limbeck.drafting.draft_teacher import DraftedTeacher, encoder_at_hand
from limbeck.errors import DataError, TeacherError
from limbeck.labeling.index import TextIndex
from limbeck.pipeline.label import AskedOf
from limbeck.pipeline.teachers import LABEL_STORE
from limbeck.progress import Reporter, SilentReporter, TerminalReporter
from limbeck.recipe.corpus import Column
from limbeck.recipe.endpoint import EndpointTeacher
from limbeck.teacher.sentence_vectors import sentence_vectors

TRAIN, TEST, CHECK, FACTS = "train.csv", "test.csv", "check.csv", "labels.json"
MOST_CHECKED, CHECKED_SHARE = 200, 0.2  # texts for a person, and their share of few texts
MOST_VECTORS = 20_000  # texts that an encoder reads, of very many; the others are asked about after these, at random


@dataclass(frozen=True)
class WantedLabels:
    """What the user asks for."""

    classes: tuple[str, ...]
    url: str
    model: str
    key_from: str | None = None
    multi_label: bool = False
    text: Column | None = None
    pair: Column | None = None
    choice: Choice = "all"
    most_texts: int | None = None
    """Texts to ask about at most, besides those for a person to check."""
    encoder: str | None = None
    """A checkpoint that tells kinds of texts apart, for "spread" and "uncertain". Default: a small one at hand."""
    overrides: Sequence[str] = ()
    """Changes of keys, as for `--set`; those of `[teacher]` matter here."""

    @property
    def changes(self) -> list[str]:
        """For the run: an existing recipe may name another address."""
        key = [f"teacher.key_from={self.key_from}"] if self.key_from else []
        return [f"teacher.url={self.url}", *key, *self.overrides]


class NoAnswers(TeacherError):
    """The language model has answered for too few texts to go on."""

    def __init__(self, *, what: str) -> None:
        advice = (
            "Raise max_requests, max_tokens or max_cost in [teacher] (--set teacher.max_cost=5), or look at what it "
        )
        super().__init__(
            what, advice=f"{advice}said above; then run the same command again. Its answers so far are kept."
        )


@dataclass(frozen=True)
class Annotation:
    """The files, and what to print about them."""

    recipe: Path
    folder: Path
    summary: str


def annotate(data: Path, wanted: WantedLabels, *, runs: Path = RUNS, reporter: Reporter | None = None) -> Annotation:
    """Label the texts of a file, draw some for a person, and write the recipe of a run on them, beside each other in
    the current folder. What was asked before is not asked again; labels that a person has filled in are the test.
    """
    reporter, (recipe, folder) = reporter or TerminalReporter(), _places(data)
    section = _asked_teacher(recipe, wanted)
    rows = read_texts(data, text=wanted.text, pair=wanted.pair)
    folder.mkdir(exist_ok=True)
    sheet = folder / CHECK
    is_for_person = _is_for_person(rows, sheet, wanted.classes)
    for_person, others = (rows.select(np.flatnonzero(mask)) for mask in (is_for_person, ~is_for_person))
    write_sheet(sheet, for_person)
    checked = read_sheet(sheet, classes=wanted.classes, multi_label=wanted.multi_label, among=for_person)
    model = LabellingModel(section, _task(wanted, rows), runs / LABEL_STORE, reporter)
    apart = _Reading.of(wanted, rows, folder, reporter)
    ask, truth = _asking(model, rows, is_for_person, is_at_once=wanted.choice == "all" and wanted.most_texts is None)
    asked = ask_in_rounds(
        apart.read(others),
        choice=wanted.choice,
        most=wanted.most_texts,
        ask=ask,
        judges=Judges(
            apart.read(for_person),
            truth,
            several=wanted.multi_label,
            checked=None if checked is None else apart.read(checked.rows),
            labels=None if checked is None else (checked.labels - 0.5).astype(np.float32),
        ),
        reporter=reporter,
    )
    _refuse_no_answers(asked.logits, truth, sheet, is_checked=checked is not None)
    _write_rows(folder / TRAIN, others, model.shares(asked.logits), wanted.classes)
    test = checked or Checked(for_person, model.shares(truth))
    _write_rows(folder / TEST, test.rows, test.labels, wanted.classes)
    by = None if apart.encoder is None else Path(apart.encoder).name
    facts = {"encoder": by, **_facts(wanted, model, asked, checked, texts=len(rows))}
    (folder / FACTS).write_text(json.dumps(facts, indent=1, ensure_ascii=False), encoding="utf-8")
    written_recipe(recipe, folder, section, wanted, data=data)
    return Annotation(recipe, folder, _summary(facts, sheet, recipe, rows=len(for_person)))


def texts_to_ask(data: Path, wanted: WantedLabels, *, runs: Path = RUNS) -> AskedOf:
    """What `annotate` would ask about at most: its price, and files for batch interfaces. Nothing is sent."""
    recipe, folder = _places(data)
    section = _asked_teacher(recipe, wanted)
    rows = read_texts(data, text=wanted.text, pair=wanted.pair)
    is_for_person = _is_for_person(rows, folder / CHECK, wanted.classes)
    others = np.flatnonzero(~is_for_person)
    drawn = others[np.argsort(rows.keys[others, 0], kind="stable")[: wanted.most_texts]]
    asked = rows.select(np.sort(np.concatenate([np.flatnonzero(is_for_person), drawn])))
    model = LabellingModel(section, _task(wanted, rows), runs / LABEL_STORE, SilentReporter())
    return AskedOf(section, model.questions, TextIndex({"texts": asked}), model.store)


def _places(data: Path) -> tuple[Path, Path]:
    """The recipe and the folder of labels, beside each other in the current folder."""
    stem = data.name.partition(".")[0]
    return Path(f"{stem}.toml"), Path(f"{stem}-labels")


def _asked_teacher(recipe: Path, wanted: WantedLabels) -> EndpointTeacher:
    """`[teacher]`, for classes whose names can be columns and cells of files."""
    if reserved := {"text", "pair"} & set(wanted.classes):
        what = f"a class cannot be called '{min(reserved)}' here: that is the name of the column of the texts"
        raise DataError(what, advice="Give it another name.")
    refuse_ambiguous(wanted.classes, multi_label=wanted.multi_label)
    refuse_other_recipe(recipe, wanted)
    return section_in(recipe, wanted)


def _task(wanted: WantedLabels, rows: Rows) -> NewTask:
    return NewTask.of(wanted.classes, rows, multi_label=wanted.multi_label)


def _asking(
    model: LabellingModel, rows: Rows, is_for_person: npt.NDArray[np.bool_], *, is_at_once: bool
) -> tuple[Ask, npt.NDArray[np.float32]]:
    """How texts to learn from are asked about, by their places among these, and the answers to those for a person. All
    at once in one random order, so that both get their share where a limit is reached."""
    others = np.flatnonzero(~is_for_person)
    if is_at_once:
        answers = model.ask(rows)
        return lambda places: answers[others[places]], answers[is_for_person]
    return lambda places: model.ask(rows.select(others[places])), model.ask(rows.select(np.flatnonzero(is_for_person)))


def _refuse_no_answers(learned: Logits, judged: Logits, sheet: Path, *, is_checked: bool) -> None:
    """Raise NoAnswers where there is nothing to learn from, or to judge by."""
    if not is_known(learned).any():
        raise NoAnswers(what="no text to learn from has an answer")
    if not is_checked and not is_known(judged).any():
        raise NoAnswers(what=f"no text of '{sheet}' has an answer")


@dataclass(frozen=True)
class _Reading:
    """How texts are distinguished: by an encoder's vectors, else by their words."""

    encoder: str | None
    folder: Path
    reporter: Reporter

    @classmethod
    def of(cls, wanted: WantedLabels, rows: Rows, folder: Path, reporter: Reporter) -> "_Reading":
        """The encoder that is wanted, or one at hand; none where nothing is clustered."""
        if wanted.choice in ("all", "random"):
            return cls(None, folder, reporter)
        found = encoder_at_hand(rows.texts) if wanted.encoder is None else DraftedTeacher(wanted.encoder)
        if found.checkpoint is None:
            reporter.note(f"  clusters are by words: no encoder is at hand ({found.why_linear})")
        return cls(found.checkpoint, folder, reporter)

    def read(self, rows: Rows) -> Texts:
        """With the vectors; of very many texts those of some, drawn at random."""
        if self.encoder is None or not len(rows):
            return Texts(rows)
        drawn = np.sort(np.argsort(rows.keys[:, 0], kind="stable")[:MOST_VECTORS])
        found = sentence_vectors(self.encoder, rows.select(drawn), keep_in=self.folder, reporter=self.reporter)
        if len(drawn) == len(rows):
            return Texts(rows, found)
        vectors = np.full((len(rows), found.shape[1]), np.nan, dtype=np.float16)
        vectors[drawn] = found
        return Texts(rows, vectors)


def _is_for_person(rows: Rows, sheet: Path, classes: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Those of the existing sheet, else a draw."""
    found = np.zeros(len(rows), dtype=np.bool_)
    if kept := texts_of_sheet(sheet, classes=classes):
        found[:] = [plain in kept for plain in plain_rows(rows)]
    if not found.any():
        found[draw(rows, count=min(MOST_CHECKED, int(CHECKED_SHARE * len(rows))))] = True
    return found


def _write_rows(path: Path, rows: Rows, shares: npt.NDArray[np.float64], classes: Sequence[str]) -> None:
    """The rows that have labels, with a column for each class."""
    pairs, scratch = rows.pairs, path.with_name(f"{path.name}.partial")
    with scratch.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", *([] if pairs is None else ["pair"]), *classes])
        for place, text in enumerate(rows.texts):
            if not np.isnan(shares[place]).any():
                given = [f"{share:.6g}" for share in shares[place]]
                writer.writerow([text, *([] if pairs is None else [pairs[place]]), *given])
    scratch.replace(path)


def _facts(
    wanted: WantedLabels, model: LabellingModel, asked: AskedTexts, checked: Checked | None, *, texts: int
) -> dict[str, Any]:
    """For the report: whose labels these are, and what they took."""
    right: float | None = None
    if checked is not None:
        found = model.ask(checked.rows)
        known = ~np.isnan(found).any(axis=1)
        answers = np.eye(found.shape[1])[found.argmax(axis=1)] if not wanted.multi_label else found > 0
        is_right = (answers == (checked.labels > 0.5)).all(axis=1)
        right = float(is_right[known].mean()) if known.any() else None
    return {
        "model": model.section.shown_name,
        "texts": texts,
        "answered": int((~np.isnan(asked.logits).any(axis=1)).sum()),
        "choice": wanted.choice,
        "curve": asked.curve,
        "why_stopped": asked.why_stopped,
        "checked": 0 if checked is None else len(checked.rows),
        "right_of_checked": right,
        "spent": model.spent(),
    }


def _summary(facts: Mapping[str, Any], sheet: Path, recipe: Path, *, rows: int) -> str:
    spent = facts["spent"]
    cost = f", cost {spent['cost']:,.2f}" if "cost" in spent else ""
    lines = [
        f"{facts['model']} labelled {facts['answered']:,} of {facts['texts'] - rows:,} texts to learn from, beside "
        f"{rows:,} for a person: {spent['requests']:,} requests, {spent['tokens_in'] + spent['tokens_out']:,} "
        f"tokens{cost} ({facts['why_stopped']})"
    ]
    if facts["checked"]:
        right = "" if facts["right_of_checked"] is None else f"; the model has {facts['right_of_checked']:.1%} right"
        lines.append(f"  {facts['checked']:,} texts were labelled by a person: they are the test{right}")
    else:
        lines.append(
            f"  no person has checked a label: fill in the column label of {sheet} ({rows:,} texts, or the first of\n"
            "  them) and run the same command again; until then the report measures agreement with the model only"
        )
    return "\n".join([*lines, f"  {recipe} has the recipe\n"])

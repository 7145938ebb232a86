"""`minutes`: how much of a recipe fits into a time, by a short timing of teacher and student on this machine.

A recipe's own numbers are the plan at scale 1. Fewer minutes scale them down: rows and epochs of the teacher, copies,
epochs of the student, and at last the rows of the corpus; more minutes, if given by `--minutes`, scale them up, as far
as that can still help.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import fingerprint_of, read_small_json
from limbeck.artifacts.rows import Rows, joined
from limbeck.artifacts.run_folder import RunFolder
from limbeck.distillation.speed import rate_of_student
from limbeck.errors import LimbeckError
from limbeck.pipeline.keys import ExtraText, input_fingerprints
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import Ngrams, WordStudent
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.teacher.kinds import kind_of
from limbeck.teacher.linear import rate_of_fitting, rows_fitted
from limbeck.transfer.text_filter import teacher_chooses

PLAN = "plan.json"
SHARE = 0.85  # of the minutes that is planned: some rows are longer than those that were timed
# Reading, export, judging, timing and the report; for every student also its vocabulary, word vectors and timing.
OVERHEAD, OVERHEAD_OF_STUDENT = 15.0, 12.0
# TF-IDF and the student of n-grams are fitted to rows of train; all are read, counted, cut into n-grams and judged.
FITS, READINGS = 2.0, 0.5  # in times of one fit of TF-IDF, which depends on how long the texts are and on the classes
FEWEST_ROWS, FEWEST_OF_A_CLASS = 200, 20  # of the corpus, which is never cut to less
SCALES = [2 ** (step / 4) for step in range(8, -29, -1)]  # from 4 down to 1/128
WORTH_ROWS = 1.3  # times the shortest plan that a plan with more rows may take, if all take too long
FEWEST_STEPS = 600  # rows times epochs of the teacher: with fewer it would teach nothing
FEWEST_COPIES = 100  # a recipe with copies makes so many
SCALES_WITHOUT_TEACHER = SCALES[-9:]  # at which the teacher may lose what is left of it, too
TEACHERS_SHARE = 0.15  # of the time, in which it learns whatever else is cut
MOST_EPOCHS, FEWEST_STUDENT_EPOCHS, MOST_COPIES = 10, 2, 30
NGRAMS_COST = 0.3  # of a Bi-LSTM's time for a row
TIMED_ROWS = 192
PLANNED_KEYS = frozenset(
    {
        *(
            "teacher.epochs",
            "teacher.fine_tunings",
            "teacher.max_rows",
            "distillation.epochs",
            "distillation.baseline_epochs",
        ),
        *("augmentation.copies", "augmentation.rows", "transfer.rows", "transfer.pool"),
        *("labeling.train_rows", "corpus.max_rows"),
    }
)


class NothingToPlan(LimbeckError):
    """--minutes was given for a recipe whose time it cannot plan."""

    def __init__(self, *, what: str) -> None:
        super().__init__(
            "the time of this run cannot be planned",
            found=what,
            advice="Leave out `minutes`, and set epochs and copies in the recipe.",
        )


@dataclass(frozen=True)
class Rates:
    """Rows per second on this machine."""

    fine_tuning: float
    labelling: float
    student: float
    fitting: float  # of TF-IDF with a linear classifier


@dataclass(frozen=True)
class Amounts:
    """What a recipe asks for, or what a plan leaves of it."""

    train: int  # rows with labels, which students alone and n-grams learn from
    labelled: int  # of these, the ones that the teacher answers, and students are distilled from
    dev: int  # rows that the teacher answers after every epoch, and when it labels
    test: int  # rows that are labelled once
    transfer: int
    teacher_epochs: int
    teacher_rows: int
    copies: float  # of each row; below 1, of that share of the rows
    student_epochs: int
    students: float  # trained on all rows, counted by their time: a Bi-LSTM is 1
    baselines: float  # trained on the training rows, counted likewise
    fewest_rows: int = FEWEST_ROWS
    baseline_epochs: int = 0  # 0: as many as the student
    has_epochs: bool = True  # whether the teacher is trained in epochs, of which there may be more or fewer
    fine_tunings: int = 1  # of the teacher, which is their mean; more are never planned than the recipe has
    most_fitted: int | None = None  # rows that linear classifiers are fitted to at most; None: all of train

    def seconds(self, rates: Rates) -> float:
        """How long it takes."""
        read = self.labelled + self.train * self.copies + self.transfer
        epochs = self.teacher_epochs * self.fine_tunings
        fine_tuning = self.teacher_rows * epochs / rates.fine_tuning
        asked = self.teacher_rows * self.fine_tunings + read + self.dev * (1 + epochs) + self.test
        training = self.student_epochs * read * self.students
        training += (self.baseline_epochs or self.student_epochs) * self.train * self.baselines
        return (
            OVERHEAD
            + OVERHEAD_OF_STUDENT * (self.students + self.baselines)
            + self._fits() / rates.fitting
            + fine_tuning
            + asked / rates.labelling
            + training / rates.student
        )

    def _fits(self) -> float:
        """What is done with rows beside the networks, in rows that TF-IDF is fitted to."""
        fitted = self.train if self.most_fitted is None else min(self.train, self.most_fitted)
        return FITS * fitted + READINGS * (self.train + self.dev + self.test)

    def scaled(self, scale: float, *, least_steps: float = FEWEST_STEPS) -> "Amounts":
        """More or less of everything that can be changed, but `least_steps` of the teacher (rows times epochs times
        fine-tunings). Of the teacher fine-tunings beside the first go first, then whole epochs, then rows of a single
        one; of what it answers copies and other text, then rows of train."""
        one = self.teacher_rows * self.teacher_epochs
        asked = one * self.fine_tunings
        left = max(min(asked, least_steps), asked * (scale if self.has_epochs else 1))
        fine_tunings = min(self.fine_tunings, max(1, int(left / one + 1e-9)))
        steps = min(left / fine_tunings, one * max(1.0, scale))
        epochs = min(MOST_EPOCHS, max(1, int(steps / self.teacher_rows + 1e-9)))
        labelled, extra = self._read(scale)
        return replace(
            self,
            labelled=labelled,
            fine_tunings=fine_tunings,
            teacher_epochs=epochs,
            teacher_rows=max(2, min(self.teacher_rows, int(steps / epochs))),
            transfer=min(self.transfer, round(self.transfer * extra)),
            copies=_copies(self.copies * extra, most=max(MOST_COPIES, self.copies)),
            student_epochs=max(FEWEST_STUDENT_EPOCHS, round(self.student_epochs * math.sqrt(scale))),
            baseline_epochs=self._baseline_epochs(scale),
        )

    def _baseline_epochs(self, scale: float) -> int:
        """At least one where the recipe has a number of its own: 0 would leave that number in the plan."""
        return min(self.baseline_epochs, max(1, round(self.baseline_epochs * math.sqrt(min(1.0, scale)))))

    def _read(self, scale: float) -> tuple[int, float]:
        """How many rows of train the teacher answers, and the scale of copies and other text, so that it answers so
        much more or less in all."""
        others = self.train * self.copies + self.transfer
        if scale >= 1 or not self.has_epochs:
            return self.labelled, scale
        wanted = int(scale * (self.labelled + others))
        labelled = min(self.labelled, max(self.fewest_rows, wanted))
        return labelled, max(0, wanted - labelled) / others if others else 0.0

    def with_teacher_rows(self, rows: int) -> "Amounts":
        """With a teacher that learns from fewer rows, but not fewer than the corpus is ever cut to."""
        return replace(self, teacher_rows=min(self.teacher_rows, max(rows, self.fewest_rows)))

    def with_rows(self, train: int) -> "Amounts":
        """With fewer rows of the corpus, but not too few to learn from."""
        train = min(self.train, max(train, self.fewest_rows))
        fewer = replace(self, train=train, labelled=min(self.labelled, train))
        return replace(fewer, teacher_rows=min(self.teacher_rows, train))


def _copies(wanted: float, *, most: float) -> float:
    """Whole copies of each row, or one of a part of them."""
    return wanted if wanted < 1 else min(most, round(wanted))


def plan(asked: Amounts, rates: Rates, *, seconds: float, may_grow: bool = True) -> Amounts:
    """The largest amounts that fit into the time; if none do, the smallest of all.

    What the recipe asks for is not cut if it fits into the whole time, and planned larger only if there is time to
    spare, and it may grow.
    """
    if (seconds * SHARE < asked.seconds(rates) or not may_grow) and asked.seconds(rates) <= seconds:
        return asked
    seconds *= SHARE
    smallest = asked.scaled(SCALES[-1])
    scales = SCALES if may_grow else [scale for scale in SCALES if scale <= 1]
    # What the teacher does not learn nobody else can: it is cut less than what reads its answers.
    least_steps = max(FEWEST_STEPS, TEACHERS_SHARE * seconds * rates.fine_tuning)
    for amounts in _smaller_and_smaller(asked, smallest, scales=scales, least_steps=least_steps):
        if amounts.seconds(rates) <= seconds:
            return amounts
    # Too long in any case: rows are given up only where that saves much, as each of them would be missed.
    *_, least = last = list(_fewer_and_fewer_rows(smallest))
    return next(amounts for amounts in last if amounts.seconds(rates) <= WORTH_ROWS * least.seconds(rates))


def _smaller_and_smaller(
    asked: Amounts, smallest: Amounts, *, scales: Sequence[float], least_steps: float
) -> Iterator[Amounts]:
    """Rows of train are cut last: without the teacher's answers, a linear classifier still learns from their labels."""
    yield from (asked.scaled(scale, least_steps=least_steps) for scale in scales)
    yield from (asked.scaled(scale) for scale in SCALES_WITHOUT_TEACHER)
    yield from _fewer_and_fewer_rows(smallest)


def _fewer_and_fewer_rows(smallest: Amounts) -> Iterator[Amounts]:
    """First of those that the teacher learns from, then of the corpus."""
    for divisor in (2, 4, 8):
        yield smallest.with_teacher_rows(smallest.teacher_rows // divisor)
    least = smallest.with_teacher_rows(0)
    yield from (least.with_rows(least.train // divisor) for divisor in (1, 2, 4, 8, 16, 32, 64))
    yield least.with_rows(0)


def kept_plan(recipe: Recipe, run: RunFolder, *, minutes: float, may_grow: bool) -> list[str] | None:
    """The plan that the run has already, as `planned_overrides` gave it; None if it was made from something else.

    It is looked for before anything is read: the corpus and the text of the planned recipe may be there, cut, and must
    not be rebuilt whole to find out.
    """
    try:
        found = read_small_json(run.folder / PLAN)
        basis, words, overrides = found["basis"], str(found["words"]), list(map(str, found["overrides"]))
    except (OSError, ValueError, KeyError, TypeError):  # it is planned again
        return None
    if basis != _basis(recipe, minutes=minutes, may_grow=may_grow):
        return None
    run.reporter.note(f"  {words}")
    return overrides


def _basis(recipe: Recipe, *, minutes: float, may_grow: bool) -> str:
    """A fingerprint of all that a plan is made from, except the machine."""
    inputs = [input_fingerprints(recipe.corpus), input_fingerprints(recipe.transfer) if recipe.transfer else {}]
    return fingerprint_of(json.dumps([minutes, may_grow, recipe.model_dump(mode="json"), inputs]))


def planned_overrides(
    recipe: Recipe, corpus: Corpus, gathered: ExtraText, run: RunFolder, *, minutes: float, may_grow: bool = True
) -> list[str]:
    """The keys of the recipe that differ in the plan, as `--set` takes them; it is kept for `kept_plan`."""
    asked = amounts_of(recipe, corpus, transfer=sum(len(text.rows) for text in gathered.values()))
    rates = measured_rates(recipe, corpus, gathered)
    chosen = plan(asked, rates, seconds=60 * minutes, may_grow=may_grow)
    overrides = overrides_of(chosen, recipe, corpus, transfer=asked.transfer)
    words = in_words(chosen, rates, asked=asked, minutes=minutes)
    fits = chosen.seconds(rates) <= 60 * minutes
    run.reporter.note(f"  {words}", style="" if fits else "warning")
    facts = {"rates": asdict(rates), "amounts": asdict(chosen), "seconds": chosen.seconds(rates)}
    basis = _basis(recipe, minutes=minutes, may_grow=may_grow)
    run.write(PLAN, json.dumps({"basis": basis, "overrides": overrides, "words": words, **facts}, indent=1))
    return overrides


def amounts_of(recipe: Recipe, corpus: Corpus, *, transfer: int) -> Amounts:
    """What the recipe asks for as it is. Raises NothingToPlan."""
    teacher, student = recipe.teacher, recipe.student
    if not isinstance(student, WordStudent):
        raise NothingToPlan(what=f'its student is of kind = "{student.kind}", which does not read word vectors')
    train = len(corpus.splits["train"])
    seeds = len(recipe.distillation.seeds)
    return Amounts(
        train=train,
        labelled=min(recipe.labeling.train_rows or train, train),
        dev=len(corpus.splits["dev"]),
        test=len(corpus.splits.get("test", ())),
        transfer=transfer,
        teacher_epochs=teacher.epochs if isinstance(teacher, EncoderTeacher) else 1,
        teacher_rows=min((teacher.max_rows if isinstance(teacher, EncoderTeacher) else None) or train, train),
        has_epochs=isinstance(teacher, EncoderTeacher),
        fine_tunings=teacher.fine_tunings if isinstance(teacher, EncoderTeacher) else 1,
        copies=recipe.augmentation.copies if recipe.augmentation else 0,
        student_epochs=recipe.distillation.epochs,
        students=seeds * sum(NGRAMS_COST if isinstance(one, Ngrams) else 1.0 for one in (student, *recipe.candidates)),
        baselines=seeds if recipe.distillation.baseline else 0,  # that of n-grams is fitted, not trained
        fewest_rows=max(FEWEST_ROWS, FEWEST_OF_A_CLASS * len(corpus.labels)),
        baseline_epochs=recipe.distillation.baseline_epochs or 0,
        most_fitted=rows_fitted(corpus),
    )


def overrides_of(chosen: Amounts, recipe: Recipe, corpus: Corpus, *, transfer: int) -> list[str]:
    """The keys of the recipe for these amounts, of which `transfer` rows were gathered, as `--set` takes them."""
    train = len(corpus.splits["train"])
    # What the teacher chooses from is gathered, and labelled; without a choice, what is gathered is what is kept.
    kept = recipe.transfer.rows if recipe.transfer else None
    chooses = recipe.transfer is not None and teacher_chooses(recipe.transfer)
    cut_text = {}
    if kept is not None or not chooses:
        cut_text["transfer.rows"] = max(1, min(kept or transfer, chosen.transfer))
    if chooses and transfer > (kept or 0):
        cut_text["transfer.pool"] = max(1, chosen.transfer)
    of_epochs = {"teacher.epochs": chosen.teacher_epochs}
    several = recipe.teacher.fine_tunings if isinstance(recipe.teacher, EncoderTeacher) else 1
    of_epochs |= {"teacher.fine_tunings": chosen.fine_tunings} if chosen.fine_tunings < several else {}
    of_epochs |= {"teacher.max_rows": chosen.teacher_rows} if chosen.teacher_rows < chosen.train else {}
    keys = {
        **(of_epochs if chosen.has_epochs else {}),
        "distillation.epochs": chosen.student_epochs,
        **({"distillation.baseline_epochs": chosen.baseline_epochs} if chosen.baseline_epochs else {}),
        **(_keys_of_copies(chosen) if recipe.augmentation else {}),
        **(cut_text if chosen.transfer < transfer else {}),
        **({"labeling.train_rows": chosen.labelled} if chosen.labelled < chosen.train else {}),
        **({"corpus.max_rows": chosen.train} if chosen.train < train else {}),
    }
    return [f"{key}={value}" for key, value in keys.items()]


def _keys_of_copies(chosen: Amounts) -> dict[str, int]:
    if chosen.copies >= 1:
        return {"augmentation.copies": int(chosen.copies)}
    return {"augmentation.copies": 1, "augmentation.rows": max(FEWEST_COPIES, int(chosen.train * chosen.copies))}


def in_words(chosen: Amounts, rates: Rates, *, asked: Amounts, minutes: float) -> str:
    """The plan; a number that is not the recipe's is followed by that one in brackets."""

    def amount(name: str, of: str) -> str:
        own, before = getattr(chosen, name), getattr(asked, name)
        return f"{own:,} {of}" if own == before else f"{own:,} {of} (recipe: {before:,})"

    takes = chosen.seconds(rates) / 60
    fits = "" if takes <= minutes else ", which is too long, but less would teach nothing"
    texts = f", {amount('transfer', 'other texts')}" if asked.transfer else ""
    answered = [amount("labelled", "training rows")] if chosen.labelled < chosen.train else []
    answered += [_copies_in_words(chosen, asked)] if asked.copies else []
    answers = f"{' and '.join(answered)}, " if answered else ""
    epochs = f"{amount('teacher_epochs', 'epochs')} of " if asked.has_epochs else ""
    epochs = f"{amount('fine_tunings', 'fine-tunings')}, each {epochs}" if asked.fine_tunings > 1 else epochs
    return (
        f"plan for {minutes:g} minutes (about {takes:.1f}{fits}): {amount('train', 'training rows')}{texts}; "
        f"teacher: {epochs}{amount('teacher_rows', 'rows')} at "
        f"{rates.fine_tuning:,.0f}/s; {answers}labelled at {rates.labelling:,.0f}/s; "
        f"students: {amount('student_epochs', 'epochs')} at {rates.student:,.0f}/s"
    )


def _copies_in_words(chosen: Amounts, asked: Amounts) -> str:
    before = "" if chosen.copies == asked.copies else f" (recipe: {asked.copies:,} of each row)"
    if chosen.copies >= 1:
        return f"{chosen.copies:,} copies of each row{before.replace(' of each row', '')}"
    return f"{_keys_of_copies(chosen)['augmentation.rows']:,} copies{before}"


def measured_rates(recipe: Recipe, corpus: Corpus, gathered: ExtraText) -> Rates:
    """A few seconds of each kind of work, on rows that are spread over what it reads. Raises NothingToPlan."""
    assert isinstance(recipe.student, WordStudent), "amounts_of has refused others"
    rows = _spread(corpus.splits["train"], TIMED_ROWS)
    read = rows_like_those_read(recipe, corpus, gathered)
    of_teacher = kind_of(recipe.teacher).rates(recipe.teacher, corpus, rows, read)
    if of_teacher is None:
        raise NothingToPlan(what="its teacher is not one that is trained here")
    fine_tuning, labelling = of_teacher
    student = rate_of_student(recipe.distillation, student=recipe.student, corpus=corpus, rows=read)
    return Rates(fine_tuning=fine_tuning, labelling=labelling, student=student, fitting=rate_of_fitting(corpus))


def rows_like_those_read(recipe: Recipe, corpus: Corpus, gathered: ExtraText) -> Rows:
    """Some rows of train, also in place of their copies, and of the transfer text, in the proportion in which teacher
    and student read them: sentences of general text are often longer than the rows."""
    train = corpus.splits["train"]
    copies = recipe.augmentation.copies if recipe.augmentation else 0
    counts = [len(train) * (1 + copies), *(len(text.rows) for text in gathered.values())]
    parts = [train, *(text.rows for text in gathered.values())]
    return joined(
        [
            _spread(rows, max(1, round(TIMED_ROWS * count / sum(counts))))
            for rows, count in zip(parts, counts, strict=True)
            if len(rows)
        ]
    )


def _spread(rows: Rows, count: int) -> Rows:
    """So many of the rows, from the first to the last."""
    return rows.select(np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int))

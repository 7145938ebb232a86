"""What a search may change: the kinds of students, their sizes, their vocabulary, and how they are trained.

A setting is searched for every kind whose section has such a key. So a new kind of word student is searched as it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from limbeck.errors import RecipeInvalid
from limbeck.kinds import STUDENT_KINDS, resolved
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.load import parse_recipe
from limbeck.recipe.no_teacher import NoTeacher
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import AnyStudent, Ngrams, Transformer, WordStudent, source_kind
from limbeck.recipe.toml import apply_overrides, inline

if TYPE_CHECKING:
    from optuna import Trial as Asked

Value = float | int | str
Settings = dict[str, Value]  # by the names of the search

OWN = "recipe"  # the objective that the recipe has itself
WITH_LABELS, WITHOUT_LABELS = "with labels", "logits only"
SHARED = ("word_vectors", "max_length")  # keys of the recipe's student that students of other kinds get too
FULL_RANK = 0  # means a vector_rank that is not given


@dataclass(frozen=True)
class Whole:
    """A whole number."""

    key: str  # of [student], or of [student.vocabulary] after a dot
    low: int
    high: int
    log: bool = True

    def ask(self, trial: "Asked") -> int:
        """The value that the study wants to try."""
        return trial.suggest_int(self.key, self.low, self.high, log=self.log)


@dataclass(frozen=True)
class Real:
    """A number; small differences do not matter."""

    key: str
    low: float
    high: float
    log: bool = False

    def ask(self, trial: "Asked") -> float:
        """The value that the study wants to try."""
        return trial.suggest_float(self.key, self.low, self.high, log=self.log)


@dataclass(frozen=True)
class OneOf:
    """One of a few values."""

    key: str
    values: tuple[Value, ...]

    def ask(self, trial: "Asked") -> Value:
        """The value that the study wants to try."""
        return self.values[self.values.index(trial.suggest_categorical(self.key, self.values))]


Setting = Whole | Real | OneOf

RATE = "learning_rate_factor"  # of the learning rate that the kind has by itself
DROPOUT, RANK, OBJECTIVE, LABELS = "dropout", "vector_rank", "objective", "labels"
SIZES: tuple[Setting, ...] = (
    Whole("hidden_size", 32, 300),
    Whole("filters", 16, 200),
    OneOf("dense_size", (0, 50, 100, 200)),
)
WIDTH: Setting = Whole("embedding_size", 16, 300)
RANKS: Setting = OneOf(RANK, (FULL_RANK, 32, 64, 128))
WORDS: tuple[Setting, ...] = (
    Whole("vocabulary.max_size", 2_000, 50_000),
    Whole("vocabulary.min_count", 1, 5, log=False),
)
# How the two texts of a pair meet, and how wide they are compared.
PAIRING: tuple[Setting, ...] = (OneOf("pairing", ("siamese", "attend")), Whole("compare_size", 32, 200))
BUCKETS: Setting = Whole("buckets", 2**12, 2**18)
TRAINING: tuple[Setting, ...] = (Real(RATE, 0.25, 4.0, log=True), Real(DROPOUT, 0.0, 0.6))
TEMPERATURE: Setting = Real("temperature", 1.0, 4.0)
LABEL_WEIGHT: Setting = Real("label_weight", 0.0, 1.0)


@dataclass(frozen=True)
class Space:
    """The students that can be tried for a recipe."""

    recipe: Recipe

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds that are tried: those that read words, if the recipe allows them. To train many transformers takes
        too long, as do a hundred epochs on a graph."""
        tried = [row.kind for row in STUDENT_KINDS.values() if row.tokenizer == "words" and row.is_searched]
        return [kind for kind in tried if self._is_possible(kind)]

    def _is_possible(self, kind: str) -> bool:
        try:
            self.changed(self.overrides(self.defaults(kind)))
        except RecipeInvalid:
            return False
        return True

    def changed(self, overrides: Sequence[str]) -> Recipe:
        """The recipe with these overrides. Raises RecipeInvalid if they do not fit it."""
        raw = self.recipe.model_dump(mode="json", exclude_none=True)
        return parse_recipe(apply_overrides(raw, overrides, recipe="search"), recipe="search")

    @property
    def objectives(self) -> tuple[str, ...]:
        """Losses to try; the recipe's own are among them if students without layers can be trained on them."""
        distillation = self.recipe.distillation
        if isinstance(self.recipe.teacher, NoTeacher):
            return (OWN,)
        has_own = not distillation.stages and "layers" not in distillation.needs
        others = ("huber", "logit_mse") if self.recipe.corpus.is_score else ("soft_targets", "logit_mse")
        return (*([OWN] if has_own else []), *others)

    def ask(self, trial: "Asked") -> Settings:
        """The settings that the study wants to try next."""
        kind = str(trial.suggest_categorical("kind", self.kinds))
        found: Settings = {"kind": kind, **{setting.key: setting.ask(trial) for setting in self.settings(kind)}}
        found[OBJECTIVE] = OneOf(OBJECTIVE, self.objectives).ask(trial)
        if found[OBJECTIVE] == OWN:
            return found
        if found[OBJECTIVE] == "soft_targets":
            found[TEMPERATURE.key] = TEMPERATURE.ask(trial)
        found[LABELS] = OneOf(LABELS, (WITHOUT_LABELS, WITH_LABELS)).ask(trial)
        if found[LABELS] == WITH_LABELS:
            found[LABEL_WEIGHT.key] = LABEL_WEIGHT.ask(trial)
        return found

    def settings(self, kind: str) -> list[Setting]:
        """What is searched for this kind, besides its objective."""
        section = resolved(STUDENT_KINDS[kind].section)
        if issubclass(section, Ngrams):
            return [BUCKETS, *TRAINING]
        of_pairs = PAIRING if self.recipe.corpus.pair is not None else ()
        sizes = [setting for setting in (*SIZES, *of_pairs) if setting.key in section.model_fields]
        return [*sizes, *self._widths(kind), *WORDS, *TRAINING]

    def _widths(self, kind: str) -> Iterator[Setting]:
        """Word vectors from a file have a width of their own, and are narrowed by their rank, where it may have one."""
        student = self._parsed(self.base(kind))
        assert isinstance(student, WordStudent), "n-grams have no word vectors"
        if not any(source_kind(source) == "file" for source in student.vector_sources):
            yield WIDTH
            return
        narrow = student.model_copy(update={RANK: 1})
        if not student.static_channel and (self.recipe.corpus.pair is None or not narrow.why_not_pairs):
            yield RANKS

    def defaults(self, kind: str) -> Settings:
        """The settings that a student of this kind has if a recipe says nothing about them."""
        section = resolved(STUDENT_KINDS[kind].section).model_validate({"kind": kind})
        objective = OWN if OWN in self.objectives else "logit_mse"
        found: Settings = {"kind": kind, OBJECTIVE: objective}
        if objective != OWN:
            found[LABELS] = WITHOUT_LABELS
        for setting in self.settings(kind):
            found[setting.key] = _default(section, setting.key)
        return found

    def base(self, kind: str) -> dict[str, Any]:
        """The `[student]` table of this kind before anything is changed: the recipe's own, if it has one, else with
        what the recipe's student says about its text."""
        for student in (self.recipe.student, *self.recipe.candidates):
            if student.kind == kind:
                return {"kind": kind, **student.model_dump(mode="json", exclude_defaults=True, exclude={"kind"})}
        main = self.recipe.student
        given = main.model_dump(mode="json", exclude_defaults=True)
        section = resolved(STUDENT_KINDS[kind].section)
        found = {key: given[key] for key in SHARED if key in given and key in section.model_fields}
        if isinstance(main, WordStudent) and issubclass(section, WordStudent):
            found.update({key: given[key] for key in ("start", "vocabulary") if key in given})
        return {"kind": kind, **found}

    def student(self, settings: Mapping[str, Value], *, max_mb: float | None = None) -> dict[str, Any]:
        """The `[student]` table with these settings."""
        kind = str(settings["kind"])
        table = self.base(kind)
        for setting in self.settings(kind):
            self._put(table, setting.key, settings[setting.key])
        if max_mb is not None:
            table["max_size_mb"] = min(max_mb, table.get("max_size_mb", max_mb))
        return table

    def _put(self, table: dict[str, Any], key: str, value: Value) -> None:
        outer, _, inner = key.rpartition(".")
        if key == RATE:
            if "learning_rate" in resolved(STUDENT_KINDS[table["kind"]].section).model_fields:
                rate = getattr(self._parsed(table), "learning_rate", None)
                table["learning_rate"] = _short(float(value) * float(rate or 0))
        elif key == BUCKETS.key:
            table["vocabulary"] = {**table.get("vocabulary", {}), "max_size": value}
        elif outer:
            table[outer] = {**table.get(outer, {}), inner: value}
        elif key == RANK and value == FULL_RANK:
            table.pop(RANK, None)
        else:
            table[key] = _short(value) if isinstance(value, float) else value

    def _parsed(self, table: Mapping[str, Any]) -> AnyStudent:
        section = resolved(STUDENT_KINDS[table["kind"]].section)
        student: AnyStudent = section.model_validate(dict(table))
        return student

    def overrides(self, settings: Mapping[str, Value], *, max_mb: float | None = None) -> list[str]:
        """What `limbeck run --set` needs for the student with these settings."""
        return [
            f"student={inline(self.student(settings, max_mb=max_mb))}",
            *self.alone,
            *self._rate(settings),
            *self._losses(settings),
        ]

    def own(self, *, max_mb: float | None = None) -> list[str]:
        """The same for the recipe's own student. A transformer with all of its teacher's tokens has no size limit."""
        student = self.recipe.student
        is_fixed = isinstance(student, Transformer) and student.vocabulary.kind == "teacher"
        if max_mb is None or is_fixed:
            return self.alone
        return [f"student.max_size_mb={min(max_mb, student.max_size_mb or max_mb)!r}", *self.alone]

    @property
    def alone(self) -> list[str]:
        """One student and one seed."""
        seeds = self.recipe.distillation.seeds
        return [
            *(["candidates=[]"] if self.recipe.candidates else []),
            *([f"distillation.seeds=[{seeds[0]}]"] if len(seeds) > 1 else []),
        ]

    def _rate(self, settings: Mapping[str, Value]) -> list[str]:
        """Of kinds without a rate of their own; that of a recipe for a transformer is far too low for them."""
        section = resolved(STUDENT_KINDS[str(settings["kind"])].section)
        if "learning_rate" in section.model_fields:
            return []
        is_other = isinstance(self.recipe.student, Transformer)
        rate = (Distillation() if is_other else self.recipe.distillation).learning_rate
        return [f"distillation.learning_rate={_short(rate * float(settings[RATE]))!r}"]

    def _losses(self, settings: Mapping[str, Value]) -> list[str]:
        if settings[OBJECTIVE] == OWN:
            return []
        main: dict[str, Any] = {"kind": settings[OBJECTIVE]}
        if TEMPERATURE.key in settings:
            main["temperature"] = _short(float(settings[TEMPERATURE.key]))
        losses = [main]
        if settings.get(LABELS) == WITH_LABELS:
            losses.append({"kind": "hard_labels", "weight": _short(float(settings[LABEL_WEIGHT.key]))})
        has_features = self.recipe.features != "none"  # they stay in the labels, which would be made again without them
        return [
            *(["distillation.stages=[]"] if self.recipe.distillation.stages else []),
            f"distillation.losses={inline(losses)}",
            *([f"labeling.features={inline(self.recipe.features)}"] if has_features else []),
        ]


def _default(section: AnyStudent, key: str) -> Value:
    if key == RATE:
        return 1.0
    if key == BUCKETS.key:
        return section.vocabulary.max_size
    found: Any = section
    for step in key.split("."):
        found = getattr(found, step)
    return FULL_RANK if found is None else found


def _short(number: float) -> float:
    """With three significant digits: more of them only make commands long."""
    return float(f"{number:.3g}")

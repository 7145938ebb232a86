"""Refuses a teacher that is no better than chance: its student would only learn noise."""

from limbeck.artifacts.teacher_folder import TeacherFacts
from limbeck.errors import TeacherError
from limbeck.progress import Reporter
from limbeck.recipe.traits import NearChance
from limbeck.teacher.kinds import kind_of
from limbeck.training.skill import HOPELESS, MIN_OTHERS, NEAR_CHANCE, skill_at_best

SWAPPED = -0.3  # a skill below this is not chance: the teacher learned something, under other class names

UNEVEN = 0.1  # a smaller share of dev rows outside the most frequent class makes classes uneven
TRY_WEIGHTS = 'Nearly all rows are of one class: set class_weights = "balanced" in [corpus].'
TRY_APART = 'Small encoders may learn pairs better one text at a time: set pairs = "apart".'
SWAPPED_REASON = "it is wrong far more often than guessing would be: its classes look swapped"
REVERSED_REASON = "its scores fall where those of dev rise: one of the two may be reversed"


class TeacherNearChance(TeacherError):
    """A teacher that is hardly better on dev than chance, or worse."""

    def __init__(
        self,
        *,
        name: str,
        accuracy: float | None,
        skill: float,
        rows: int,
        reason: str,
        advice: str,
        table: str = "[teacher]",
    ) -> None:
        self.name, self.accuracy, self.skill = name, accuracy, skill
        found = f"{_in_words(accuracy, skill, rows=f' of {rows:,} dev rows')} (guessing: 0, perfect: 1)"
        super().__init__(
            f"the teacher {name} does hardly better on dev than guessing: a student would learn nothing from it",
            found=f"{found}\n{reason}",
            advice=f'{advice} Or set near_chance = "warn" in {table} to use it anyway.',
        )


def _in_words(accuracy: float | None, skill: float, *, rows: str) -> str:
    """Without an accuracy: of scores."""
    if accuracy is None:
        return f"Spearman's correlation {skill:.2f}{rows}"
    return f"{accuracy:.1%}{rows} are right; Cohen's kappa {skill:.2f}"


def refuse_guessing(
    facts: TeacherFacts,
    *,
    near_chance: NearChance,
    reporter: Reporter,
    table: str = "[teacher]",
    has_read_together: bool = False,
) -> None:
    """Raise, or with "warn" print a warning, if the teacher's skill on dev is that of random guessing, or worse.

    It is a warning too if that may be bad luck: if hardly any dev row is of another class than the most frequent one,
    or if so few rows cannot tell it from a teacher that has some skill.

    `table` is the recipe's table with `near_chance`. An encoder that was fine-tuned on pairs joined into one text
    (`has_read_together`) could read the two texts separately.
    """
    if facts.dev_skill is None or facts.dev_skill >= NEAR_CHANCE:
        return
    texts = kind_of(facts).advice
    reason, advice = texts.guessing, texts.when_guessing
    if facts.dev_skill < SWAPPED:
        reason = SWAPPED_REASON if facts.task.has_classes else REVERSED_REASON
    elif has_read_together:
        advice = f"{advice} {TRY_APART}"
        reason = f"{reason}, pairs that were read as one text"
    rows, others = facts.dev_rows or 0, facts.dev_others
    if others is not None and others < UNEVEN * rows:
        advice = f"{advice} {TRY_WEIGHTS}"
    if others is not None and others < MIN_OTHERS:
        few = f"only {others} of {rows:,} dev rows are not of the most frequent class"
        text = f"whether the teacher {facts.name} does better than guessing cannot be said: {few}; label more of them"
        reporter.note(f"  warning: {text}", style="warning")
        return
    at_best = skill_at_best(facts.dev_skill, accuracy=facts.dev_accuracy, rows=rows)
    has_one_answer = facts.dev_skill == 0  # a kappa of exactly 0: the same for all rows, however many these are
    if near_chance == "stop" and (has_one_answer or at_best < HOPELESS):
        raise TeacherNearChance(
            name=facts.name,
            accuracy=facts.dev_accuracy,
            skill=facts.dev_skill,
            rows=rows,
            reason=reason,
            advice=advice,
            table=table,
        )
    numbers = f"{facts.on_dev()}, Cohen's kappa {facts.dev_skill:.2f}" if facts.task.has_classes else facts.on_dev()
    reporter.note(
        f"  warning: the teacher {facts.name} does hardly better than guessing ({numbers}); {reason}", style="warning"
    )

"""Which trial is chosen, and what is on the front."""

from dataclasses import replace
from pathlib import Path

from limbeck.search import show
from limbeck.search.choice import CostLimits, Trial, chosen, fits, front, nearest


def trial(name: str, score: float, us: float, mb: float = 1.0) -> Trial:
    return Trial(folder=name, state="finished", origin="sampled", kind="bag", dev_score=score, us=us, mb=mb)


FAILED = Trial(folder="failed", state="failed", origin="sampled", reason="no")


def test_the_best_score_within_the_limits_is_chosen() -> None:
    trials = [trial("slow", 0.95, 200), trial("large", 0.94, 20, 9), trial("good", 0.9, 90, 5), FAILED]

    best = chosen(trials, CostLimits(max_us=100, max_mb=5))

    assert best is not None
    assert best.folder == "good"
    assert fits(best, CostLimits(max_us=90, max_mb=5))  # a limit may be reached
    assert chosen(trials, CostLimits()) == trials[0]


def test_of_equal_scores_the_faster_one_is_chosen_and_then_the_smaller_one() -> None:
    trials = [trial("slower", 0.9, 50), trial("faster", 0.9, 40, 2), trial("smaller", 0.9, 40, 1)]

    best = chosen(trials, CostLimits(max_us=100))

    assert best is not None
    assert best.folder == "smaller"


def test_without_a_trial_within_the_limits_the_nearest_is_named() -> None:
    trials = [trial("a", 0.95, 200, 1), trial("b", 0.9, 130, 6), trial("c", 0.8, 110, 20), FAILED]
    limits = CostLimits(max_us=100, max_mb=5)

    near = nearest(trials, limits)

    assert chosen(trials, limits) is None
    assert near is not None
    assert near.folder == "b"
    assert nearest([FAILED], limits) is None


def test_the_front_has_no_trial_that_another_beats() -> None:
    trials = [trial("b", 0.9, 40), trial("worse", 0.85, 50), trial("a", 0.8, 10), trial("tie", 0.9, 60), FAILED]

    assert [one.folder for one in front(trials)] == ["a", "b"]


def test_a_trial_survives_the_journal() -> None:
    for one in (trial("a", 0.9, 1.5), FAILED):
        assert Trial.from_json(one.as_json()) == one
    assert FAILED.as_json()["us"] is None


def test_the_command_can_be_pasted_into_a_shell() -> None:
    one = Trial(
        folder="a",
        state="finished",
        origin="sampled",
        overrides=['student={kind = "bag"}', "candidates=[]"],
        kind="bag",
    )

    changes = ["corpus.max_rows=9", "student.hidden_size=8"]  # the second one is void: the table is replaced
    written = show.command("my recipe.toml", one, changes=changes, out=Path("runs/x"))

    assert written == (
        "limbeck run 'my recipe.toml' --out runs/x --set corpus.max_rows=9 --set 'student={kind = \"bag\"}' "
        "--set 'candidates=[]'"
    )


def test_a_student_that_only_guesses_is_said_to() -> None:
    one = replace(trial("a", 0.5, 10), near_chance="it has one answer for all rows")

    assert show.numbers(one) == "dev accuracy 50.00 % (hardly better than guessing), 10.0 µs, 1.00 MB"


def test_the_table_marks_the_chosen_one_and_those_above_the_limits() -> None:
    trials, limits = [trial("trial-0001", 0.8, 10), trial("trial-0002", 0.9, 400)], CostLimits(max_us=100)

    grid = show.front_grid(trials, chosen=trials[0], limits=limits)

    headings = [field.heading for field in grid.fields]
    cells = [dict(zip(headings, line.cells, strict=True)) for line in grid.lines]
    assert [(row[""], row["trial"], row["within"]) for row in cells] == [("▸", "0001", "yes"), ("", "0002", "no")]


def test_the_picture_has_every_finished_trial_and_the_limit() -> None:
    trials = [trial("trial-0001", 0.8, 10), trial("trial-0002", 0.9, 400), FAILED]

    drawn = show.picture(trials, chosen=trials[0], limits=CostLimits(max_us=100, max_mb=0.5))

    assert 'id="search-limit"' in drawn
    assert 'id="search-front"' in drawn
    assert ">bag, 1.00 MB<" in drawn
    assert show.picture([FAILED], chosen=None, limits=CostLimits()).startswith("<svg")

"""Which texts a model is asked about, and when it is asked no more; and what a person fills in."""

from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import pytest

from limbeck.annotation.checking import (
    CheckUnreadable,
    draw,
    plain_rows,
    read_sheet,
    refuse_ambiguous,
    texts_of_sheet,
    write_sheet,
)
from limbeck.annotation.first_students import Texts, first_students, share_right
from limbeck.annotation.rounds import FIRST_ROUND, Choice, Judges, ask_in_rounds
from limbeck.annotation.texts import TextUnclear, read_texts
from limbeck.artifacts.rows import Rows
from limbeck.errors import DataError
from limbeck.progress import SilentReporter
from limbeck.teacher.answer_values import logits_of

WORDS = ["film scene", "road city", "letter garden", "music night"]


def texts(count: int, *, hard: int) -> Rows:
    """Texts of one topic each, of which some also have a rare word that decides."""
    found = [f"{WORDS[n % 4]} number {n} {'rare' if n < hard else 'good' if n % 2 else 'bad'}" for n in range(count)]
    return Rows.of(ids=[str(n) for n in range(count)], texts=found)


def answers(rows: Rows) -> Any:
    shares = [[0.1, 0.9] if "good" in text or "rare" in text else [0.9, 0.1] for text in rows.texts]
    return logits_of(np.array(shares, dtype=np.float32), least=1e-3, multi_label=False)


def asked(choice: Choice, *, most: int | None = None, rows: Rows | None = None, **judging: Any) -> Any:
    given, judge = rows or texts(700, hard=20), texts(60, hard=2)
    sizes: list[int] = []

    def ask(places: Any) -> Any:
        sizes.append(len(places))
        return answers(given.select(places))

    judges = Judges(Texts(judge), answers(judge), several=False, **judging)
    reporter = SilentReporter()
    found = ask_in_rounds(Texts(given), choice=choice, most=most, ask=ask, judges=judges, reporter=reporter)
    return found, sizes


def test_all_are_asked_at_once_and_others_in_rounds_that_double_until_nothing_is_gained() -> None:
    found, sizes = asked("all")
    assert sizes == [700]
    assert [point["asked"] for point in found.curve] == [100, 200, 400, 700]  # as if in rounds
    assert found.curve[-1]["accuracy"] == 1.0
    for choice in [cast(Choice, name) for name in get_args(Choice) if name != "all"]:
        found, sizes = asked(choice)
        assert sizes[:3] == [FIRST_ROUND, 100, 200], choice
        assert [point["asked"] for point in found.curve] == np.cumsum(sizes).tolist(), choice
        if sum(sizes) == 400:  # the third round is the second without gain
            assert "did not get better" in found.why_stopped, choice
    assert sum(asked("spread")[1]) == 400


def test_no_more_are_asked_than_wanted_and_the_same_ones_again() -> None:
    found, sizes = asked("random", most=130)
    again, _ = asked("random", most=130)

    assert sizes == [100, 30]
    assert (np.isnan(found.logits) == np.isnan(again.logits)).all()
    assert int((~np.isnan(found.logits[:, 0])).sum()) == 130


def test_uncertain_texts_are_asked_before_sure_ones() -> None:
    rows = texts(700, hard=60)
    _, random_sizes = asked("random", most=200, rows=rows)
    uncertain, _ = asked("uncertain", most=200, rows=rows)
    drawn, _ = asked("random", most=200, rows=rows)

    rare = np.array(["rare" in text for text in rows.texts])
    assert random_sizes == [100, 100]
    assert (rare & ~np.isnan(uncertain.logits[:, 0])).sum() > (rare & ~np.isnan(drawn.logits[:, 0])).sum()


def test_what_a_person_has_labelled_is_a_measure_of_its_own() -> None:
    checked = texts(40, hard=1)
    wrong = -answers(checked)  # the person disagrees with the model everywhere

    found, _ = asked("random", most=200, checked=Texts(checked), labels=wrong)

    assert [point["right"] for point in found.curve] == [
        pytest.approx(1 - point["accuracy"], abs=0.1) for point in found.curve
    ]
    assert "right" not in asked("random", most=200)[0].curve[0]


def test_texts_are_spread_over_the_clusters_of_their_vectors() -> None:
    """Words say nothing here: a hundredth of the texts is of a kind of its own, by its vector alone."""
    rows = Rows.of(ids=[str(n) for n in range(2000)], texts=[f"text {n}" for n in range(2000)])
    vectors = np.zeros((2000, 4), dtype=np.float16)
    vectors[:, 0], vectors[::100, :2] = 1, [0, 1]
    vectors += np.random.default_rng(0).normal(scale=0.02, size=vectors.shape).astype(np.float16)
    vectors[1::100] = np.nan  # as of very many texts
    judge = Judges(Texts(rows), np.tile([1.0, -1.0], (2000, 1)).astype(np.float32), several=False)
    found = {}
    for choice in ("random", "spread"):
        reporter, given = SilentReporter(), Texts(rows, vectors)
        ask = lambda places: judge.truth[places]  # noqa: E731
        known = ask_in_rounds(given, choice=choice, most=100, ask=ask, judges=judge, reporter=reporter).logits[:, 0]
        found[choice] = np.flatnonzero(~np.isnan(known))

    assert (found["spread"] % 100 != 1).all()  # those without a vector come last
    rare = {choice: int((places % 100 == 0).sum()) for choice, places in found.items()}
    assert rare["random"] <= 3
    assert rare["spread"] >= 2 * rare["random"] + 1


def test_a_first_student_of_vectors_learns_what_words_do_not_say() -> None:
    dice, words = np.random.default_rng(0), Rows.of(ids=[str(n) for n in range(400)], texts=["same"] * 400)
    side = dice.choice([-1, 1], size=400)
    vectors = np.stack([side, dice.normal(size=400)], axis=1).astype(np.float16)
    vectors[:5] = np.nan
    one = np.stack([side, -side], axis=1).astype(np.float32)
    several = np.stack([side, np.ones(400)], axis=1).astype(np.float32)
    for truth, is_several in ((one, False), (several, True)):
        known = truth.copy()
        known[200:] = np.nan
        given = Texts(words, vectors)

        by_words, by_vectors = first_students(given, known, several=is_several)

        assert (by_words.name, by_vectors.name) == ("words", "vectors")
        assert share_right(by_vectors, given, truth, several=is_several) == 1.0
        assert (share_right(by_words, given, truth, several=is_several) or 0) < 0.7
        assert np.isnan(by_vectors.margins(given)[:5]).all()


def test_texts_without_answers_end_the_asking() -> None:
    given = texts(300, hard=0)

    found = ask_in_rounds(
        Texts(given),
        choice="random",
        most=None,
        ask=lambda places: np.full((len(places), 2), np.nan, dtype=np.float32),
        judges=Judges(Texts(given), answers(given), several=False),
        reporter=SilentReporter(),
    )

    assert found.curve == []
    assert found.why_stopped == "no text got an answer"


@pytest.mark.parametrize("choice", ["all", "random"])
def test_a_text_without_an_answer_is_asked_about_once(choice: Choice) -> None:
    given, asked = texts(300, hard=0), list[int]()

    def ask(places: Any) -> Any:
        asked.extend(places.tolist())
        found = answers(given.select(places))
        found[places % 3 == 0] = np.nan  # texts that the server refuses
        return found

    found = ask_in_rounds(
        Texts(given),
        choice=choice,
        most=None,
        ask=ask,
        judges=Judges(Texts(given.select([])), answers(given)[:0], several=False),
        reporter=SilentReporter(),
    )

    assert sorted(asked) == list(range(300))
    assert found.curve[-1]["asked"] == 200
    assert found.why_stopped == "a limit was reached, or some texts got no answer"


def test_a_sheet_that_was_filled_in_is_kept_and_read(tmp_path: Path) -> None:
    rows, sheet = texts(30, hard=0), tmp_path / "check.csv"
    part = rows.select(draw(rows, count=5))
    write_sheet(sheet, part)
    assert read_sheet(sheet, classes=["a", "b"], multi_label=False) is None
    lines = sheet.read_text(encoding="utf-8").splitlines()
    sheet.write_text("\n".join([lines[0], f"{lines[1]}B", f"{lines[2]}a", *lines[3:]]), encoding="utf-8")

    write_sheet(sheet, rows)
    checked = read_sheet(sheet, classes=["a", "b"], multi_label=False)

    assert checked is not None
    assert checked.rows.texts == part.texts[:2]
    assert checked.labels.tolist() == [[0, 1], [1, 0]]
    assert texts_of_sheet(sheet, classes=["a", "b"]) == set(plain_rows(part))
    several = read_sheet(sheet, classes=["a", "b"], multi_label=True)
    assert several is not None
    sheet.write_text("text,label\none,a|b\ntwo,none\nthree,\n", encoding="utf-8")
    several = read_sheet(sheet, classes=["a", "b"], multi_label=True)
    assert several is not None
    assert several.labels.tolist() == [[1, 1], [0, 0]]
    with pytest.raises(CheckUnreadable, match=r"'a\|b' of 'one'"):
        read_sheet(sheet, classes=["a", "b"], multi_label=False)


def test_a_sheet_is_read_as_a_spreadsheet_has_saved_it(tmp_path: Path) -> None:
    """Semicolons, another encoding, names of columns with capitals, other line ends inside cells."""
    written = ["schöne Grüße", "erste Zeile\r\nzweite Zeile", "ein „Zitat“; mit Strichpunkt", "übrig"]
    rows, sheet = Rows.of(ids=list("abcd"), texts=written), tmp_path / "check.csv"
    cells = ["schöne Grüße;Ja", '"erste Zeile\nzweite Zeile";nein', '"ein „Zitat“; mit Strichpunkt";ja', "übrig;"]
    sheet.write_bytes("\r\n".join(["Text;Label", *cells, ""]).encode("cp1252"))

    checked = read_sheet(sheet, classes=["ja", "nein"], multi_label=False, among=rows)

    assert checked is not None
    assert checked.rows.texts == written[:3]
    assert checked.labels.argmax(axis=1).tolist() == [0, 1, 0]
    assert texts_of_sheet(sheet, classes=["ja", "nein"]) == set(plain_rows(rows))
    sheet.write_text("text;class\none;ja\ntwo;nein\n", encoding="utf-8")
    with pytest.raises(CheckUnreadable, match="there is no column label"):
        read_sheet(sheet, classes=["ja", "nein"], multi_label=False)


@pytest.mark.parametrize(
    ("classes", "multi_label", "found"),
    [(["a", "A"], False, "'A' beside 'a'"), (["a", "None"], True, "no class at all"), (["a|b"], True, "has a")],
)
def test_classes_that_a_cell_cannot_tell_apart_are_refused(classes: list[str], multi_label: bool, found: str) -> None:
    refuse_ambiguous(["a", "none", "a|b"], multi_label=False)

    with pytest.raises(DataError, match=found):
        refuse_ambiguous(classes, multi_label=multi_label)


def test_texts_are_found_in_tables_and_lines_each_once(tmp_path: Path) -> None:
    lines = [f"some text number {number}" for number in range(30)]
    (tmp_path / "t.txt").write_text("\n".join([*lines, lines[0]]), encoding="utf-8")
    (tmp_path / "t.csv").write_text("\n".join(["id,review", *(f"{n},{t}" for n, t in enumerate(lines))]))
    (tmp_path / "two.csv").write_text("\n".join(["one,other", *(f"{t} x,y {t}" for t in lines)]))

    assert read_texts(tmp_path / "t.txt").texts == lines
    assert read_texts(tmp_path / "t.csv").texts == lines
    with pytest.raises(TextUnclear, match="--text"):
        read_texts(tmp_path / "two.csv")
    paired = read_texts(tmp_path / "two.csv", text="one", pair="other")
    assert paired.pairs is not None
    assert paired.pairs[0] == f"y {lines[0]}"

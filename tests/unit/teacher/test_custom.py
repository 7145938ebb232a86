"""A function of the user's own as the teacher: built once, asked in order and in bounded calls, checked, kept."""

import json
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.errors import RecipeInvalid
from limbeck.labeling.asking import asked_rows
from limbeck.labeling.source import TeacherSource
from limbeck.progress import SilentReporter
from limbeck.recipe.calls import ALLOWED, CustomCodeNotAllowed
from limbeck.recipe.decisions import settings
from limbeck.recipe.labeling import Labeling
from limbeck.recipe.teacher import AnyTeacher, CustomTeacher, EnsembleTeacher
from limbeck.teacher.custom import CustomTeacherUnusable, custom_inputs, ready_custom
from limbeck.teacher.preparation import BeforeRun
from limbeck.teacher.run import member_names, opened, prepare_teacher, refuse_unusable

KEY = Key(section={}, inputs={})
MODULE = """
import numpy as np

NUMBER = 3
CALLS = []
FAILING = []


def words(labels, *, good="good", shift=0.0):
    def answer(rows):
        CALLS.append(list(rows))
        if FAILING and len(CALLS) >= FAILING[0]:
            raise TimeoutError("the service is away\\nsecond line")
        texts = [row if isinstance(row, str) else " ".join(row) for row in rows]
        is_good = np.array([good in text for text in texts])
        found = np.where(is_good[:, None], [0.1, 0.9], [0.9, 0.1])
        return found[:, [["negative", "positive"].index(label) for label in labels]] + shift
    return answer


class Box:
    @staticmethod
    def lengths(labels):
        return lambda texts: [[float(len(text)), 0.0] for text in texts]


def returning(labels, *, what):
    made = {
        "flat": lambda rows: np.zeros(len(rows)),
        "fewer": lambda rows: np.full((len(rows) - 1, 2), 0.5),
        "wide": lambda rows: np.full((len(rows), 3), 1 / 3),
        "nan": lambda rows: np.where(np.arange(len(rows))[:, None] == 1, np.nan, 0.5) * np.ones((1, 2)),
        "logits": lambda rows: np.tile([-3.0, 4.0], (len(rows), 1)),
        "names": lambda rows: ["positive" for _ in rows],
        "nothing": lambda rows: None,
        "ragged": lambda rows: [[0.5, 0.5] if number else [1.0] for number, _ in enumerate(rows)],
    }
    return made[what]


def not_a_function(labels):
    return 7


def failing(labels):
    raise FileNotFoundError("no model.joblib here")
"""


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`own_teachers`, importable for the time of a test."""
    (tmp_path / "own_teachers.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import own_teachers  # type: ignore[import-not-found]  # written above

    yield own_teachers
    sys.modules.pop("own_teachers", None)


def custom(function: str = "words", **keys: Any) -> CustomTeacher:
    return CustomTeacher.model_validate({"kind": "custom", "call": f"own_teachers:{function}", **keys})


@pytest.fixture
def prepare(toy_corpus: Corpus, tmp_path: Path) -> Callable[..., TeacherFolder]:
    """prepare(section): the teacher of the toy rows, in which "gorgeous" and the like are positive."""

    def prepare(section: AnyTeacher, *, out: str = "teacher", **inputs: Any) -> TeacherFolder:
        return prepare_teacher(
            section, corpus=toy_corpus, out=tmp_path / out, key=KEY, reporter=SilentReporter(), **inputs
        )

    return prepare


def test_answers_are_in_the_order_of_texts_and_labels(prepare: Callable[..., TeacherFolder]) -> None:
    teacher = opened(prepare(custom(texts_per_call=2, options={"good": "fine"})))

    logits = teacher.logits(["a fine one", "a dull one", "fine", "dull", "fine again"], None)

    assert logits.dtype == np.float32
    assert (logits.argmax(axis=1) == [1, 0, 1, 0, 1]).all()
    powers = np.exp(logits)
    expected = [[0.1, 0.9], [0.9, 0.1], [0.1, 0.9], [0.9, 0.1], [0.1, 0.9]]
    np.testing.assert_allclose(powers / powers.sum(axis=1, keepdims=True), expected, atol=1e-6)


def test_it_gets_a_bounded_number_of_texts_at_a_time(own: Any, prepare: Callable[..., TeacherFolder]) -> None:
    teacher = opened(prepare(custom(texts_per_call=3)))
    own.CALLS.clear()

    teacher.logits([f"text {number}" for number in range(7)], None)

    assert [len(call) for call in own.CALLS] == [3, 3, 1]
    assert opened_with_no_texts(teacher) == (0, 2)


def opened_with_no_texts(teacher: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = teacher.logits([], None).shape
    return shape


def test_pairs_are_given_as_pairs(own: Any, prepare: Callable[..., TeacherFolder]) -> None:
    teacher = opened(prepare(custom(options={"good": "two"})))

    logits = teacher.logits(["one", "one"], ["two", "three"])

    assert own.CALLS[-1] == [("one", "two"), ("one", "three")]
    assert (logits.argmax(axis=1) == [1, 0]).all()


def test_logits_are_taken_as_they_are_and_a_list_will_do(prepare: Callable[..., TeacherFolder]) -> None:
    teacher = opened(prepare(custom("Box.lengths", answers="logits")))

    assert teacher.logits(["abc", ""], None).tolist() == [[3, 0], [0, 0]]


def test_it_is_judged_on_dev_and_described(prepare: Callable[..., TeacherFolder], toy_corpus: Corpus) -> None:
    facts = prepare(custom(name="my api")).facts

    assert (facts.kind, facts.name, facts.parameters) == ("custom", "my api", None)
    assert facts.dev_rows == len(toy_corpus.splits["dev"])
    assert facts.dev_accuracy is not None
    assert prepare(custom(), out="unnamed").facts.name == "words"


@pytest.mark.parametrize(
    ("what", "found"),
    [
        ("flat", r"shape \(2,\) for 2 texts"),
        ("fewer", r"shape \(1, 2\) for 2 texts"),
        ("wide", r"shape \(2, 3\) for 2 texts"),
        ("nan", "row 1 of 2 is not finite: nan, nan"),
        ("logits", "row 0 of 2 is not a row of probabilities: -3, 4"),
        ("names", "returned list, which is not an array of numbers: ValueError"),
        ("nothing", r"shape \(\) for 2 texts|NoneType"),
        ("ragged", "returned list, which is not an array of numbers: ValueError"),
    ],
)
def test_an_answer_that_is_not_one_is_refused_with_what_came_back_and_what_is_wanted(
    what: str, found: str, toy_corpus: Corpus, tmp_path: Path
) -> None:
    look = BeforeRun(toy_corpus, tmp_path / "scratch", Path, SilentReporter())
    teacher = ready_custom(custom("returning", options={"what": what}), look).answering

    with pytest.raises(CustomTeacherUnusable, match=found) as raised:
        teacher.logits(["one", "two"], None)

    assert "'own_teachers:returning'" in str(raised.value)
    assert "an array of shape (2, 2) of probabilities" in str(raised.value)
    assert "negative, positive" in str(raised.value)


def test_an_error_inside_it_is_reported_by_its_first_line(own: Any, prepare: Callable[..., TeacherFolder]) -> None:
    own.FAILING.append(1)

    with pytest.raises(CustomTeacherUnusable, match="TimeoutError: the service is away") as raised:
        prepare(custom())

    assert "second line" not in str(raised.value)
    line = next(at for at, text in enumerate(MODULE.splitlines(), start=1) if "TimeoutError" in text)
    assert f"own_teachers.py, line {line}, in answer)" in str(raised.value)
    assert isinstance(raised.value.__cause__, TimeoutError)
    assert "run the same command again" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("not_a_function", "int, which is not a function"),
        ("failing", r"FileNotFoundError: no model.joblib here \(.*own_teachers.py, line \d+, in failing\)"),
    ],
)
def test_one_that_cannot_be_built_is_refused(name: str, reason: str, prepare: Callable[..., TeacherFolder]) -> None:
    with pytest.raises(CustomTeacherUnusable, match=reason):
        prepare(custom(name))


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"call": "no_such_module:words"}, "ModuleNotFoundError: No module named 'no_such_module'"),
        ({"call": "own_teachers:wrods"}, "no attribute 'wrods'"),
        ({"call": "own_teachers:NUMBER"}, "not a function but a int"),
        ({"options": {"goood": "x"}}, "unexpected keyword argument 'goood'"),
    ],
)
def test_what_cannot_be_called_is_a_recipe_error_with_file_and_key(keys: dict[str, Any], problem: str) -> None:
    bad = custom(**keys)

    with pytest.raises(RecipeInvalid, match=problem) as raised:
        refuse_unusable(bad, recipe="toy.toml")
    assert str(raised.value).startswith("toy.toml: 1 problem")
    assert "  teacher.call: " in str(raised.value)
    assert ("PYTHONPATH" in str(raised.value)) is ("ModuleNotFoundError" in problem)

    several = EnsembleTeacher(kind="ensemble", members=[custom(), bad, bad])
    with pytest.raises(RecipeInvalid) as raised:
        refuse_unusable(several, recipe="toy.toml")
    assert [line.partition(": ")[0] for line in raised.value.problems] == [
        *("teacher.members.1.call", "teacher.members.2.call")
    ]


def test_a_sound_one_has_no_problems() -> None:
    refuse_unusable(EnsembleTeacher(kind="ensemble", members=[custom(), custom("Box.lengths")]), recipe="toy.toml")


def test_call_options_and_source_are_another_teacher_and_other_keys_are_not(
    prepare: Callable[..., TeacherFolder], tmp_path: Path
) -> None:
    first = prepare(custom(), out="first").fingerprint

    assert prepare(custom(near_chance="warn", texts_per_call=5, name="x"), out="same").fingerprint == first
    assert prepare(custom(options={"shift": 0.0}), out="options").fingerprint != first
    before = custom_inputs(custom())
    (tmp_path / "own_teachers.py").write_text(f"{MODULE}\n# another one\n", encoding="utf-8")
    assert custom_inputs(custom()) != before
    assert list(before) == ["source own_teachers.py"]
    assert prepare(custom(), out="source").fingerprint != first
    assert "near_chance" not in settings(custom(), "teacher")


def test_what_was_answered_before_a_failure_is_not_asked_again(
    own: Any, prepare: Callable[..., TeacherFolder], toy_corpus: Corpus, tmp_path: Path
) -> None:
    section = custom(texts_per_call=4)
    folder = prepare(section)
    source = TeacherSource(name="words", fingerprint=folder.fingerprint, open=lambda: opened(folder))
    asking: dict[str, Any] = {
        "rows": toy_corpus.splits["train"],
        "classes": 2,
        "root": tmp_path / "store",
        "reporter": SilentReporter(),
    }
    own.CALLS.clear()
    own.FAILING.append(4)

    with pytest.raises(CustomTeacherUnusable):
        asked_rows(source, Labeling(), **asking)
    answered = [text for call in own.CALLS[:3] for text in call]
    own.CALLS.clear()
    own.FAILING.clear()
    logits = asked_rows(source, Labeling(), **asking)

    again = [text for call in own.CALLS for text in call]
    assert not {*answered} & {*again}
    assert {*answered, *again} == {*asking["rows"].texts}
    np.testing.assert_array_equal(logits, opened(folder).logits(asking["rows"].texts, None))


def test_dev_rows_are_asked_by_way_of_the_store(prepare: Callable[..., TeacherFolder], toy_corpus: Corpus) -> None:
    asked: list[tuple[str, str, int]] = []

    def ask(teacher: Any, *, name: str, fingerprint: str, rows: Any) -> Any:
        asked.append((name, fingerprint, len(rows)))
        return teacher.logits(rows.texts, rows.pairs)

    folder = prepare(custom(), ask=ask)

    assert asked == [("words", folder.fingerprint, len(toy_corpus.splits["dev"]))]


def test_it_is_opened_from_its_folder_alone(prepare: Callable[..., TeacherFolder]) -> None:
    folder = prepare(custom(options={"good": "fine"}, least_probability=0.01))

    described = json.loads((folder.folder / "custom.json").read_text(encoding="utf-8"))
    assert described["options"] == {"good": "fine"}
    assert described["labels"] == ["negative", "positive"]
    np.testing.assert_array_equal(opened(folder).logits(["fine"], None), opened(folder).logits(["fine"], None))


def test_one_that_is_not_allowed_now_says_how_to_allow_it(
    prepare: Callable[..., TeacherFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = prepare(custom())
    monkeypatch.delenv(ALLOWED, raising=False)

    with pytest.raises(CustomCodeNotAllowed, match="--allow-custom-code"):
        opened(made).logits(["a film"], None)


def test_a_member_is_named_for_its_function() -> None:
    assert list(member_names([custom(), custom("Box.lengths"), custom(name="api")])) == ["words", "Box.lengths", "api"]


@pytest.mark.parametrize("options", [{"labels": ["a"]}, {"when": date(2020, 1, 1)}])
def test_options_that_cannot_be_given_or_kept_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="options"):
        custom(options=options)

"""`LimbeckClassifier` has the habits of scikit-learn: search, pipelines, calibration, copies, pickles."""

import pickle
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

import limbeck
from limbeck import LimbeckClassifier
from limbeck.errors import NothingToPredict, RecipeInvalid
from limbeck.report import html

QUICK: dict[str, Any] = {
    "distillation.epochs": 1,
    "augmentation": {"copies": 1, "methods": [{"kind": "masking"}]},
    "export.precisions": ["fp32"],
}
QUICKLY: dict[str, Any] = {"teacher": "linear", "student": "ngrams", "settings": QUICK}
WORDS = {"sad": ["dull", "cold", "awful", "grim"], "glad": ["gorgeous", "warm", "funny", "bright"]}


def written_rows(count: int = 60) -> tuple[list[str], list[str]]:
    """Texts in which one word decides."""
    dice = random.Random(0)
    labels = [dice.choice(sorted(WORDS)) for _ in range(count)]
    topics = ["war", "love", "cars", "dogs", "trains"]
    texts = [
        f"a {dice.choice(WORDS[label])} film of {dice.choice(topics)}, number {at}" for at, label in enumerate(labels)
    ]
    return texts, labels


TEXTS, LABELS = written_rows()


@pytest.fixture(scope="module", autouse=True)
def no_pictures() -> Iterator[None]:
    """The plots of a report take longer than such a run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(html, "pictures", lambda _: [])
        yield


@pytest.fixture(scope="module")
def fitted() -> LimbeckClassifier:
    return LimbeckClassifier(**QUICKLY).fit(TEXTS, LABELS)


def test_fit_trains_as_a_run_and_predicts_classes(fitted: LimbeckClassifier) -> None:
    probabilities = fitted.predict_proba(TEXTS)

    assert fitted.classes_.tolist() == ["glad", "sad"]
    assert isinstance(fitted.model_, limbeck.Classifier)
    assert probabilities.shape == (60, 2)
    assert probabilities.dtype == np.float64
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    assert fitted.predict(TEXTS).tolist() == fitted.model_.predict(TEXTS)
    assert fitted.score(TEXTS, LABELS) > 0.9
    assert fitted.report_["corpus"]["labels"] == ["glad", "sad"]
    assert fitted.run_ is None  # nothing is kept without a folder
    assert is_classifier(fitted)


def test_columns_arrays_and_columns_of_arrays_are_read(fitted: LimbeckClassifier) -> None:
    expected = fitted.predict(TEXTS).tolist()

    for rows in (
        np.array(TEXTS),
        np.array(TEXTS)[:, None],
        pd.Series(TEXTS),
        pd.DataFrame({"text": TEXTS}),
        tuple(TEXTS),
    ):
        assert fitted.predict(rows).tolist() == expected


def test_a_fitted_estimator_pickles_with_its_model(fitted: LimbeckClassifier) -> None:
    again = pickle.loads(pickle.dumps(fitted))

    np.testing.assert_array_equal(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    assert again.get_params() == fitted.get_params()


def test_parameters_are_cloned_shown_and_set(fitted: LimbeckClassifier) -> None:
    fresh = clone(fitted)

    assert fresh.get_params() == fitted.get_params()
    assert not hasattr(fresh, "model_")
    assert fresh.set_params(student="bag").student == "bag"
    assert "student='ngrams'" in repr(fitted)
    with pytest.raises(NotFittedError):
        fresh.predict(TEXTS)


def test_the_checks_of_scikit_learn_that_need_no_numbers_pass() -> None:
    names = (
        *("check_estimator_cloneable", "check_estimator_repr", "check_estimator_tags_renamed"),
        *("check_no_attributes_set_in_init", "check_set_params", "check_do_not_raise_errors_in_init_or_set_params"),
        *("check_parameters_default_constructible", "check_get_params_invariance", "check_valid_tag_types"),
        "check_mixin_order",
    )

    for name in names:
        getattr(estimator_checks, name)("LimbeckClassifier", LimbeckClassifier())
    with pytest.warns(SkipTestWarning, match="string=True"):  # all others give it numbers
        estimator_checks.check_estimator(LimbeckClassifier())


def test_a_grid_search_over_a_pipeline_trains_and_predicts() -> None:
    pipeline = Pipeline([("lower", FunctionTransformer(lowered)), ("model", LimbeckClassifier(**QUICKLY))])
    longer = {**QUICK, "distillation.epochs": 2}

    once = ShuffleSplit(1, test_size=0.3, random_state=0)
    search = GridSearchCV(pipeline, {"model__settings": [QUICK, longer]}, cv=once, error_score="raise")
    search.fit([text.upper() for text in TEXTS], np.array(LABELS))

    assert search.best_score_ > 0.7
    assert search.best_params_["model__settings"] in (QUICK, longer)
    assert search.predict(["A GORGEOUS FILM", "A DULL FILM"]).tolist() == ["glad", "sad"]


def lowered(texts: Sequence[str]) -> list[str]:
    """A step of a pipeline."""
    return [text.lower() for text in texts]


def test_calibration_across_folds_takes_classes_that_are_numbers() -> None:
    numbers = [3 if label == "sad" else -1 for label in LABELS]

    found = CalibratedClassifierCV(LimbeckClassifier(**QUICKLY), cv=2).fit(TEXTS, numbers)

    assert found.classes_.tolist() == [-1, 3]
    assert found.score(TEXTS, numbers) > 0.8


def test_an_estimator_teaches_on_texts_without_labels_too(tmp_path: Path) -> None:
    teacher = make_pipeline(TfidfVectorizer(), LogisticRegression(C=50))
    unlabelled = [
        f"a {word} story of {topic}" for words in WORDS.values() for word in words for topic in ("cats", "ships")
    ]

    found = LimbeckClassifier(**QUICKLY | {"teacher": teacher, "transfer": unlabelled}, folder=tmp_path).fit(
        TEXTS, LABELS
    )

    facts = found.report_
    assert {one["name"] for one in facts["models"] if one["role"] == "teacher"} == {"Pipeline"}
    assert not hasattr(teacher, "classes_")  # it was fitted as a copy
    assert found.run_ is not None
    assert (found.run_.folder / "recipe.toml").is_file()


def test_a_function_teaches_and_gives_its_columns_in_the_order_of_the_classes() -> None:
    def by_word(texts: list[str]) -> list[list[float]]:
        return [[0.1, 0.9] if any(word in text for word in WORDS["sad"]) else [0.9, 0.1] for text in texts]

    wrong = [label if at % 5 else "glad" for at, label in enumerate(LABELS)]

    found = LimbeckClassifier(**QUICKLY | {"teacher": by_word}).fit(TEXTS, wrong)

    assert found.predict(["a dull film", "a warm film"]).tolist() == ["sad", "glad"]


def test_a_recipe_gets_the_rows_of_the_fit(tmp_path: Path) -> None:
    recipe = tmp_path / "own.toml"
    recipe.write_text(
        '[corpus]\ntrain = "nowhere.csv"\n[teacher]\nkind = "linear"\n[student]\nkind = "ngrams"\n'
        '[distillation]\nepochs = 1\n[export]\nprecisions = ["fp32"]\n',
        encoding="utf-8",
    )

    found = LimbeckClassifier(recipe=recipe, settings={"corpus.dev_fraction": 0.2}).fit(TEXTS, LABELS)

    assert found.report_["corpus"]["rows"] == {"train": 48, "dev": 12}


def test_a_model_teaches_a_smaller_one_by_the_names_of_its_classes(fitted: LimbeckClassifier) -> None:
    found = LimbeckClassifier(**QUICKLY | {"teacher": fitted.model_}).fit(TEXTS, LABELS)

    assert found.predict(TEXTS).tolist() == fitted.predict(TEXTS).tolist()


def test_pairs_train_and_the_same_fit_in_the_same_folder_is_done_once(tmp_path: Path) -> None:
    pairs = pd.DataFrame({"question": TEXTS, "answer": [text[::-1] for text in TEXTS]})
    estimator = LimbeckClassifier(**QUICKLY, folder=tmp_path)

    first = estimator.fit(pairs, LABELS)
    built = {path: path.stat().st_mtime_ns for path in tmp_path.glob("run-*/**/manifest.json")}
    second = clone(estimator).fit(pairs, LABELS)

    assert first.model_.facts.pair
    assert first.predict(pairs).shape == (60,)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("run-*/**/manifest.json")} == built
    assert second.run_ == first.run_
    assert (
        first.predict(list(zip(pairs["question"], pairs["answer"], strict=True))).tolist()
        == first.predict(pairs).tolist()
    )


def test_what_no_classifier_can_learn_from_is_a_value_error() -> None:
    quick = LimbeckClassifier(**QUICKLY)

    for rows, labels, reason in [
        (TEXTS, LABELS[:-1], "X has 60 rows, and y 59"),
        (TEXTS, ["one"] * 60, "has 1 class"),
        (TEXTS, np.linspace(0, 1, 60), "continuous"),
        (TEXTS, np.zeros((60, 3, 1)), "the shape"),
        (TEXTS, [None, *LABELS[1:]], "missing values"),
        ([], [], "no rows"),
    ]:
        with pytest.raises(ValueError, match=reason):
            quick.fit(rows, labels)
    with pytest.raises(NothingToPredict, match=r"row 1 .* NaN"):
        quick.fit(["a", float("nan")], ["x", "y"])
    with pytest.raises(RecipeInvalid, match="epochs"):
        LimbeckClassifier(teacher="linear", settings={"distillation.epochs": -1}).fit(TEXTS, LABELS)
    with pytest.raises(TypeError, match="teacher must be"):
        LimbeckClassifier(teacher=3).fit(TEXTS, LABELS)
    other = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(["no", "yes"], ["no", "yes"])
    with pytest.raises(ValueError, match="does not know the class"):  # frozen, so it is not fitted again
        LimbeckClassifier(teacher=FrozenEstimator(other)).fit(TEXTS, LABELS)


MARKS = [[int(label == "glad"), int("film of dogs" in text)] for text, label in zip(TEXTS, LABELS, strict=True)]


def test_rows_may_have_several_labels_or_none() -> None:
    several = LimbeckClassifier(**QUICKLY).fit(TEXTS, pd.DataFrame(MARKS, columns=["glad", "dogs"]))

    found, probabilities = several.predict(TEXTS), several.predict_proba(TEXTS)

    assert several.classes_.tolist() == ["glad", "dogs"]
    assert several.multilabel_
    assert found.shape == probabilities.shape == (60, 2)
    assert set(np.unique(found)) <= {0, 1}
    assert several.model_.facts.multi_label
    assert ((probabilities >= 0.5) == found).mean() > 0.9
    assert roc_auc_score(np.array(MARKS), probabilities) > 0.8
    assert several.score(TEXTS, MARKS) == (found == MARKS).all(axis=1).mean()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(several)).predict(TEXTS), found)


def test_a_teacher_of_several_labels_may_be_an_estimator() -> None:
    teacher = make_pipeline(TfidfVectorizer(), OneVsRestClassifier(LogisticRegression(C=100)))

    several = LimbeckClassifier(**{**QUICKLY, "teacher": teacher}).fit(TEXTS, np.array(MARKS, dtype=bool))

    assert several.classes_.tolist() == [0, 1]
    assert roc_auc_score(np.array(MARKS), several.predict_proba(TEXTS)) > 0.8


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        ([[0, 2]] * 60, "each must hold 0 and 1"),
        ([[0, 1]] * 60, "no row of y has the class"),
        ([[[0], [1]]] * 60, "has the shape"),
    ],
)
def test_marks_that_are_none_are_refused(marks: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        LimbeckClassifier(**QUICKLY).fit(TEXTS, marks)

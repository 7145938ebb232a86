"""Which students are blended, and the folder that they become."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.manifest import Key, read_manifest
from limbeck.artifacts.model_folder import Member, ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.export.blend import MOST_MEMBERS, chosen_blend, export_blend, fitted_weights
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export
from limbeck.runtime.classifier import load
from limbeck.training.temperature import fitted_temperature, negative_log_likelihood

MakeModel = Callable[..., ModelFolder]
KEY = Key(section={}, inputs={})
LABELS = np.tile([0, 1], 40)


def logits(*, right: float, noise: float, seed: int) -> Any:
    """(rows, 2): speaks for the true label by `right`, with noise."""
    side = np.where(LABELS == 1, right, -right) + np.random.default_rng(seed).normal(0, noise, len(LABELS))
    return np.stack([-side, side], axis=1).astype(np.float32)


def test_the_weights_are_those_of_the_lowest_cross_entropy() -> None:
    """Compared with a fine grid; the better of the two counts more."""
    better, worse = logits(right=1.0, noise=1.0, seed=1), logits(right=0.5, noise=1.5, seed=2)
    both = [better.astype(np.float64), worse.astype(np.float64)]

    weights = fitted_weights(both, np.eye(2)[LABELS], multi_label=False)

    grid = np.linspace(0, 1, 201)
    losses = [negative_log_likelihood(w * both[0] + (1 - w) * both[1], LABELS, temperature=1.0) for w in grid]
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] == pytest.approx(grid[int(np.argmin(losses))], abs=0.01)
    assert weights[0] > 0.5


@pytest.mark.parametrize("size", [1.0, 10.0, 50.0])
def test_large_logits_do_not_throw_the_weights_about(size: float) -> None:
    """Without calibration, logits may have any size."""
    both = [size * logits(right=1.0, noise=noise, seed=seed).astype(np.float64) for noise, seed in ((1.0, 1), (1.2, 2))]

    weights = fitted_weights(both, np.eye(2)[LABELS], multi_label=False)

    def loss(weight: float) -> float:
        return negative_log_likelihood(weight * both[0] + (1 - weight) * both[1], LABELS, temperature=1.0)

    assert loss(float(weights[0])) <= min(map(loss, np.linspace(0, 1, 101))) * 1.02


def test_a_student_that_knows_nothing_stays_out() -> None:
    good, other, useless = (
        logits(right=1.0, noise=1.0, seed=1),
        logits(right=1.0, noise=1.0, seed=2),
        logits(right=0.0, noise=3.0, seed=3),
    )

    found = chosen_blend([good, useless, other], LABELS, temperatures=[1.0, 1.0, 1.0])

    together = found.weights[0] * good + found.weights[1] * other
    assert found.members == (0, 2)
    assert sum(found.weights) == pytest.approx(1.0, abs=0.01)
    assert found.temperature == pytest.approx(fitted_temperature(together, LABELS), rel=1e-3)
    best = negative_log_likelihood(together, LABELS, temperature=found.temperature)
    assert found.log_loss == pytest.approx(best, rel=1e-4)


def test_a_blend_has_two_members_at_least_and_four_at_most() -> None:
    good = logits(right=3.0, noise=0.5, seed=1)
    useless = [logits(right=0.0, noise=3.0, seed=seed) for seed in range(2, 5)]
    alike = [logits(right=1.0, noise=2.0, seed=seed) for seed in range(6)]

    assert len(chosen_blend([good, *useless], LABELS, temperatures=[1.0] * 4).members) == 2
    assert len(chosen_blend(alike, LABELS, temperatures=[1.0] * 6).members) <= MOST_MEMBERS


def test_on_a_small_dev_the_teacher_decides_too() -> None:
    """By ten labels the two are equal; the teacher's probabilities are those of the first."""
    labels, side = np.tile([0, 1], 5), np.tile([-1.0, 1.0], 5)
    sure, unsure = (np.stack([-side * size, side * size], axis=1).astype(np.float32) for size in (3.0, 0.1))
    teacher = np.stack([-side * 0.1, side * 0.1], axis=1).astype(np.float32)

    by_labels = chosen_blend([sure, unsure], labels, temperatures=[1.0, 1.0])
    by_teacher = chosen_blend([sure, unsure], labels, temperatures=[1.0, 1.0], teacher=teacher)

    assert by_labels.weights[0] > 0.9 > 0.5 > by_teacher.weights[0]


def test_three_that_complement_each_other_are_all_taken() -> None:
    each = [logits(right=1.0, noise=1.5, seed=seed) for seed in (1, 2, 3)]

    assert chosen_blend(each, LABELS, temperatures=[1.0] * 3).members == (0, 1, 2)


def test_each_is_divided_by_its_own_temperature() -> None:
    calm, loud = logits(right=1.0, noise=1.0, seed=1), logits(right=1.0, noise=1.0, seed=2)

    apart = chosen_blend([calm, 50 * loud], LABELS, temperatures=[1.0, 50.0])
    plain = chosen_blend([calm, loud], LABELS, temperatures=[1.0, 1.0])

    assert apart.log_loss == pytest.approx(plain.log_loss, rel=1e-5)


def test_without_calibration_there_is_no_temperature_and_without_labels_no_choice() -> None:
    both = [logits(right=1.0, noise=1.0, seed=seed) for seed in (1, 2)]

    assert chosen_blend(both, LABELS, temperatures=[1.0, 1.0], calibrate=False).temperature == 1.0
    assert chosen_blend([], LABELS[:0], temperatures=[1.0] * 5).members == (0, 1, 2, 3)


@pytest.mark.parametrize("labelled", [True, False])
def test_the_folder_has_each_member_inside_and_adds_up(make_model: MakeModel, tmp_path: Path, labelled: bool) -> None:
    models = [make_model("one", weight=1.0, temperature=2.0), make_model("two", weight=3.0)]
    texts = [f"{word} film {number}" for number in range(20) for word in ("gorgeous", "dreadful")]
    labels = [int(text.startswith("gorgeous")) for text in texts]
    rows = Rows.of(ids=texts, texts=texts, labels=labels if labelled else None)

    blend = export_blend(
        Export(), models=models, name="blend", rows=rows, out=tmp_path / "blend", key=KEY, reporter=SilentReporter()
    )

    facts = blend.facts()
    assert (facts.kind, facts.name, facts.labels) == ("blend", "blend", ["negative", "positive"])
    assert [member.folder for member in facts.members] == ["one", "two"]
    assert labelled or facts.members == (Member("one", 0.5), Member("two", 0.5))
    assert sum(member.weight for member in facts.members) == pytest.approx(1.0, abs=0.01)
    assert (facts.parameters, facts.max_length) == (28, 16)
    files = {f"{name}/{file}" for name in ("one", "two") for file in ("model.json", "model.onnx", "tokenizer.json")}
    assert set(read_manifest(blend.folder, kind="model").files) == {"model.json", "profile.json", *files}
    expected = sum(
        np.float32(member.weight / model.facts().temperature) * load(model.folder).logits(["gorgeous"])
        for member, model in zip(facts.members, models, strict=True)
    )
    np.testing.assert_allclose(load(blend.folder).logits(["gorgeous"]), expected, rtol=1e-6)

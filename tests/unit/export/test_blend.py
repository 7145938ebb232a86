"""Which students are blended, and the folder that they become."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.manifest import Key, read_manifest
from limbeck.artifacts.model_folder import Member, ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.export.blend import MOST_MEMBERS, chosen_blend, export_blend, subsets
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


def test_all_subsets_of_two_to_four_are_tried_small_ones_first() -> None:
    assert list(subsets(3)) == [(0, 1), (0, 2), (1, 2), (0, 1, 2)]
    assert max(map(len, subsets(6))) == MOST_MEMBERS


def test_a_student_that_knows_nothing_stays_out() -> None:
    good, other, useless = (
        logits(right=1.0, noise=1.0, seed=1),
        logits(right=1.0, noise=1.0, seed=2),
        logits(right=0.0, noise=3.0, seed=3),
    )

    found = chosen_blend([good, useless, other], LABELS, temperatures=[1.0, 1.0, 1.0])

    together = (good + other) / 2
    assert found.members == (0, 2)
    assert found.temperature == pytest.approx(fitted_temperature(together, LABELS), rel=1e-3)
    best = negative_log_likelihood(together, LABELS, temperature=found.temperature)
    assert found.log_loss == pytest.approx(best, rel=1e-5)


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
    assert facts.members == (Member("one", 0.5), Member("two", 0.5))
    assert (facts.parameters, facts.max_length) == (28, 16)
    files = {f"{name}/{file}" for name in ("one", "two") for file in ("model.json", "model.onnx", "tokenizer.json")}
    assert set(read_manifest(blend.folder, kind="model").files) == {"model.json", *files}
    expected = sum(
        np.float32(0.5 / model.facts().temperature) * load(model.folder).logits(["gorgeous"]) for model in models
    )
    np.testing.assert_array_equal(load(blend.folder).logits(["gorgeous"]), expected)

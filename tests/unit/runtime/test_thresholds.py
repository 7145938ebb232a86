"""From a share of texts to a threshold of confidence."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.manifest import MANIFEST, Key, write_manifest
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.model_profile import QUANTILES, CascadeOnDev, CascadePoint, ModelProfile, save_profile
from limbeck.runtime.fallbacks.fallback import FallbackOptionsWrong
from limbeck.runtime.thresholds import ThresholdUnknown, threshold_for_share, threshold_of

MakeModel = Callable[..., ModelFolder]


def profile_of(confidences: list[float], *, cascade: CascadeOnDev | None = None) -> ModelProfile:
    quantiles = np.quantile(confidences, np.linspace(0, 1, QUANTILES))
    return ModelProfile(
        rows=len(confidences),
        confidence_quantiles=tuple(quantiles.tolist()),
        confidence_histogram=(0.1,) * 10,
        label_shares=None,
        unknown_words=None,
        cascade=cascade,
    )


def with_profile(model: ModelFolder, profile: ModelProfile) -> ModelFolder:
    save_profile(model.folder, profile)
    (model.folder / MANIFEST).unlink()
    write_manifest(model.folder, kind="model", key=Key(section={}, inputs={}))
    return model


EVEN = [place / 1000 for place in range(1001)]


@pytest.mark.parametrize("share", [0.001, 0.05, 0.2, 0.333, 0.5, 0.999])
def test_the_share_of_dev_is_below_it(share: float) -> None:
    threshold = threshold_for_share(profile_of(EVEN), share)

    assert np.mean(np.array(EVEN) <= threshold) == pytest.approx(share, abs=0.005)


@pytest.mark.parametrize(("share", "asked"), [(0.2, 0.4), (0.3, 0.4), (0.1, 0.0), (0.6, 0.4), (0.95, 1.0)])
def test_rows_of_equal_confidence_go_together_to_whichever_is_nearer(share: float, asked: float) -> None:
    confidences = [0.7] * 40 + [1.0] * 60

    threshold = threshold_for_share(profile_of(confidences), share)

    assert np.mean(np.array(confidences) <= threshold) == pytest.approx(asked)


def test_no_share_is_never_and_all_is_always(make_model: MakeModel) -> None:
    model = make_model("one")

    assert threshold_of(model, share=0) == 0.0
    assert threshold_of(model, share=1) == 1.0


def test_a_threshold_needs_no_profile(make_model: MakeModel) -> None:
    assert threshold_of(make_model("one"), threshold=0.83) == 0.83


def test_the_default_is_the_cheapest_of_dev(make_model: MakeModel) -> None:
    point = CascadePoint(threshold=0.77, asked_share=0.2, accuracy=0.9)
    curve = CascadeOnDev(rows=9, points=(point,), cheapest=point, student_accuracy=0.8, teacher_accuracy=0.9)

    model = with_profile(make_model("one"), profile_of(EVEN, cascade=curve))

    assert threshold_of(model) == 0.77


@pytest.mark.parametrize("share", [None, 0.2])
def test_a_folder_without_profile_needs_a_threshold(make_model: MakeModel, share: float | None) -> None:
    with pytest.raises(ThresholdUnknown, match=r"no profile\.json") as refused:
        threshold_of(make_model("one"), share=share)

    assert "--threshold 0.8" in refused.value.advice


def test_a_profile_without_curve_needs_a_share_or_a_threshold(make_model: MakeModel) -> None:
    model = with_profile(make_model("one"), profile_of(EVEN))

    with pytest.raises(ThresholdUnknown, match="no curve") as refused:
        threshold_of(model)

    assert "--share 0.2" in refused.value.advice
    assert threshold_of(model, share=0.2) == pytest.approx(0.2)


@pytest.mark.parametrize(
    "numbers", [{"share": 1.5}, {"share": -0.1}, {"threshold": 2}, {"share": 0.1, "threshold": 0.1}]
)
def test_numbers_that_are_none_are_refused(tmp_path: Path, numbers: dict[str, float]) -> None:
    with pytest.raises(FallbackOptionsWrong, match=r"--(share|threshold)"):
        threshold_of(ModelFolder(tmp_path), **numbers)

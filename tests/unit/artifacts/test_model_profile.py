"""profile.json: what is written is read again, folders without it load, and what no model has there is refused."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.dev_sketch import DevSketch, QuantileSketch
from limbeck.artifacts.manifest import MANIFEST, Key, read_manifest, write_manifest
from limbeck.artifacts.model_folder import ModelFolder, copy_model, open_model
from limbeck.artifacts.model_profile import (
    PROFILE,
    QUANTILES,
    CascadeOnDev,
    CascadePoint,
    ModelProfile,
    read_profile,
    save_profile,
)
from limbeck.errors import ArtifactDamaged

POINT = CascadePoint(threshold=0.8, asked_share=0.25, accuracy=0.9)
CURVE_OF_TWO = CascadeOnDev(
    rows=40,
    points=(replace(POINT, threshold=0.0), POINT),
    cheapest=POINT,
    student_accuracy=0.8,
    teacher_accuracy=0.9,
)
PROFILE_OF_TWO = ModelProfile(
    rows=40,
    confidence_quantiles=tuple(number / (QUANTILES - 1) for number in range(QUANTILES)),
    confidence_histogram=(0.1,) * 10,
    label_shares=(0.5, 0.5),
    unknown_words=0.02,
    cascade=CURVE_OF_TWO,
    examples=("a gorgeous film", "a dreadful road"),
)
LENGTHS = QuantileSketch(mean=55.5, quantiles=tuple(float(number) for number in range(QUANTILES)))
SHARES = QuantileSketch(mean=0.1, quantiles=(0.0,) * 75 + (0.5,) * (QUANTILES - 75))
SKETCH_OF_TWO = DevSketch(
    characters=LENGTHS, unknown=SHARES, predicted=(0.4, 0.6), tokens=((7, 0.5), (8, 0.25)), token_rows=20
)
LABELS = ["negative", "positive"]


def read(folder: Path) -> ModelProfile:
    return read_profile(folder / PROFILE, labels=LABELS, pair=False)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    save_profile(tmp_path, PROFILE_OF_TWO)

    assert read(tmp_path) == PROFILE_OF_TWO


def test_what_is_not_known_is_null(tmp_path: Path) -> None:
    bare = replace(PROFILE_OF_TWO, label_shares=None, unknown_words=None, cascade=None, examples=())
    save_profile(tmp_path, bare)

    assert read(tmp_path) == bare


def test_examples_of_pairs_are_pairs(tmp_path: Path) -> None:
    pairs = replace(PROFILE_OF_TWO, examples=(("a film", "a road"),))
    save_profile(tmp_path, pairs)

    assert read_profile(tmp_path / PROFILE, labels=LABELS, pair=True) == pairs
    with pytest.raises(ValueError, match="examples"):
        read(tmp_path)


@pytest.mark.parametrize("sketch", [SKETCH_OF_TWO, replace(SKETCH_OF_TWO, unknown=None, tokens=())])
def test_a_sketch_of_dev_is_read_again(tmp_path: Path, sketch: DevSketch) -> None:
    whole = replace(PROFILE_OF_TWO, sketch=sketch)
    save_profile(tmp_path, whole)

    assert read(tmp_path) == whole


def test_a_profile_without_a_sketch_is_one_of_an_earlier_version(tmp_path: Path) -> None:
    save_profile(tmp_path, PROFILE_OF_TWO)

    assert "sketch" not in json.loads((tmp_path / PROFILE).read_text(encoding="utf-8"))
    assert read(tmp_path).sketch is None


@pytest.mark.parametrize(
    "change",
    [
        {"characters": None},
        {"characters": {"mean": -1, "quantiles": [0] * QUANTILES}},
        {"characters": {"mean": 1, "quantiles": [0] * 3}},
        {"characters": {"mean": 1, "quantiles": [2, *[1] * (QUANTILES - 1)]}},
        {"unknown": {"mean": 0.5, "quantiles": [2] * QUANTILES}},
        {"unknown": {"mean": float("nan"), "quantiles": [0] * QUANTILES}},
        {"predicted": [1.0]},
        {"predicted": [1.5, 0]},
        {"tokens": [[1, 0.5]] * 1_000},
        {"tokens": [[-1, 0.5]]},
        {"tokens": [[1, 2.0]]},
        {"tokens": [1]},
        {"token_rows": -1},
        {"token_rows": 1.5},
        {"call": "os:system"},
    ],
    ids=lambda change: str(change)[:60],
)
def test_a_sketch_that_no_model_has_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    save_profile(tmp_path, replace(PROFILE_OF_TWO, sketch=SKETCH_OF_TWO))
    content = json.loads((tmp_path / PROFILE).read_text(encoding="utf-8"))
    content["sketch"] |= change
    (tmp_path / PROFILE).write_text(json.dumps(content), encoding="utf-8")

    with pytest.raises(
        ValueError, match=r"sketch is (not what a model has there|about 1 labels, not about the model's 2)"
    ):
        read(tmp_path)


FEW = [0.5] * 3
POINTS = [[0.0, 0.0, 0.5]]
CURVE = {"rows": 1, "points": POINTS, "cheapest": POINTS[0], "student_accuracy": 0.5, "teacher_accuracy": 0.5}


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 0},
        {"rows": True},
        {"rows": 1.5},
        {"rows": 10**400},
        {"confidence_quantiles": FEW},
        {"confidence_quantiles": [1.0, *[0.5] * (QUANTILES - 1)]},
        {"confidence_quantiles": ["0.5"] * QUANTILES},
        {"confidence_quantiles": [2.0] * QUANTILES},
        {"confidence_quantiles": [float("nan")] * QUANTILES},
        {"confidence_histogram": [0.2] * 10},
        {"confidence_histogram": [1.0]},
        {"label_shares": FEW},
        {"label_shares": {"negative": 0.5, "positive": 0.5}},
        {"unknown_words": -0.1},
        {"unknown_words": True},
        {"cascade": {}},
        {"cascade": {**CURVE, "points": []}},
        {"cascade": {**CURVE, "points": POINTS * 2_000}},
        {"cascade": {**CURVE, "points": [[0.9, 0.0, 0.5], *POINTS]}},
        {"cascade": {**CURVE, "cheapest": [float("inf"), 0.0, 0.5]}},
        {"cascade": {**CURVE, "cheapest": [0.5]}},
        {"cascade": {**CURVE, "rows": 0}},
        {"cascade": {**CURVE, "call": "os:system"}},
        {"examples": [["a", "b"]]},
        {"examples": ["a"] * 2_000},
        {"examples": ["a" * 2_000]},
        {"examples": ["\ud800"]},
        {"examples": [None]},
        {"call": "os:system"},
    ],
    ids=lambda change: str(change)[:60],
)
def test_what_no_model_has_there_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    save_profile(tmp_path, PROFILE_OF_TWO)
    content = json.loads((tmp_path / PROFILE).read_text(encoding="utf-8"))
    (tmp_path / PROFILE).write_text(json.dumps(content | change), encoding="utf-8")

    name = next(iter(change))
    with pytest.raises(ValueError, match=f"{name} is not what a model has|no table of the keys") as refused:
        read(tmp_path)

    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("content", ["[]", "null", "{", "[" * 100_000, ""])
def test_what_is_no_table_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / PROFILE).write_text(content, encoding="utf-8")

    with pytest.raises(ValueError, match=r"no table of the keys|Expecting|nested too deeply"):
        read(tmp_path)


@pytest.fixture
def copied(make_model: Callable[..., ModelFolder]) -> Path:
    """A model to change, with a profile."""
    folder = make_model("one").folder
    save_profile(folder, PROFILE_OF_TWO)
    return signed(folder)


def signed(folder: Path) -> Path:
    """With a new manifest, as anybody can write one."""
    (folder / MANIFEST).unlink(missing_ok=True)
    write_manifest(folder, kind="model", key=Key(section={}, inputs={}))
    return folder


def test_a_folder_of_an_earlier_format_without_it_loads(copied: Path) -> None:
    assert open_model(copied).profile() == PROFILE_OF_TWO
    (copied / PROFILE).unlink()
    manifest = json.loads((signed(copied) / MANIFEST).read_text(encoding="utf-8"))
    (copied / MANIFEST).write_text(json.dumps({**manifest, "format": 3}), encoding="utf-8")

    assert open_model(copied).profile() is None


def test_one_that_the_manifest_does_not_list_is_not_read(copied: Path) -> None:
    (copied / PROFILE).unlink()
    signed(copied)
    (copied / PROFILE).write_text("{", encoding="utf-8")

    assert open_model(copied).profile() is None


def test_a_model_with_a_bad_one_is_damaged(copied: Path) -> None:
    (copied / PROFILE).write_text('{"rows": 1}', encoding="utf-8")

    with pytest.raises(ArtifactDamaged, match=r"profile\.json: it is no table of the keys"):
        open_model(signed(copied))


def test_it_is_copied_with_the_model_but_not_into_a_blend(copied: Path, tmp_path: Path) -> None:
    for name, has_profile in (("alone", True), ("member", False)):
        (tmp_path / name).mkdir()
        copy_model(ModelFolder(copied), tmp_path / name, has_profile=has_profile)

    assert (tmp_path / "alone" / PROFILE).is_file()
    assert not (tmp_path / "member" / PROFILE).exists()
    assert PROFILE in read_manifest(copied, kind="model").files

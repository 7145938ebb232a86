import shutil
import time
from pathlib import Path

import pytest

from limbeck.errors import LimbeckError
from limbeck.serving.served_models import (
    ModelNameTaken,
    ModelNameUnusable,
    ModelSource,
    ServedModel,
    ServedModels,
    reloaded,
)
from limbeck.serving.wire.refusals import Refused


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    """A copy of the model of single texts that may be changed."""
    return Path(shutil.copytree(model_folder, tmp_path / "model"))


def test_the_first_model_is_the_default_and_all_have_names(model_folder: Path, multi_label_folder: Path) -> None:
    models = ServedModels.open([ModelSource(model_folder, "mood"), ModelSource(multi_label_folder, "topic")])

    assert [model.name for model in models] == ["mood", "topic"]
    assert models.default.name == models.by_name(None).name == "mood"
    assert models.by_name("topic").facts.multi_label
    assert models.choose("topic").labels == ("negative", "neutral", "positive")


def test_an_unknown_name_is_refused_with_a_suggestion(model_folder: Path) -> None:
    models = ServedModels.open([ModelSource(model_folder, "mood")])

    with pytest.raises(Refused, match=r"no model of that name here \(did you mean 'mood'\?\)") as refused:
        models.by_name("moods")

    assert refused.value.status == 404


def test_an_argument_names_a_folder_and_perhaps_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b").mkdir()

    assert ModelSource.named("mood=runs/x") == ModelSource(Path("runs/x"), "mood")
    assert ModelSource.named("runs/x") == ModelSource(Path("runs/x"))
    assert ModelSource.named("a=b") == ModelSource(Path("a=b"))  # it is there
    assert ModelSource.named("runs/x=1/model") == ModelSource(Path("runs/x=1/model"))


def test_two_models_of_one_name_are_refused(model_folder: Path) -> None:
    with pytest.raises(ModelNameTaken, match="two models have the name 'bilstm'") as error:
        ServedModels.open([ModelSource(model_folder), ModelSource(model_folder)])

    assert "one=FOLDER" in str(error.value)


def test_a_name_has_to_fit_into_an_address(model_folder: Path) -> None:
    classifier = ServedModels.open([ModelSource(model_folder)]).default.classifier

    for name in ("a/b", "", "two words", "x" * 101):
        with pytest.raises(ModelNameUnusable):
            ServedModels([ServedModel(name, classifier, size_mb=1)])


def test_another_model_in_the_folder_is_noticed_and_taken(
    folder: Path, multi_label_folder: Path, tmp_path: Path
) -> None:
    models = ServedModels.open([ModelSource(folder)])
    assert not models.have_changed()

    shutil.copytree(multi_label_folder, tmp_path / "new")
    folder.rename(tmp_path / "old")
    (tmp_path / "new").rename(folder)

    assert models.have_changed()
    assert reloaded(models).startswith("Loaded again: bilstm.")
    assert models.default.facts.multi_label
    assert not models.have_changed()


def test_a_damaged_folder_is_not_taken_and_is_reported_once(folder: Path) -> None:
    models = ServedModels.open([ModelSource(folder)])
    before = models.default

    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")

    assert models.have_changed()
    assert reloaded(models).startswith("The models stay as they were, for one cannot be loaded: ")
    assert models.default is before
    assert not models.have_changed()  # not at once
    assert reloaded(models) == ""  # it was reported


def test_a_folder_that_was_only_half_there_is_read_later(
    folder: Path, monkeypatch: pytest.MonkeyPatch, multi_label_folder: Path
) -> None:
    models = ServedModels.open([ModelSource(folder)])
    shutil.copyfile(multi_label_folder / "manifest.json", folder / "manifest.json")
    assert reloaded(models).startswith("The models stay as they were")
    assert not models.have_changed()

    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 60)
    assert models.have_changed()
    shutil.copytree(multi_label_folder, folder, dirs_exist_ok=True)

    assert reloaded(models).startswith("Loaded again")
    assert models.default.facts.multi_label


def test_a_folder_that_is_none_is_the_user_s_error(tmp_path: Path) -> None:
    with pytest.raises(LimbeckError):
        ServedModels.open([ModelSource(tmp_path / "nowhere")])

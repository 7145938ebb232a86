from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.rows import content_key
from limbeck.augmentation import masked_predictions, prediction_store
from limbeck.augmentation.masked_predictions import answers_about
from limbeck.augmentation.prediction_store import TextPredictions, answers_to_texts
from limbeck.models.checkpoint import CheckpointNotFound
from limbeck.recipe.augmentation import MaskedLm

PIECES = ["film", "story", "actor", "a", "good"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that a model was asked about."""
    given: list[str] = []

    def watched(texts: list[str], *arguments: Any, **options: Any) -> list[TextPredictions]:
        given.extend(texts)
        return answers_about(texts, *arguments, **options)

    monkeypatch.setattr(masked_predictions, "answers_about", watched)
    return given


@pytest.fixture
def ask(make_context: Any, make_language_model: Any) -> Any:
    """ask(*texts, language="en", checkpoint=…, **section): the answers, by text."""
    toy = make_language_model(PIECES)

    def ask(*texts: str, language: str = "en", checkpoint: Path = toy, **options: Any) -> dict[str, TextPredictions]:
        keyed = {content_key(text): text for text in texts}
        section = MaskedLm(kind="masked_lm", checkpoint=str(checkpoint), **options)
        return {keyed[key]: answer for key, answer in answers_to_texts(keyed, section, make_context(language=language))}

    return ask


def test_a_text_is_asked_about_once(ask: Any, asked: list[str]) -> None:
    first = ask("a good film", "story")
    again = ask("story", "a good film", "actor")

    assert asked == ["a good film", "story", "actor"]
    assert first["story"] == again["story"]
    assert set(again) == {"a good film", "story", "actor"}
    assert first["story"].words == [0]
    assert sorted(first["story"].found[0].split()) == ["actor", "film", "good"]


def test_a_copy_of_the_model_elsewhere_is_the_same_model(ask: Any, asked: list[str], make_language_model: Any) -> None:
    ask("film")
    ask("film", checkpoint=make_language_model(PIECES, name="copy"))

    assert asked == ["film"]


def test_another_model_or_setting_asks_again(ask: Any, asked: list[str], make_language_model: Any) -> None:
    ask("film")
    ask("film", candidates=3)
    ask("film", max_length=16)
    ask("film", language="zh")
    ask("film", checkpoint=make_language_model(PIECES, liked=["story"], name="other"))

    assert asked == ["film"] * 5


def test_logits_of_characters_are_kept_too(ask: Any, asked: list[str], make_language_model: Any) -> None:
    chinese = make_language_model([*"酒店早餐a"], name="chinese")

    first = ask("酒店", language="zh", checkpoint=chinese)
    again = ask("酒店", language="zh", checkpoint=chinese)

    assert asked == ["酒店"]
    assert first == again
    assert len(first["酒店"].logits[0]) == len(first["酒店"].found[0].split()) == 4


def test_answers_are_stored_before_all_are_complete(
    ask: Any, asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(prediction_store.TEXTS_AT_ONCE, "cpu", 2)
    texts = ["film", "story", "actor", "good", "good film"]

    whole = ask(*texts)
    files = sorted(tmp_path.joinpath("store").rglob("*.arrow"))
    files[0].unlink()
    again = ask(*texts)

    assert len(files) == 3
    assert len(asked) in (6, 7)
    assert again == whole


def test_no_model_is_loaded_if_everything_is_stored(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ask("film")

    def refuse(*_: object, **__: object) -> Any:
        raise AssertionError("loaded again")

    monkeypatch.setattr("limbeck.augmentation.language_model.load_language_model", refuse)

    assert ask("film")


def test_a_missing_checkpoint_is_reported_as_that_of_a_language_model(ask: Any, tmp_path: Path) -> None:
    with pytest.raises(CheckpointNotFound, match="no language model checkpoint") as raised:
        ask("film", checkpoint=tmp_path / "nowhere")

    assert "offline encoder" not in str(raised.value), "it has no head for masks"

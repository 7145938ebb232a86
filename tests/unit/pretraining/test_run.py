"""Continued pretraining: the guesses get better, a killed one ends the same, and what is saved starts a teacher."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.pretrained_folder import PretrainedFolder
from limbeck.artifacts.rows import Rows
from limbeck.pretraining import pretrain
from limbeck.pretraining.loading import PretrainingImpossible
from limbeck.progress import SilentReporter
from limbeck.recipe.teacher import Pretraining
from limbeck.training import loop
from limbeck.training.checkpoints import save_checkpoint

WORDS = ["gorgeous", "film", "story", "scene", "actor", "camera", "evening", "music", "script", "city"]
Pretrain = Callable[..., PretrainedFolder]


class Notes(SilentReporter):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)


def rows(texts: list[str], *, pairs: bool = False) -> Rows:
    ids = [f"train-{number}" for number in range(len(texts))]
    return Rows.of(ids=ids, texts=texts, pairs=[*texts[1:], texts[0]] if pairs else None)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Words that follow each other as in the list, wherever a text begins: every masked one can be predicted."""
    dice = random.Random(0)
    starts = [(dice.randrange(10), dice.randint(8, 20)) for _ in range(300)]
    return [" ".join(WORDS[(start + place) % 10] for place in range(length)) for start, length in starts]


@pytest.fixture
def go(tiny_teacher_folder: Path, tmp_path: Path) -> Pretrain:
    """go(texts, out="pretrained", checkpoint=…, keys of the table…)"""

    def go(
        given: list[str] | Rows,
        *,
        out: str = "pretrained",
        checkpoint: Path | None = None,
        reporter: Any = None,
        **section: Any,
    ) -> PretrainedFolder:
        keys = {"epochs": 1, "batch_size": 16, "learning_rate": 3e-3, "precision": "fp32", **section}
        return pretrain(
            Pretraining.model_validate(keys),
            checkpoint=str(checkpoint or tiny_teacher_folder),
            max_length=32,
            parts=[rows(given) if isinstance(given, list) else given],
            out=tmp_path / out,
            key=Key(section={}, inputs={}),
            reporter=reporter or SilentReporter(),
        )

    return go


def weights(folder: PretrainedFolder) -> dict[str, torch.Tensor]:
    return load_file(folder.folder / "model.safetensors")


def same(one: PretrainedFolder, other: PretrainedFolder) -> bool:
    first, second = weights(one), weights(other)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_the_guesses_get_better_and_the_history_says_so(go: Pretrain, texts: list[str]) -> None:
    notes = Notes()

    history = go(texts, epochs=8, reporter=notes).history

    losses = [entry["held_back_loss"] for entry in history]
    assert [entry["epoch"] for entry in history] == list(range(9))
    assert losses[0] > 4  # of 123 tokens any could be there
    assert losses[-1] < 0.6 * losses[0]
    assert history[-1]["held_back_accuracy"] > history[0]["held_back_accuracy"]
    assert "loss" in history[1]
    assert not any(key.startswith("dev") for key in history[1])
    assert f"loss was {losses[0]:.3f} before and is {losses[-1]:.3f} after" in notes.lines[-1]
    assert "a new one was initialised" in notes.lines[-1]


def test_the_seed_decides(go: Pretrain, texts: list[str]) -> None:
    first, again, other = (go(texts[:60], out=str(number), seed=number // 2) for number in range(3))

    assert same(first, again)
    assert not same(first, other)


def test_a_killed_pretraining_goes_on_and_ends_the_same(
    go: Pretrain, texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)  # after every step
    saved, deadly = 0, -1

    def save_or_die(*args: Any, **options: Any) -> None:
        nonlocal saved
        save_checkpoint(*args, **options)
        saved += 1
        if saved == deadly:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop, "save_checkpoint", save_or_die)
    undisturbed = go(texts[:80], out="undisturbed", epochs=2)
    whole, saved = saved, 0
    deadly = whole - 2  # in the middle of the second epoch
    with pytest.raises(KeyboardInterrupt):
        go(texts[:80], out="killed", epochs=2)
    assert not (tmp_path / "killed").exists()

    killed = go(texts[:80], out="killed", epochs=2)

    assert saved == whole  # it did not begin again
    assert same(killed, undisturbed)
    assert killed.history == undisturbed.history
    assert killed.fingerprint == undisturbed.fingerprint


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # DeBERTa's own
@pytest.mark.parametrize("family", ["roberta", "albert", "electra", "distilbert", "mpnet", "deberta", "deberta-v2"])
def test_every_family_goes_on(go: Pretrain, save_encoder: Callable[..., Path], texts: list[str], family: str) -> None:
    history = go(texts[:60], checkpoint=save_encoder(family), epochs=2).history

    assert history[-1]["held_back_loss"] < history[0]["held_back_loss"]


def test_it_is_judged_in_the_arithmetic_that_it_is_trained_in(go: Pretrain, texts: list[str]) -> None:
    exact, rounded = (go(texts[:60], out=precision, precision=precision).history for precision in ("fp32", "bf16"))

    assert rounded[0]["held_back_loss"] == pytest.approx(exact[0]["held_back_loss"], rel=0.01)
    assert rounded[0]["held_back_loss"] != exact[0]["held_back_loss"]
    assert rounded[-1]["held_back_loss"] < rounded[0]["held_back_loss"]


def test_pairs_are_read_too(go: Pretrain, texts: list[str]) -> None:
    history = go(rows(texts[:60], pairs=True), epochs=3).history

    assert history[-1]["held_back_loss"] < history[0]["held_back_loss"]


def test_only_so_many_texts_are_read(go: Pretrain, texts: list[str]) -> None:
    notes = Notes()

    go(texts, max_rows=20, reporter=notes)

    assert "19 texts read; in 1 held back" in notes.lines[-1]


def test_texts_of_which_the_tokenizer_knows_nothing_are_refused(go: Pretrain) -> None:
    with pytest.raises(PretrainingImpossible, match=r"of 2 texts, 0 have a word in its vocabulary"):
        go(["电影", "夜"])


def test_a_teacher_starts_from_what_was_pretrained_and_keeps_its_name(
    go: Pretrain, texts: list[str], tiny_teacher_folder: Path, toy_corpus: Corpus, tmp_path: Path
) -> None:
    from limbeck.recipe.teacher import EncoderTeacher
    from limbeck.teacher import prepare_teacher

    pretrained = go(texts[:60])
    keys = {"checkpoint": str(tiny_teacher_folder), "epochs": 1, "learning_rate": 1e-9, "precision": "fp32"}

    def words(out: str, **start: Any) -> torch.Tensor:
        teacher = prepare_teacher(
            EncoderTeacher.model_validate(keys),
            corpus=toy_corpus,
            out=tmp_path / out,
            key=Key(section={}, inputs={}),
            reporter=SilentReporter(),
            **start,
        )
        assert teacher.facts.name == tiny_teacher_folder.name
        return load_file(teacher.folder / "model.safetensors")["bert.embeddings.word_embeddings.weight"]

    plain, taught = words("plain"), words("taught", pretrained=pretrained.folder)

    before = load_file(tiny_teacher_folder / "model.safetensors")["bert.embeddings.word_embeddings.weight"]
    torch.testing.assert_close(plain, before, atol=1e-5, rtol=0)
    torch.testing.assert_close(taught, weights(pretrained)["bert.embeddings.word_embeddings.weight"], atol=1e-5, rtol=0)
    assert (taught - plain).abs().max() > 1e-3


def test_what_was_pretrained_fills_in_words_for_augmentation(go: Pretrain, texts: list[str]) -> None:
    from limbeck.augmentation.language_model import load_language_model

    pretrained = go(texts[:60])

    model = load_language_model(pretrained.folder, name="pretrained", max_length=32)

    assert "film" in model.vocabulary.words

"""General transformers on the whole road: distilled, stopped and continued, and started from by students of a task."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer, BertConfig, BertForMaskedLM

from limbeck.artifacts.general_folder import GeneralFolder
from limbeck.distillation.refuse_impossible import GeneralKindDiffers
from limbeck.distillation.terms.layers import HeadsDiffer
from limbeck.errors import RecipeInvalid
from limbeck.general.layers import NoHead
from limbeck.general.layers_task import LayersTask
from limbeck.general.windows import NoWindows
from limbeck.pipeline import run
from limbeck.pipeline.general import pretrain
from limbeck.progress import SilentReporter
from limbeck.recipe.stages import Stage
from limbeck.training import loop

RECIPE = """
[general]
name = "toy"
teacher = "{teacher}"
window = 24
batch_size = 8
steps = {steps}
rounds = 3
learning_rate = 3e-3
warmup_fraction = 0.0
precision = "fp32"
{losses}

[transfer]
files = ["text.txt"]

[student]
kind = "transformer"
{student}
"""
TINYBERT = 'losses = [{kind = "embedding_mse"}, {kind = "hidden_mse"}, {kind = "attention_mse"}]'
MINILM = 'losses = [{kind = "minilm_v2", relation_heads = 4}]'
DISTILBERT = (
    'losses = [{kind = "soft_words", weight = 5.0}, {kind = "masked_words", weight = 0.1}, {kind = "hidden_cosine"}]'
)
SMALL = ["distillation.epochs=1", "distillation.learning_rate=1e-12", "export.precisions=['fp32']"]
Distil = Callable[..., GeneralFolder]


@pytest.fixture(scope="module")
def teacher(tiny_teacher_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of 3 layers of 32 with a head for masked words, which has the tiny teacher's words."""
    folder = tmp_path_factory.mktemp("with-head") / "bert"
    tokenizer = AutoTokenizer.from_pretrained(tiny_teacher_folder)
    torch.manual_seed(5)
    sizes = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 48}
    model = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **sizes))
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(3.0)  # so that words and layers differ clearly
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def distil(teacher: Path, toy_rows: tuple[tuple[str, str], ...], tmp_path_factory: pytest.TempPathFactory) -> Distil:
    """distil(losses, student=…, steps=…, out=…): a general transformer of the toy texts."""

    def distil(
        losses: str, *, student: str = "layers = 2", steps: int = 12, out: Path | None = None, changes: Any = ()
    ) -> GeneralFolder:
        folder = tmp_path_factory.mktemp("general")
        (folder / "text.txt").write_text("\n".join(text for text, _ in toy_rows), encoding="utf-8")
        recipe = folder / "toy.toml"
        written = RECIPE.format(teacher=teacher, losses=losses, student=student, steps=steps)
        recipe.write_text(written, encoding="utf-8")
        return pretrain(recipe, overrides=changes, out=out or folder / "out", reporter=SilentReporter())

    return distil


@pytest.fixture(scope="module")
def relations(distil: Distil) -> GeneralFolder:
    return distil(MINILM)


def losses_of(general: GeneralFolder) -> list[float]:
    return [entry["dev_loss"] for entry in general.facts.history]


@pytest.mark.parametrize(
    ("losses", "student"),
    [
        (TINYBERT, 'family = "bert"\nlayers = 2\nwidth = 12\nheads = 2\ninner_size = 20'),
        (DISTILBERT, 'family = "distilbert"\nlayers = 2\nstart = "random"'),
    ],
)
def test_the_losses_of_the_papers_fall(distil: Distil, losses: str, student: str, teacher: Path) -> None:
    general = distil(losses, student=student, steps=24)

    found, history = losses_of(general), general.facts.history
    names = [loss.partition('"')[0] for loss in losses.split('kind = "')[1:]]
    assert found[-1] < 0.97 * found[0]
    of_teacher = [f"dev_{name}" for name in names if name != "masked_words"]  # what a random one says is not so
    assert [name for name in of_teacher if history[-1][name] >= history[0][name]] == []
    assert set(history[-1]["losses"]) == set(names)
    assert len(history) == 4
    assert str(teacher) not in (general.folder / "general.json").read_text(encoding="utf-8")


def test_it_is_a_plain_model_of_transformers_with_its_head_if_that_was_trained(
    distil: Distil, relations: GeneralFolder
) -> None:
    words = distil(DISTILBERT, student='family = "distilbert"\nlayers = 2', steps=2)

    with_head, loading = AutoModelForMaskedLM.from_pretrained(words.folder, output_loading_info=True)
    assert not loading["missing_keys"]
    assert not any("token_type" in name or "pooler" in name for name, _ in with_head.named_parameters())
    body, loading = AutoModel.from_pretrained(relations.folder, output_loading_info=True)
    assert {name.partition(".")[0] for name in loading["missing_keys"]} == {"pooler"}
    assert body.config.num_hidden_layers == 2
    assert AutoTokenizer.from_pretrained(relations.folder)("gorgeous film").input_ids[1] > 4
    card = (relations.folder / "README.md").read_text(encoding="utf-8")
    assert "- `minilm_v2`, weight 1 (relation_heads = 4)" in card
    assert "layers = 2, width = 32, heads = 2, inner_size = 48" in card


def test_two_processes_distil_what_one_does(distil: Distil) -> None:
    """Layers of uneven shares, and masks that are drawn for the batch as a whole."""
    uneven = ["general.batch_size=7", "student.dropout=0.0"]
    alone, together = (distil(DISTILBERT, steps=6, changes=[*uneven, f"general.processes={count}"]) for count in (1, 2))

    assert losses_of(together) == pytest.approx(losses_of(alone), rel=1e-4)
    weights = [load_file(one.folder / "model.safetensors") for one in (alone, together)]
    for name, weight in weights[0].items():
        torch.testing.assert_close(weights[1][name], weight, atol=1e-4, rtol=0.0)


def test_a_stopped_one_continues_and_ends_with_the_same_weights(
    distil: Distil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = 'family = "distilbert"\nlayers = 2'
    whole = distil(DISTILBERT, student=shape, out=tmp_path / "whole")
    losses, steps = LayersTask.losses, []

    def stopping(task: Any, learner: Any, numbers: Any, done: float, **options: Any) -> Any:
        steps.append(options.get("seed"))
        if len([seed for seed in steps if seed is None]) == 4 + 6:  # four batches are timed
            raise KeyboardInterrupt
        return losses(task, learner, numbers, done, **options)

    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(LayersTask, "losses", stopping)
    with pytest.raises(KeyboardInterrupt):
        distil(DISTILBERT, student=shape, out=tmp_path / "stopped")
    monkeypatch.undo()
    assert not (tmp_path / "stopped" / "toy").exists()
    continued = distil(DISTILBERT, student=shape, out=tmp_path / "stopped")

    weights = [load_file(one.folder / "model.safetensors") for one in (whole, continued)]
    assert all(torch.equal(weight, weights[1][name]) for name, weight in weights[0].items())
    assert [one.facts.history for one in (continued,)] == [whole.facts.history]


def test_a_student_of_a_task_starts_from_it_exactly(
    relations: GeneralFolder, write_recipe: Callable[[Path], Path], tmp_path: Path
) -> None:
    recipe = write_recipe(tmp_path / "data")
    shutil.copytree(relations.folder, recipe.parent / "general" / "toy")
    start = "student={kind='transformer', start='general:toy'}"
    plain = "distillation.losses=[{kind='logit_mse'}]"

    finished = run(
        recipe,
        overrides=[*SMALL, start, plain, "distillation.baseline=false"],
        out=tmp_path / "run",
        until=Stage.DISTILLATION,
        reporter=SilentReporter(),
    )

    theirs = load_file(relations.folder / "model.safetensors")
    own = load_file(finished.folder / "students" / "transformer" / "0" / "model.safetensors")
    assert len(theirs) > 30
    assert all(torch.allclose(own[f"bert.{name}"], weight, atol=1e-6) for name, weight in theirs.items())
    with pytest.raises(GeneralKindDiffers, match="it is a transformer"):
        run(recipe, overrides=["student.start='general:toy'"], out=tmp_path / "b", reporter=SilentReporter())


def test_what_cannot_be_is_refused_by_name(distil: Distil, tiny_teacher_folder: Path) -> None:
    with pytest.raises(NoHead, match=r"soft_words, masked_words needs an encoder that predicts masked words"):
        distil(DISTILBERT, changes=[f"general.teacher='{tiny_teacher_folder}'"])
    with pytest.raises(HeadsDiffer):
        distil(TINYBERT, student="layers = 2\nheads = 4")
    with pytest.raises(NoWindows):
        distil(MINILM, changes=["transfer.rows=1"])
    with pytest.raises(RecipeInvalid, match=r"(?s)\[transfer\] has split_sentences"):
        distil(MINILM, changes=["transfer.split_sentences=true"])
    with pytest.raises(RecipeInvalid, match="steps and minutes both say how long"):
        distil(MINILM, changes=["general.minutes=3"])
    with pytest.raises(RecipeInvalid, match=r"student has|\[student\] has max_length"):
        distil(MINILM, changes=["student.max_length=64"])
    with pytest.raises(RecipeInvalid, match="unknown kind 'rkd'"):
        distil('losses = [{kind = "rkd"}]')


def test_a_checkpoint_without_a_head_teaches_its_layers(distil: Distil, tiny_teacher_folder: Path) -> None:
    general = distil(MINILM, student="layers = 1", steps=3, changes=[f"general.teacher='{tiny_teacher_folder}'"])

    assert general.facts.encoders[0]["layers"] == 2
    assert general.facts.shape["layers"] == 1

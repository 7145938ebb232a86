"""Transformer students that start from a checkpoint of their own, in the place of their teacher."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer, BertConfig, BertModel

from limbeck.artifacts.run_folder import Run
from limbeck.distillation.checkpoint_start import TokensDiffer
from limbeck.distillation.refuse_impossible import ClassesUnlearned, GeneralKindDiffers
from limbeck.errors import CheckpointDamaged
from limbeck.models.checkpoint import CheckpointNotFound
from limbeck.pipeline import run
from limbeck.progress import SilentReporter
from limbeck.recipe.load import load_recipe
from limbeck.recipe.stages import Stage

SMALL = ["distillation.epochs=1", "distillation.learning_rate=1e-12", "export.precisions=['fp32']"]
LOGITS = ["distillation.losses=[{kind='logit_mse'}]", *SMALL]
Write = Callable[[Path], Path]


class Notes(SilentReporter):
    """A reporter that keeps every note."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.texts.append(text)


def checkpoint_with(tiny_teacher_folder: Path, folder: Path, *, more_words: int = 0) -> Path:
    """A BERT without a head, of 3 layers of 16; with more words its tokens are not the teacher's."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_teacher_folder)
    if more_words:
        tokenizer.add_tokens([f"word{number}" for number in range(more_words)])
    torch.manual_seed(3)
    sizes = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 20}
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **sizes)
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def checkpoint(tiny_teacher_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint_with(tiny_teacher_folder, tmp_path_factory.mktemp("own") / "small-bert")


@pytest.fixture(scope="module")
def finished(
    checkpoint: Path, write_recipe: Write, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Run, Notes]:
    recipe, notes = write_recipe(tmp_path_factory.mktemp("started") / "data"), Notes()
    start = [f"student={{kind='transformer', start='{checkpoint}'}}"]
    out = tmp_path_factory.mktemp("runs") / "toy"
    return recipe, run(recipe, overrides=[*LOGITS, *start], out=out, reporter=notes), notes


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def test_student_and_baseline_have_its_shape_and_its_weights(
    finished: tuple[Path, Run, Notes], checkpoint: Path
) -> None:
    theirs = weights(checkpoint)

    for place in ("transformer/0", "transformer-alone/0"):
        own = weights(finished[1].folder / "students" / place)
        assert len(theirs) > 40
        assert all(torch.allclose(own[f"bert.{name}"], weight, atol=1e-6) for name, weight in theirs.items())


def test_what_is_new_is_named_and_the_card_says_where_it_comes_from(finished: tuple[Path, Run, Notes]) -> None:
    said = "starts from small-bert: all of its 3 layers, and its embeddings; new: classifier, pooler.dense"
    cards = [(folder / "README.md").read_text(encoding="utf-8") for folder in finished[1].models.values()]

    assert f"  transformer {said}" in finished[2].texts
    assert f"  transformer-alone {said}" in finished[2].texts
    assert all("`small-bert`" in card for card in cards)


def test_it_is_trained_again_only_if_the_checkpoint_is_another(
    finished: tuple[Path, Run, Notes], checkpoint: Path, tiny_teacher_folder: Path
) -> None:
    recipe, done, _ = finished
    moved = checkpoint_with(tiny_teacher_folder, checkpoint.parent / "moved")
    other = checkpoint_with(tiny_teacher_folder, checkpoint.parent / "other", more_words=2)

    def made(start: Path) -> set[str]:
        notes = Notes()
        changes = [*LOGITS, f"student={{kind='transformer', start='{start}'}}"]
        run(recipe, overrides=changes, out=done.folder, until=Stage.DISTILLATION, reporter=notes)
        return {text for text in notes.texts if " starts from " in text}

    assert made(moved) == set()
    assert len(made(other)) == 2


def test_losses_on_layers_need_the_teachers_tokens(
    checkpoint: Path, tiny_teacher_folder: Path, write_recipe: Write, tmp_path: Path
) -> None:
    recipe, other = write_recipe(tmp_path / "data"), checkpoint_with(tiny_teacher_folder, tmp_path / "o", more_words=2)
    layers = ["distillation.baseline=false", *SMALL]
    losses = "distillation.losses=[{kind='soft_targets'}, {kind='minilm_v2', relation_heads=4}]"

    def trained(start: Path, given: str) -> Run:
        changes = [*layers, given, f"student={{kind='transformer', start='{start}'}}"]
        out = tmp_path / "run"
        return run(recipe, overrides=changes, out=out, until=Stage.DISTILLATION, reporter=SilentReporter())

    with pytest.raises(TokensDiffer, match="minilm_v2 compares token by token"):
        trained(other, losses)
    with pytest.raises(ClassesUnlearned, match=r"student\.start"):
        trained(checkpoint, "distillation.losses=[{kind='minilm_v2', relation_heads=4}]")
    assert not (tmp_path / "run" / "teacher").exists()
    assert (trained(checkpoint, losses).folder / "students/transformer/0").is_dir()


def test_what_cannot_be_a_start_is_refused_before_anything_runs(write_recipe: Write, tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path / "data")
    (tmp_path / "empty").mkdir()

    def refused(kind: str, start: str, error: type[Exception], match: str) -> None:
        changes = [*LOGITS, f"student={{kind='{kind}', start='{start}'}}"]
        with pytest.raises(error, match=match):
            run(recipe, overrides=changes, out=tmp_path / "run", reporter=SilentReporter())

    refused("transformer", "techer", CheckpointNotFound, "no student checkpoint 'techer'.*did you mean 'teacher'")
    refused("transformer", "general:english", GeneralKindDiffers, "cannot start from")
    refused("transformer", str(tmp_path / "empty"), CheckpointDamaged, "config.json")
    assert not (tmp_path / "run" / "teacher").exists()


def test_fewer_or_narrower_layers_are_taken_as_from_a_teacher(
    finished: tuple[Path, Run, Notes], checkpoint: Path, tmp_path: Path
) -> None:
    notes = Notes()

    for shape in ("layers=2, inner_size=24", "width=8, layers=1"):
        student = f"student={{kind='transformer', start='{checkpoint}', {shape}}}"
        changes = [*LOGITS, student, "distillation.baseline=false"]
        run(finished[0], overrides=changes, out=tmp_path / "run", until=Stage.DISTILLATION, reporter=notes)

    said = [text.partition("small-bert: ")[2] for text in notes.texts if "starts from" in text]
    assert said == [
        "its layers [0, 2] of 3, and its embeddings; not taken over: feed-forward layers (24, and it has 20); "
        "new: classifier, pooler.dense",
        "only its embeddings, reduced to width 8; its layers have width 16",
    ]


def test_a_teacher_without_tokens_may_have_a_student_with_a_checkpoint(
    checkpoint: Path, write_recipe: Write, tmp_path: Path
) -> None:
    recipe = write_recipe(tmp_path / "data")

    student = f"student={{kind='transformer', start='{checkpoint}'}}"
    loaded = load_recipe(recipe, overrides=["teacher={kind='linear'}", student, *LOGITS]).recipe

    assert getattr(loaded.student, "layers", 0) is None

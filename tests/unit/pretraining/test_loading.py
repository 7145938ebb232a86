"""Loading an encoder that is to guess masked words: with its head, with a fresh one, or not at all."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from limbeck.errors import CheckpointDamaged
from limbeck.pretraining.loading import MaskedLM, PretrainingImpossible, load_masked_lm

# DeBERTa's own module compiles a function in a way that torch is about to give up.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

FAMILIES = ["bert", "roberta", "albert", "electra", "distilbert", "mpnet", "deberta", "deberta-v2"]
SaveEncoder = Callable[..., Path]


def load(folder: Path, *, max_length: int = 32) -> MaskedLM:
    return load_masked_lm(folder, name="my-encoder", max_length=max_length)


def is_tied(masked_lm: MaskedLM) -> bool:
    model = masked_lm.model
    return model.get_output_embeddings().weight is model.get_input_embeddings().weight


@pytest.mark.parametrize("family", FAMILIES)
def test_a_body_without_a_head_gets_one_that_shares_its_word_vectors(save_encoder: SaveEncoder, family: str) -> None:
    masked_lm = load(save_encoder(family))

    assert masked_lm.has_new_head
    assert is_tied(masked_lm)


def test_a_fresh_head_shares_the_word_vectors_even_where_the_config_would_not(save_encoder: SaveEncoder) -> None:
    assert is_tied(load(save_encoder("bert", tie_word_embeddings=False)))


def test_a_trained_head_of_its_own_stays_its_own(save_encoder: SaveEncoder) -> None:
    folder = save_encoder("bert", origin="head", tie_word_embeddings=False)

    masked_lm = load(folder)

    kept = load_file(folder / "model.safetensors")["cls.predictions.decoder.weight"]
    assert not masked_lm.has_new_head
    assert not is_tied(masked_lm)
    assert torch.equal(masked_lm.model.cls.predictions.decoder.weight, kept)


def test_no_more_is_read_than_the_model_has_positions_for(save_encoder: SaveEncoder) -> None:
    folder = save_encoder("bert")

    assert load(folder, max_length=500).max_length == 64
    assert load(folder, max_length=20).max_length == 20


@pytest.mark.parametrize("family", ["bert", "albert", "distilbert", "mpnet"])
def test_what_a_classifier_has_besides_is_saved_as_it_was(
    save_encoder: SaveEncoder, family: str, tmp_path: Path
) -> None:
    folder = save_encoder(family, origin="classifier")

    load(folder).save(tmp_path / "saved")

    classifier, loading = transformers.AutoModelForSequenceClassification.from_pretrained(
        tmp_path / "saved", output_loading_info=True
    )
    before = transformers.AutoModelForSequenceClassification.from_pretrained(folder).state_dict()
    assert not loading["missing_keys"]
    assert all(torch.equal(weight, before[name]) for name, weight in classifier.state_dict().items())


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_saved_can_guess_again(save_encoder: SaveEncoder, family: str, tmp_path: Path) -> None:
    masked_lm = load(save_encoder(family))

    masked_lm.save(tmp_path / "saved")

    again = load(tmp_path / "saved")
    assert not again.has_new_head
    assert is_tied(again)


def test_a_tokenizer_without_a_mask_is_refused(save_encoder: SaveEncoder) -> None:
    folder = save_encoder("bert")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]", unk_token="[UNK]"
    )
    tokenizer.save_pretrained(folder)

    with pytest.raises(PretrainingImpossible, match=r"cannot pretrain 'my-encoder'\n.*no mask token\n.*\[teacher\]"):
        load(folder)


def test_a_family_without_such_a_head_is_refused(save_encoder: SaveEncoder) -> None:
    folder = save_encoder("bert")
    config = transformers.XLNetConfig(vocab_size=130, d_model=8, d_inner=8, n_layer=1, n_head=1)
    transformers.AutoModel.from_config(config).save_pretrained(folder)

    with pytest.raises(PretrainingImpossible, match="a xlnet has no head for masked words"):
        load(folder)


def test_a_body_of_which_most_is_missing_is_refused(save_encoder: SaveEncoder) -> None:
    path = save_encoder("bert") / "model.safetensors"
    kept = {name: weight for name, weight in load_file(path).items() if "encoder" not in name}
    save_file(kept, path, metadata={"format": "pt"})

    with pytest.raises(CheckpointDamaged, match="are not in its files"):
        load(path.parent)


def test_a_body_of_another_shape_is_refused(save_encoder: SaveEncoder) -> None:
    path = save_encoder("bert") / "model.safetensors"
    weights = load_file(path)
    name = next(name for name in weights if "position_embeddings" in name)
    save_file({**weights, name: torch.zeros(3, 16)}, path, metadata={"format": "pt"})

    with pytest.raises(CheckpointDamaged, match="another shape than in its config"):
        load(path.parent)

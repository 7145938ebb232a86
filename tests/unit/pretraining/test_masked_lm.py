"""What a model says of masked places: the same as if it had been asked about all, whatever its family."""

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn

from limbeck.pretraining.masked_lm import masked_lm_loss
from limbeck.training.masking import Masked, logits_at

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

FAMILIES = ["bert", "roberta", "albert", "electra", "distilbert", "mpnet", "deberta", "deberta-v2"]
IDS = np.array([[2, 10, 4, 12, 4, 3], [2, 20, 4, 3, 0, 0]])
GUESSES = Masked(ids=IDS, rows=np.array([0, 0, 1]), columns=np.array([2, 4, 2]), answers=np.array([11, 13, 21]))
INPUTS = {"input_ids": torch.from_numpy(IDS), "attention_mask": torch.from_numpy((IDS != 0).astype(int))}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_logits_are_those_of_the_whole_model_at_these_places(
    save_encoder: Callable[..., Path], family: str
) -> None:
    model = transformers.AutoModelForMaskedLM.from_pretrained(save_encoder(family, origin="head")).eval()

    with torch.inference_mode():
        found, everything = logits_at(model, INPUTS, GUESSES), model(**INPUTS).logits

    assert everything.shape[:2] == IDS.shape  # nothing is left behind in the model
    torch.testing.assert_close(found, everything[GUESSES.rows, GUESSES.columns])


class HalfSure(nn.Module):
    """Gives the number of a place as its state, and for it two words the same logit and the others none at all."""

    def __init__(self) -> None:
        super().__init__()
        self.base_model = Places()

    def forward(self, **inputs: Tensor) -> Any:
        states = self.base_model(**inputs).last_hidden_state
        logits = torch.full((*states.shape[:2], 30), -1e9)
        logits[..., 11] = logits[..., 13] = 0.0
        return SimpleNamespace(logits=logits)


class Places(nn.Module):
    def forward(self, input_ids: Tensor, **_: Tensor) -> Any:
        return SimpleNamespace(last_hidden_state=input_ids[..., None].float())


def test_the_loss_is_the_mean_surprise_at_what_stood_there() -> None:
    two = Masked(ids=IDS, rows=np.array([0, 0]), columns=np.array([2, 4]), answers=np.array([11, 13]))

    loss = masked_lm_loss(HalfSure(), INPUTS, two)

    assert float(loss) == pytest.approx(math.log(2))

"""What the model says of the masked places, and how well that fits what stood there."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from limbeck.pretraining.masking import Masked, MaskingVocabulary, masked
from limbeck.pretraining.texts import Places, TextRows
from limbeck.training.batches import token_budget_batches
from limbeck.training.device import Arithmetic, sent
from limbeck.training.modes import evaluating

TRAINING, JUDGING = 0, 1  # in seeds, so that no mask of one is a mask of the other
TOKENS_PER_BATCH = 8_192


def masked_texts(
    texts: TextRows,
    places: Places,
    tokens: MaskingVocabulary,
    *,
    fraction: float,
    seed: list[int],
    device: torch.device,
) -> tuple[dict[str, Tensor], Masked]:
    """These texts as the model reads them, on its device, and what it is to guess."""
    batch = texts.batch(places)
    inside = batch["attention_mask"].astype(bool)
    guesses = masked(batch["input_ids"], inside, tokens, fraction=fraction, seed=seed)
    inputs = {**batch, "input_ids": guesses.ids}
    return {name: sent(torch.from_numpy(column), device) for name, column in inputs.items()}, guesses


def logits_at(model: Any, inputs: dict[str, Tensor], guesses: Masked) -> Tensor:
    """(guesses, vocabulary): the logits of a masked language model at the places to guess, and nowhere else.

    Its head reads every token by itself, so it is handed the states of these tokens as if they were one row. With one
    token in seven to guess, that is a seventh of the work and of the memory of the largest tensor there is.
    """
    device = inputs["input_ids"].device
    rows, columns = (sent(torch.from_numpy(place), device) for place in (guesses.rows, guesses.columns))

    def hand_on(_module: Any, _inputs: Any, states: Any) -> Any:
        states.last_hidden_state = states.last_hidden_state[rows, columns][None]
        return states

    handle = model.base_model.register_forward_hook(hand_on)
    try:
        logits: Tensor = model(**inputs).logits[0]
        return logits
    finally:
        handle.remove()


def guessing_loss(model: Any, inputs: dict[str, Tensor], guesses: Masked) -> Tensor:
    """The mean over all guesses of -log softmax(logits)[answer]."""
    logits = logits_at(model, inputs, guesses)
    return F.cross_entropy(logits.float(), sent(torch.from_numpy(guesses.answers), logits.device))


def judge_guesses(
    model: Any, texts: TextRows, tokens: MaskingVocabulary, *, fraction: float, seed: int, arithmetic: Arithmetic
) -> dict[str, float]:
    """Loss and accuracy of the guesses in the texts that were held back, whose masks are always the same."""
    device = next(iter(model.parameters())).device
    lengths = texts.lengths[texts.held_back]
    loss, right = torch.zeros((), device=device), torch.zeros((), device=device)
    count = 0
    with evaluating(model), torch.autocast(device.type, dtype=torch.bfloat16, enabled=arithmetic == "bf16"):
        for number, some in enumerate(token_budget_batches(lengths, tokens_per_batch=TOKENS_PER_BATCH)):
            inputs, guesses = masked_texts(
                texts,
                texts.held_back[some],
                tokens,
                fraction=fraction,
                seed=[seed, JUDGING, number],
                device=device,
            )
            logits = logits_at(model, inputs, guesses).float()
            answers = sent(torch.from_numpy(guesses.answers), device)
            loss += F.cross_entropy(logits, answers, reduction="sum")
            right += (logits.argmax(dim=1) == answers).sum()
            count += len(answers)
    return {"held_back_loss": float(loss) / count, "held_back_accuracy": float(right) / count}

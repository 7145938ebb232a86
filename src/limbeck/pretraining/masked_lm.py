"""The model's predictions of masked tokens, their loss and their accuracy."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from limbeck.pretraining.texts import Places, TextRows
from limbeck.training.batches import token_budget_batches
from limbeck.training.device import Arithmetic, sent
from limbeck.training.masking import Masked, MaskingVocabulary, logits_at, masked
from limbeck.training.modes import evaluating

TRAINING, EVALUATION = 0, 1  # part of the seed, so that training and evaluation have different masks
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
    """These texts as inputs of the model, on its device, and the tokens that it has to predict."""
    batch = texts.batch(places)
    inside = batch["attention_mask"].astype(bool)
    targets = masked(batch["input_ids"], inside, tokens, fraction=fraction, seed=seed)
    inputs = {**batch, "input_ids": targets.ids}
    return {name: sent(torch.from_numpy(column), device) for name, column in inputs.items()}, targets


def masked_lm_loss(model: Any, inputs: dict[str, Tensor], targets: Masked) -> Tensor:
    """The mean over all masked tokens of -log softmax(logits)[answer]."""
    logits = logits_at(model, inputs, targets)
    return F.cross_entropy(logits.float(), sent(torch.from_numpy(targets.answers), logits.device))


def evaluate_masked_lm(
    model: Any, texts: TextRows, tokens: MaskingVocabulary, *, fraction: float, seed: int, arithmetic: Arithmetic
) -> dict[str, float]:
    """Loss and accuracy on the held-back texts, whose masks are always the same."""
    device = next(iter(model.parameters())).device
    lengths = texts.lengths[texts.held_back]
    loss, right = torch.zeros((), device=device), torch.zeros((), device=device)
    count = 0
    with evaluating(model), torch.autocast(device.type, dtype=torch.bfloat16, enabled=arithmetic == "bf16"):
        for number, some in enumerate(token_budget_batches(lengths, tokens_per_batch=TOKENS_PER_BATCH)):
            inputs, targets = masked_texts(
                texts,
                texts.held_back[some],
                tokens,
                fraction=fraction,
                seed=[seed, EVALUATION, number],
                device=device,
            )
            logits = logits_at(model, inputs, targets).float()
            answers = sent(torch.from_numpy(targets.answers), device)
            loss += F.cross_entropy(logits, answers, reduction="sum")
            right += (logits.argmax(dim=1) == answers).sum()
            count += len(answers)
    return {"held_back_loss": float(loss) / count, "held_back_accuracy": float(right) / count}

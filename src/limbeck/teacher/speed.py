"""How fast the teacher is on this machine: a few seconds of fine-tuning and of labelling, to plan a run's time."""

import numpy as np
import torch

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.teacher.fine_tune import label_loss, start_encoder
from limbeck.training.device import accelerator_for, per_second, training_device
from limbeck.training.optimiser import adamw

STEPS, WARM_UP_ROWS = 4, 16


def encoder_rates(section: EncoderTeacher, corpus: Corpus, rows: Rows) -> tuple[float, float] | None:
    """Rows per second of fine-tuning, and of labelling; None if it is not fine-tuned."""
    if section.train == "none":
        return None
    encoder = start_encoder(section.model_copy(update={"head": "own"}), corpus=corpus)
    model = encoder.model.to(training_device())
    first = rows.select(range(min(WARM_UP_ROWS, len(rows))))
    encoder.logits(first.texts, first.pairs)
    labelling = per_second(lambda: encoder.logits(rows.texts, rows.pairs), rows=len(rows))
    accelerator, loss = accelerator_for(encoder.arithmetic), label_loss(corpus)
    optimiser = adamw(model, learning_rate=1e-6, weight_decay=0.0)
    tokens, labels = encoder.tokenise(rows.texts, rows.pairs), torch.from_numpy(rows.labels.copy())
    in_order = np.argsort([len(row["input_ids"]) for row in tokens])  # as in training: batches of similar lengths
    size = min(section.batch_size, len(rows))
    starts = np.linspace(0, len(rows) - size, STEPS).astype(int).tolist()

    def steps(starts: list[int]) -> None:
        for start in starts:
            places = in_order[start : start + size]
            with accelerator.autocast():
                logits = model(**encoder.batch([tokens[place] for place in places])).logits
            loss(logits.float(), labels[places].to(encoder.device)).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            optimiser.zero_grad()

    model.train()
    steps(starts)  # every shape once: the first step of each takes up to twice as long on a CPU
    return per_second(lambda: steps(starts), rows=size * STEPS), labelling

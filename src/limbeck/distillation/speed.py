"""How fast the student trains on this machine: a few steps, to plan a run's time."""

from typing import Any

import numpy as np
import torch

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows
from limbeck.models.students import word_student
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.student import WordStudent
from limbeck.text.sentences import word_count
from limbeck.training.device import accelerator_for, choose_arithmetic, per_second, training_device
from limbeck.training.optimiser import optimiser_for

STEPS, VOCABULARY = 8, 10_000


def rate_of_student(section: Distillation, *, student: WordStudent, corpus: Corpus, rows: Rows) -> float:
    """Rows per second. Weights and ids are random: the time depends only on shapes."""
    device = training_device()
    model: Any = word_student(
        student,
        vocabulary_size=VOCABULARY,
        embedding_size=student.embedding_size,
        labels=corpus.labels,
        pair=corpus.is_pair,
        problem_type=corpus.task.problem_type,
    ).to(device)
    accelerator = accelerator_for(choose_arithmetic(section.precision))
    optimiser = optimiser_for(model, learning_rate=1e-6, weight_decay=0.0)
    words = np.mean([word_count(text, language=corpus.language) for text in rows.texts])
    width = max(1, min(student.max_length, round(float(words))))
    ids = torch.randint(3, VOCABULARY, (section.batch_size, width), device=device)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if corpus.is_pair:
        inputs |= {"pair_ids": ids, "pair_mask": torch.ones_like(ids)}

    def steps(count: int) -> None:
        for _ in range(count):
            with accelerator.autocast():
                logits = model(**inputs).logits
            logits.float().square().mean().backward()
            optimiser.step()
            optimiser.zero_grad()

    steps(1)
    return per_second(lambda: steps(STEPS), rows=STEPS * section.batch_size)

"""The same student on the same rows: teacher labels asked once and kept, against a teacher that answers in every step.

    python benchmarks/teacher_in_the_loop.py [--rows 2000] [--epochs 3] [--rounds 3] [--out FILE]

Asking in every step is what TextBrewer's distillers and PaddleNLP's distill_lstm do. Both ways run the one training
loop of Limbeck with the same student, seed, batches and loss; the only difference is where the teacher's logits come
from. The cached way pays for its labelling inside the measured time. The ways take turns on one thread, and medians are
compared. Needs the extra `demo` (offline encoder and sentences).
"""

import argparse
import csv
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from limbeck.demo import _packaged_reviews
from limbeck.distillation.losses.logits import logit_mse
from limbeck.models.bilstm import bilstm
from limbeck.progress import SilentReporter
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.student import BiLstm
from limbeck.teacher.checkpoint import find_checkpoint
from limbeck.teacher.encoder import Encoder
from limbeck.teacher.loading import load_encoder
from limbeck.text.word_tokenizer import build_word_tokenizer
from limbeck.timing.machine import machine_facts
from limbeck.training.batches import length_batches
from limbeck.training.loop import train
from limbeck.training.modes import evaluating
from limbeck.training.token_rows import TokenRows

CHECKPOINT, MAX_LENGTH, BATCH = "all-MiniLM-L6-v2", 64, 32
STUDENT = BiLstm(embedding_size=100)
Places = npt.NDArray[np.int64]
TeacherSays = Callable[[Places], Tensor]


def main() -> None:
    """Measure both ways in turn, print the ratio, write the numbers."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=2000)
    options.add_argument("--epochs", type=int, default=3)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--out", type=Path)
    asked = options.parse_args()
    torch.set_num_threads(1)
    texts = sentences(asked.rows)
    torch.manual_seed(0)
    teacher = load_encoder(
        find_checkpoint(CHECKPOINT), max_length=MAX_LENGTH, arithmetic="fp32", labels=["negative", "positive"]
    )
    seconds: dict[str, list[float]] = {"cached": [], "in_the_loop": []}
    weights: dict[str, dict[str, Tensor]] = {}
    for turn in range(asked.rounds + 1):
        for way, samples in seconds.items():
            taken, weights[way] = one_training(way, texts, teacher, epochs=asked.epochs)
            if turn > 0:  # the first turn warms up
                samples.append(taken)
            print(f"{'warm-up' if turn == 0 else f'round {turn}'}, {way}: {taken:.1f} s", file=sys.stderr, flush=True)
    report(asked, seconds, weights)


def sentences(rows: int) -> list[str]:
    """So many movie-review sentences."""
    csv.field_size_limit(sys.maxsize)
    with _packaged_reviews().open(encoding="utf-8", newline="") as file:
        found = [row["text"] for row in csv.DictReader(file) if row["source"] == "rotten_tomatoes"]
    return found[:rows]


def one_training(way: str, texts: list[str], teacher: Encoder, *, epochs: int) -> tuple[float, dict[str, Tensor]]:
    """Seconds of labelling and training together, and the weights the student ends with."""
    tokenizer = build_word_tokenizer(texts, language="en", max_size=18_000, min_count=1, lowercase=True)
    tokens = TokenRows.of([tokenizer.encode(texts, max_length=MAX_LENGTH)], device=torch.device("cpu"))
    torch.manual_seed(0)
    student = bilstm(STUDENT, vocabulary_size=len(tokenizer), embedding_size=100, labels=["a", "b"], pair=False)
    epochs_done = itertools.count()
    started = time.perf_counter()
    says = kept_labels(teacher, texts) if way == "cached" else asked_each_time(teacher, texts)

    def losses(model: nn.Module, places: Places, _done: float) -> dict[str, Tensor]:
        ids, mask = tokens.batch(places, pad=0)
        return {"logit_mse": logit_mse(model(input_ids=ids, attention_mask=mask).logits, says(places))}

    with tempfile.TemporaryDirectory() as work:
        train(
            student,
            Distillation(epochs=epochs, batch_size=BATCH),
            arithmetic="fp32",
            batches=lambda epoch: length_batches(tokens.lengths, batch_size=BATCH, seed=0, epoch=epoch),
            losses=losses,
            validate=lambda _: {"dev_accuracy": float(next(epochs_done)), "dev_loss": 0.0},  # the last epoch is kept
            work_folder=Path(work),
            reporter=SilentReporter(),
            what="training",
        )
    return time.perf_counter() - started, student.state_dict()


def kept_labels(teacher: Encoder, texts: list[str]) -> TeacherSays:
    """Ask for all rows at once, in batches of similar length; then look up."""
    logits = torch.from_numpy(teacher.logits(texts, None))
    return lambda places: logits[places]


def asked_each_time(teacher: Encoder, texts: list[str]) -> TeacherSays:
    """The teacher's forward pass on every batch of the student's training; tokenised once, as the others do."""
    rows = teacher.tokenise(texts)

    def says(places: Places) -> Tensor:
        with evaluating(teacher.model):
            logits: Tensor = teacher.model(**teacher.batch([rows[place] for place in places])).logits
        return logits.clone()

    return says


def report(asked: argparse.Namespace, seconds: dict[str, list[float]], weights: dict[str, dict[str, Tensor]]) -> None:
    """The ratio of the medians; and that both ways trained the same student."""
    medians = {way: statistics.median(samples) for way, samples in seconds.items()}
    apart = max(
        float((weights["cached"][name] - weights["in_the_loop"][name]).abs().max()) for name in weights["cached"]
    )
    facts = {
        "what": "training one Bi-LSTM, seconds with labelling",
        "teacher": CHECKPOINT,
        "rows": asked.rows,
        "epochs": asked.epochs,
        "rounds": asked.rounds,
        "seconds": seconds,
        "median_seconds": medians,
        "ratio": medians["in_the_loop"] / medians["cached"],
        "largest_difference_of_a_weight": apart,
        "machine": machine_facts(threads=torch.get_num_threads()),
    }
    print(json.dumps(facts, indent=1))
    if asked.out:
        asked.out.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

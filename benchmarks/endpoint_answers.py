"""What a fine-tuned MPNet says about texts of SST-2: the answers of the scripted server of endpoint_sst2.py.

    python benchmarks/endpoint_answers.py --data path/to/sst2 --checkpoint path/to/all-mpnet-base-v2

Meant for a GPU, or with less of everything for a CPU; needs nothing but torch and transformers. The texts are those of
`texts_of`, a pool from SST-2's train and all of its dev. The model learns from other rows of train, which share no
five words in a row with any of them, nor are a shorter part of one: SST-2's train has the phrases of its sentences as
rows, too. The file that it writes has no text: probabilities in the order of `texts_of`, and a hash of the texts. The
one that is committed was made on busy cores of a CPU:

    --epochs 1 --rows 2400 --batch-size 32 --learning-rate 2e-4 --layers 2 --texts 2500 --bf16

endpoint_sst2_answers_full.json beside it has those of the whole model, 92.9 % right of dev: the defaults, on an NVIDIA
H200, from weights rounded to half precision. `endpoint_sst2.py --answers` reads it; the page's table is not made of it.
"""

import argparse
import csv
import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
ANSWERS = RESULTS / "endpoint_sst2_answers.json"
WINDOW = 5  # words in a row, by which texts belong together
POOL = 16_000
EPOCHS, BATCH_SIZE, LEARNING_RATE, WARM_UP, MOST_TOKENS = 3, 64, 3e-5, 0.1, 80
Labelled = tuple[str, int]  # a text, and 1 if it is positive


@dataclass(frozen=True)
class Split:
    """Rows of SST-2: for the model to learn from, without labels to ask about, and for a person to check."""

    for_model: list[Labelled]
    pool: list[Labelled]
    test: list[Labelled]

    @property
    def digest(self) -> str:
        """A hash of the texts that the model is asked about."""
        return hashlib.sha256("\n".join(texts_of(self)).encode()).hexdigest()


def texts_of(split: Split) -> list[str]:
    """The texts that the model is asked about."""
    return [text for text, _ in (*split.pool, *split.test)]


def split_of(data: Path, *, texts: int = POOL) -> Split:
    """Half of the groups of texts that share words in a row are the pool, the others the model's; always the same."""
    train, test = (list(dict(rows_of(data / f"{name}.tsv")).items()) for name in ("train", "dev"))
    of_test = set(_windows_of(test))
    train = [row for row in train if of_test.isdisjoint(_windows(row[0]))]
    long = [row for row in train if len(row[0].split()) >= WINDOW]
    groups = _groups(long)
    dice = random.Random(0)
    dice.shuffle(groups)
    of_pool, of_model = groups[::2], groups[1::2]
    pool = [row for group in of_pool for row in group]
    dice.shuffle(pool)
    pool = pool[:texts]
    parts = {part for text, _ in (*pool, *test) for part in _parts(text)}
    short = [row for row in train if len(row[0].split()) < WINDOW and row[0] not in parts]
    return Split([*(row for group in of_model for row in group), *short], pool, test)


def rows_of(path: Path) -> list[Labelled]:
    """The rows of a file of SST-2."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [(line["sentence"].strip(), int(line["label"])) for line in lines]


def _windows(text: str, *, size: int = WINDOW) -> Iterator[str]:
    words = text.split()
    return (" ".join(words[start : start + size]) for start in range(len(words) - size + 1))


def _windows_of(rows: Sequence[Labelled]) -> Iterator[str]:
    return (window for text, _ in rows for window in _windows(text))


def _parts(text: str) -> Iterator[str]:
    return (part for size in range(1, WINDOW) for part in _windows(text, size=size))


def _groups(rows: Sequence[Labelled]) -> list[list[Labelled]]:
    """Rows that share words in a row, directly or by way of others."""
    parent, first = list(range(len(rows))), dict[str, int]()

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = place = parent[parent[place]]
        return place

    for place, (text, _) in enumerate(rows):
        for window in _windows(text):
            parent[root(place)] = root(first.setdefault(window, place))
    found = dict[int, list[Labelled]]()
    for place, row in enumerate(rows):
        found.setdefault(root(place), []).append(row)
    return list(found.values())


def answers_of(split: Split, given: argparse.Namespace) -> tuple[list[float], int]:
    """The probability of "positive" for each text, by a model that is fine-tuned on its rows; and how many they were.

    The last epoch is kept: nothing is chosen by looking at a label of dev.
    """
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    in_bf16 = given.bf16 or device.type == "cuda"
    tokenizer = AutoTokenizer.from_pretrained(given.checkpoint)
    model: Any = AutoModelForSequenceClassification.from_pretrained(given.checkpoint, num_labels=2, dtype=torch.float32)
    model.to(device)
    if given.layers is not None:
        _freeze(model, given.layers)

    def read(texts: Sequence[str]) -> Any:
        options = {"padding": True, "truncation": True, "max_length": MOST_TOKENS, "return_tensors": "pt"}
        batch = tokenizer(list(texts), **options).to(device)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=in_bf16):
            return model(**batch).logits

    dice = random.Random(1)
    rows = dice.sample(split.for_model, min(given.rows or len(split.for_model), len(split.for_model)))
    epochs = [_batches(rows, dice, size=given.batch_size) for _ in range(given.epochs)]
    batches = [batch for epoch in epochs for batch in epoch]
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=given.learning_rate, weight_decay=0.01)
    schedule = get_linear_schedule_with_warmup(optimiser, round(WARM_UP * len(batches)), len(batches))
    model.train()
    for step, batch in enumerate(batches):
        labels = torch.tensor([label for _, label in batch], device=device)
        loss = torch.nn.functional.cross_entropy(read([text for text, _ in batch]).float(), labels)
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 10 == 0:
            print(f"step {step:,} of {len(batches):,}: loss {loss.item():.3f}", flush=True)
    model.eval()
    texts = texts_of(split)
    order, found = sorted(range(len(texts)), key=lambda at: len(texts[at])), [0.0] * len(texts)
    with torch.inference_mode():
        for start in range(0, len(texts), BATCH_SIZE):
            places = order[start : start + BATCH_SIZE]
            shares = read([texts[at] for at in places]).float().softmax(dim=-1)[:, 1].tolist()
            for at, share in zip(places, shares, strict=True):
                found[at] = share
    return found, len(rows)


def _freeze(model: Any, layers: int) -> None:
    """All but the last layers and the head."""
    for weight in model.base_model.parameters():
        weight.requires_grad_(False)
    for layer in model.base_model.encoder.layer[len(model.base_model.encoder.layer) - layers :]:
        for weight in layer.parameters():
            weight.requires_grad_(True)


def _batches(rows: list[Labelled], dice: random.Random, *, size: int) -> list[list[Labelled]]:
    """Rows of similar lengths together, in random order."""
    drawn = sorted(dice.sample(rows, len(rows)), key=lambda row: len(row[0].split()))
    batches = [drawn[start : start + size] for start in range(0, len(drawn), size)]
    return dice.sample(batches, len(batches))


def share_right(rows: Sequence[Labelled], answers: Sequence[float]) -> float:
    """Accuracy."""
    return sum((answer > 0.5) == bool(label) for (_, label), answer in zip(rows, answers, strict=True)) / len(rows)


def main() -> None:
    """Fine-tune, ask, and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--learning-rate", type=float, default=LEARNING_RATE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE)
    parser.add_argument("--layers", type=int, help="train only the last ones, and the head")
    parser.add_argument("--texts", type=int, default=POOL)
    parser.add_argument("--bf16", action="store_true", help="also on a CPU, if it computes in it")
    parser.add_argument("--out", type=Path, default=ANSWERS)
    given = parser.parse_args()
    split = split_of(given.data, texts=given.texts)
    print(f"{len(split.for_model):,} rows for the model, {len(split.pool):,} texts, {len(split.test):,} to judge by")
    answers, rows = answers_of(split, given)
    found = {
        "checkpoint": given.checkpoint.name,
        "rows": rows,
        "epochs": given.epochs,
        "layers": given.layers,
        "pool": given.texts,
        "right_of_pool": round(share_right(split.pool, answers[: len(split.pool)]), 4),
        "right_of_test": round(share_right(split.test, answers[len(split.pool) :]), 4),
        "texts": split.digest,
        "positive": [round(answer, 4) for answer in answers],
    }
    given.out.write_text(json.dumps(found) + "\n", encoding="utf-8")
    print(json.dumps({name: one for name, one in found.items() if name != "positive"}))


if __name__ == "__main__":
    main()

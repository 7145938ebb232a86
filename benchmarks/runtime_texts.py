"""Texts of benchmarks/runtime.py: those that vocabularies are made of, and two sets to time models on."""

import csv
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from limbeck.timing.sample_texts import ENGLISH

WORDS = 24
EXACT_TEXTS, MADE_UP_TEXTS = 64, 20_000


@dataclass(frozen=True)
class Corpus:
    """Text to count words in, with labels, and text of the same kind that none of it was taken from."""

    name: str
    texts: list[str]
    labels: list[str]
    others: list[str]


def corpus() -> Corpus:
    """SST-2 under LIMBECK_DATA; where there is none, sentences of our own, and mixtures of their words."""
    folder = os.environ.get("LIMBECK_DATA")
    if folder and (Path(folder) / "sst2" / "train.tsv").is_file():
        train, dev = (_rows(Path(folder) / "sst2" / f"{split}.tsv") for split in ("train", "dev"))
        texts, labels = zip(*train, strict=True)
        return Corpus("SST-2", list(texts), list(labels), [text for text, _ in dev])
    words = [word for sentence in ENGLISH for word in sentence.split()]
    draw = random.Random(0)
    made_up = [" ".join(draw.choices(words, k=draw.randint(4, 40))) for _ in range(MADE_UP_TEXTS)]
    return Corpus("our own texts", made_up, [str(number % 2) for number in range(MADE_UP_TEXTS)], list(ENGLISH))


def _rows(path: Path) -> list[tuple[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [
            (row["sentence"].strip(), row["label"])
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


def exact_texts(texts: Sequence[str], token_counts: Sequence[Callable[[str], int]]) -> list[str]:
    """Texts of WORDS words, each of which is one token for every tokenizer; frequent words come often, as they do."""
    counts = Counter(word for text in texts for word in text.lower().split() if word.isalpha())
    words = [word for word, _ in counts.most_common(5_000) if all(count(word) == 1 for count in token_counts)]
    draw = random.Random(0)
    weights = [counts[word] for word in words]
    return [" ".join(draw.choices(words, weights, k=WORDS)) for _ in range(EXACT_TEXTS)]

"""Copies a second by each method of augmentation, in one process and in two.

    python benchmarks/augmentation.py [--rows 20000] [--copies 10] [--texts FILE [--column sentence]] [--vectors FILE]
                                      [--rounds 3] [--masked-rows 300] [--out benchmarks/results/augmentation.json]
    python benchmarks/augmentation.py --write-page

Texts are the lines of FILE, or a column of a tab-separated one, or else made up of common words. Each measurement is
the whole stage, from the corpus to the finished artifact; a second includes tagging, comparing and writing. `pos_swap`
is measured with an empty tag store and with a full one. Ways take turns; the quickest round counts, since what else the
machine does only slows a round down. Seconds of processor time, of all processes together, are counted beside those
that pass: on a busy machine they alone say something. Copies are compared over all numbers of processes.

What takes the time of `masked_lm` is its model: all words of some rows in batches are measured against one call for
each word, which is how TinyBERT's augmentation asks. Both mask the same words and must find the same candidates. The
model is a BERT of random weights, four layers of 256, with 30,522 pieces: as much work as a trained one.

--write-page puts the table of benchmarks/results/augmentation.json into docs/augmentation.md.
"""

import argparse
import csv
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.augmentation.language_model import LanguageModel, load_language_model
from limbeck.augmentation.masked_predictions import TextFrame, answers_about
from limbeck.augmentation.piece_words import Blank, blanks_in
from limbeck.augmentation.run import augment
from limbeck.augmentation.words import cut_words
from limbeck.progress import SilentReporter
from limbeck.recipe.augmentation import Augmentation
from limbeck.text.language import detect_language
from limbeck.timing.machine import machine_facts
from limbeck.training.modes import quiet_transformers

ROOT = Path(__file__).resolve().parent.parent
RESULT, PAGE = ROOT / "benchmarks" / "results" / "augmentation.json", ROOT / "docs" / "augmentation.md"
START, END = "<!-- speed -->", "<!-- /speed -->"
KEY = Key(section={}, inputs={})
PROCESSES = (1, 2)
Seconds = dict[tuple[str, int], list[tuple[float, float]]]  # by way and processes: that passed, and of the processor
PIECES, CANDIDATES = 30_522, 15  # of the language model; asked for each word
LAYERS, WIDTH = 4, 256
COMMON = """
the a an this that every some no film story scene actor camera evening music script city garden letter road friend
window house river morning summer old new long short quiet blue green gentle clever dull bright slow is was has had
makes takes gives finds leaves slowly again today often never quite very with and or but of in under over about ,
. ! he she they it one two three who what
"""
WORDS = COMMON.split()


def main() -> None:
    """Measure every method, or write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--copies", type=int, default=10)
    parser.add_argument("--texts", type=Path, help="a file of plain lines; default: texts are made up")
    parser.add_argument("--column", help="of a file that is tab-separated and has a header: where its texts are")
    parser.add_argument("--vectors", type=Path, help="a file of word vectors; default: random ones")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--masked-rows", type=int, default=300, help="rows that the language model is asked about")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--write-page", action="store_true")
    arguments = parser.parse_args()
    if arguments.write_page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    text = json.dumps(measured(arguments), indent=1) + "\n"
    print(text, end="")
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


def measured(arguments: argparse.Namespace) -> dict[str, Any]:
    """The numbers of every method, and what they hold for."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = _texts(arguments.texts, arguments.column, count=arguments.rows)
        corpus = _corpus(folder, texts)
        vectors = arguments.vectors or _vectors(folder, texts)
        found = _measured(folder, corpus, _ways(str(vectors)), copies=arguments.copies, rounds=arguments.rounds)
        masked = _masked_lm(folder, texts[: arguments.masked_rows], language=corpus.language, rounds=arguments.rounds)
    return {
        "machine": machine_facts(threads=max(PROCESSES)),
        "load_average": round(os.getloadavg()[0], 1),
        "texts": f"{arguments.texts.parent.name}/{arguments.texts.name}" if arguments.texts else "made up",
        "vectors": arguments.vectors.name if arguments.vectors else "random",
        "language": corpus.language,
        "rows": len(texts),
        "copies": arguments.copies,
        "spaced_words_a_row": round(statistics.mean(len(text.split()) for text in texts), 1),
        "rounds": arguments.rounds,
        "ways": found,
        "masked_lm": masked,
    }


def _processor_seconds() -> float:
    """Of this process, and of all that it has started and seen end."""
    return sum(os.times()[:4])


def _ways(vectors: str) -> dict[str, list[dict[str, Any]]]:
    masking, pos_swap, ngram = {"kind": "masking"}, {"kind": "pos_swap"}, {"kind": "ngram"}
    return {
        "masking": [masking],
        "pos_swap, texts tagged": [pos_swap],
        "pos_swap, tags in the store": [pos_swap],
        "ngram": [ngram],
        "masking + pos_swap + ngram": [masking, pos_swap, ngram],
        "word_vectors": [{"kind": "word_vectors", "path": vectors}],
        "delete": [{"kind": "delete"}],
        "swap": [{"kind": "swap"}],
    }


def _measured(
    folder: Path, corpus: Corpus, ways: dict[str, list[dict[str, Any]]], *, copies: int, rounds: int
) -> list[dict[str, Any]]:
    seconds: Seconds = {(way, count): [] for way in ways for count in PROCESSES}
    kept: dict[str, set[tuple[int, str]]] = {way: set() for way in ways}
    for number in range(rounds):
        for way, count in seconds:
            if way == "pos_swap, texts tagged":
                shutil.rmtree(folder / "store", ignore_errors=True)
            section = Augmentation.model_validate({"copies": copies, "methods": ways[way], "processes": count})
            started = perf_counter(), _processor_seconds()
            transfer = augment(
                section,
                corpus=corpus,
                store=folder / "store",
                out=folder / "augmented",
                key=KEY,
                reporter=SilentReporter(),
            )
            seconds[way, count].append((perf_counter() - started[0], _processor_seconds() - started[1]))
            kept[way].add((len(transfer.rows), transfer.training_fingerprint))
            print(
                f"round {number + 1}: {way}, {count}: {seconds[way, count][-1][1]:.2f} s", file=sys.stderr, flush=True
            )
    asked = len(corpus.splits["train"]) * copies
    return [_numbers(way, seconds, kept[way], asked=asked) for way in ways]


def _numbers(way: str, seconds: Seconds, kept: set[tuple[int, str]], *, asked: int) -> dict[str, Any]:
    if len(kept) != 1:
        raise RuntimeError(f"{way}: other copies with another number of processes")
    numbers: dict[str, Any] = {"way": way, "copies_kept": next(iter(kept))[0]}
    for count in PROCESSES:
        passed, worked = (min(values) for values in zip(*seconds[way, count], strict=True))
        numbers |= {f"seconds_{count}": round(passed, 2), f"processor_seconds_{count}": round(worked, 2)}
    worked = numbers[f"processor_seconds_{PROCESSES[0]}"]
    return {**numbers, "copies_per_processor_second": round(asked / worked)}


def _masked_lm(folder: Path, texts: Sequence[str], *, language: str, rounds: int) -> dict[str, Any]:
    """Both ways on the same model and in the same arithmetic."""
    model = _language_model(folder / "language-model", texts)
    seconds: dict[str, list[float]] = {"batched": [], "word_by_word": []}
    for _ in range(rounds):
        started = _processor_seconds()
        answers = answers_about(texts, model, language=language, most=CANDIDATES)
        seconds["batched"].append(_processor_seconds() - started)
        started = _processor_seconds()
        found = [_word_by_word(text, model, language=language) for text in texts]
        seconds["word_by_word"].append(_processor_seconds() - started)
        if [words for text in found for words in text] != [words for answer in answers for words in answer.found]:
            raise RuntimeError("masked_lm: other words in batches than word by word")
    batched, alone = (min(seconds[way]) for way in ("batched", "word_by_word"))
    return {
        "model": f"BERT of random weights, {LAYERS} layers of {WIDTH}, {PIECES:,} pieces",
        "threads": torch.get_num_threads(),
        "rows": len(texts),
        "words_asked": sum(len(answer.words) for answer in answers),
        "processor_seconds_batched": round(batched, 3),
        "processor_seconds_word_by_word": round(alone, 3),
        "times_faster": round(alone / batched, 1),
    }


def _word_by_word(text: str, model: LanguageModel, *, language: str) -> list[str]:
    """What `answers_about` finds for one text, by one call for each word, with logits for every token of the text."""
    pieces = model.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    ids, cut = pieces["input_ids"], cut_words(text, language=language)
    unknown = model.tokenizer.unk_token_id
    frame = TextFrame.of(model.tokenizer, max_length=model.max_length)
    found = []
    for blank in blanks_in(text, cut, ids, pieces["offset_mapping"], language=language, unknown=unknown):
        masked = frame.masked([ids], [(0, blank)])
        with torch.inference_mode():
            inputs = {name: torch.from_numpy(values) for name, values in masked.inputs.items()}
            logits = model.model(**inputs).logits[0]
        found += [_best(logits[column], cut.words[blank.word], blank, model) for column in masked.columns]
    return found


def _best(logits: torch.Tensor, word: str, blank: Blank, model: LanguageModel) -> str:
    """The most probable names of the word's kind; of letters, other ones than the word."""
    names = model.vocabulary.words if blank.kind == "word" else model.vocabulary.characters
    most = CANDIDATES + (blank.kind == "han" and len(word) == 1)
    found: list[str] = []
    for piece in logits.argsort(descending=True).tolist():
        name = names[piece]
        if name is not None and (blank.kind == "han" or name != word.lower()):
            found.append(name)
        if len(found) == most:
            break
    return " ".join(found)


def _language_model(folder: Path, texts: Sequence[str]) -> LanguageModel:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    syllables = ["".join(letters) for letters in product("bdfgklmnprstv", "aeiou", "lmnrs")]
    made_up = ("".join(two) for two in product(syllables, repeat=2))
    words = dict.fromkeys([*special, *(word.lower() for text in texts for word in text.split()), *made_up])
    pieces = list(words)[:PIECES]
    torch.manual_seed(0)
    quiet_transformers()
    BertForMaskedLM(
        BertConfig(
            vocab_size=len(pieces),
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=4,
            intermediate_size=4 * WIDTH,
        )
    ).save_pretrained(folder)
    BertTokenizer(vocab={piece: number for number, piece in enumerate(pieces)}).save_pretrained(folder)
    return replace(load_language_model(folder, name="random", max_length=128), arithmetic="fp32")


def _texts(path: Path | None, column: str | None, *, count: int) -> list[str]:
    if path is None:
        dice = random.Random(0)
        return [" ".join(dice.choices(WORDS, k=dice.randint(4, 20))) for _ in range(count)]
    with path.open(encoding="utf-8", newline="") as lines:
        found = (
            [row[column] for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)] if column else lines
        )
        return [text for line in found if (text := line.strip())][:count]


def _corpus(folder: Path, texts: Sequence[str]) -> Corpus:
    train = Rows.of(ids=[f"train-{number}" for number in range(len(texts))], texts=texts)
    dev = Rows.of(ids=["dev-0"], texts=["a row to judge by"])
    facts = {"name": "benchmark", "labels": ["no", "yes"], "language": detect_language(texts), "pair": False}
    with written_atomically(folder / "corpus", kind="corpus", key=KEY) as scratch:
        save_corpus(scratch, splits={"train": train, "dev": dev}, facts=facts)
    return Corpus(folder / "corpus")


def _vectors(folder: Path, texts: Sequence[str]) -> Path:
    """Random vectors of a hundred numbers for the words of the texts, and for some thousands more."""
    words = [*dict.fromkeys(word for text in texts for word in text.split()), *(f"word{n}" for n in range(20_000))]
    numbers = np.random.default_rng(0).standard_normal((len(words), 100)).round(4)
    lines = (f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, numbers.tolist(), strict=True))
    path = folder / "vectors.txt"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def page(text: str) -> str:
    """The page with the table between its marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{table(json.loads(RESULT.read_text(encoding='utf-8')))}\n\n{END}{after}"


def table(found: Mapping[str, Any]) -> str:
    """The results as Markdown."""
    lines = ["| method | copies a second |", "|---|---:|"]
    lines += [f"| {way['way']} | {round(way['copies_per_processor_second'], -2):,} |" for way in found["ways"]]
    machine, masked = found["machine"], found["masked_lm"]
    rates = (masked["words_asked"] / masked[f"processor_seconds_{way}"] for way in ("batched", "word_by_word"))
    batched, alone = (f"{rate:,.0f}" for rate in rates)
    setup = (
        f"{found['rows']:,} rows of {found['texts']}, {found['spaced_words_a_row']} words each; {found['copies']} "
        f"copies of each were asked for.\nThe whole stage in one process, the quickest of {found['rounds']} rounds; "
        f"seconds of one core's time ({machine['cpu']})."
    )
    asked = (
        f"A language model ({masked['model']}) is asked about {batched} words a second\nin batches, about {alone} word "
        f"by word, as TinyBERT's program asks: {masked['times_faster']} times as many. Both find the same candidates\n"
        f"for all {masked['words_asked']:,} words of {masked['rows']:,} rows."
    )
    return "\n".join([*lines, "", setup, "", asked])


if __name__ == "__main__":
    main()

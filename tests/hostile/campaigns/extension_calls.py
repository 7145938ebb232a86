"""Random calls of the C++ extension, in a process of its own that may die.

    python -m tests.hostile.campaigns.extension_calls LIBRARY CALLS SEED FIRST THREADS GRAPH…

LIBRARY is a build of the extension, GRAPH a model.onnx to change. Cases are numbered from FIRST on, until CALLS calls
were made. A line of JSON for each: number, what it is, how many calls it made, and the outcome, "" if it is good. The
line is printed in two parts: the end of the process leaves the first one alone, and names it. With THREADS above 1,
each case is done by as many threads at once, on the same objects.
"""

import faulthandler
import importlib.util
import json
import sys
import tempfile
import threading
import traceback
from array import array
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.text.ngram_characters import page_of_characters
from limbeck.text.ngrams import NgramIds, NgramSettings
from tests.hostile.campaigns.random_networks import (
    Array,
    Columns,
    Draw,
    Strange,
    network_arguments,
    random_columns,
    spoilt,
    spoilt_call,
)
from tests.hostile.campaigns.random_texts import random_settings, random_text, spoilt_page, spoilt_words

MODULE = "limbeck.runtime._native"
REFUSALS = (ValueError, TypeError, RuntimeError, OverflowError, MemoryError, LookupError)  # the last by Strange
KINDS = [*6 * ["network"], *8 * ["spoilt_network"], "reader", "spoilt_reader", *2 * ["model"]]  # methods of Case
NOTHING = 1  # the id of a text without words
LIMITS = [(1, 10), (5, 1000), (64, 10_000)]  # words and characters of a text
ROUNDS = 4
PATIENCE = 300  # seconds for one case, which takes milliseconds; it is a finding if it does not end


class Wrong(Exception):
    """A call gave what it must not give."""


class Case:
    """Counts its calls, and makes them."""

    def __init__(self, native: Any, seed: str, graphs: list[Path]) -> None:
        self.native, self.draw, self.graphs = native, Draw(seed), graphs
        self.chance, self.calls, self._counting = self.draw.chance, 0, threading.Lock()
        self.levels = native.levels()

    def call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """One call of the extension."""
        with self._counting:
            self.calls += 1
        return function(*arguments, **options)

    def tried(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """One call that may be refused."""
        try:
            return self.call(function, *arguments, **options)
        except REFUSALS:
            return None

    def network(self) -> None:
        """A network that fits together, asked for rows that it can read and for others."""
        kind, arguments = network_arguments(self.draw, self.levels)
        network = self.call(getattr(self.native, kind), **arguments)
        words, pair = len(arguments["embeddings"]) - 1, arguments["pair"]
        classes = len(arguments["classifier"][1])
        for _ in range(self.chance.randint(1, 4)):
            rows = self.chance.choice([0, 1, 2, 5, 40, 130])
            columns, out = random_columns(self.draw, words, pair=pair, rows=rows), np.empty((rows, classes), np.float32)
            if self.chance.random() < 0.4:
                self.tried(network.logits, *spoilt_call(self.draw, columns, out, words))
            else:
                self.same_alone(network, columns, out)
        if self.call(network.folded_bytes) > max(0, arguments["folding_bytes"]):
            raise Wrong("the cache is larger than it may be")

    def same_alone(self, network: Any, columns: Columns, out: Array) -> None:
        """A row has the same logits in company, and with other numbers of threads."""
        self.call(network.logits, columns, out, self.chance.choice([1, 2, 3, 64]))
        if len(out):
            row = self.chance.randrange(len(out))
            alone = np.empty((1, out.shape[1]), np.float32)
            self.call(network.logits, [[column[row]] for column in columns], alone, 1)
            if alone.tobytes() != out[row].tobytes() and not np.isnan(alone).any():
                raise Wrong(f"row {row}: {alone[0].tolist()} alone, {out[row].tolist()} in company")

    def spoilt_network(self) -> None:
        """Arguments with a mistake; where it is none, rows of any kind."""
        kind, arguments = network_arguments(self.draw, self.levels)
        for _ in range(self.chance.choice([1, 1, 2])):
            spoilt(self.draw, arguments)
        network = self.tried(getattr(self.native, kind), **arguments)
        if network is not None:
            columns = random_columns(self.draw, 3, pair=self.chance.random() < 0.5, rows=3)
            self.tried(network.logits, columns, np.empty((3, self.chance.randint(1, 4)), np.float32), 2)

    def reader(self) -> None:
        """Texts to n-grams, as Python reads them."""
        settings, is_usual = random_settings(self.chance)
        native = self.call if is_usual else self.tried
        reader = native(self.native.Ngrams, **settings)
        texts = [random_text(self.chance) for _ in range(self.chance.randint(1, 6))]
        for text in texts if reader is not None else ():
            if is_usual:
                limits = self.chance.choice(LIMITS)
                self.same_as_python(reader, NgramIds(NgramSettings(**settings)), text, limits)
            else:
                self.tried(reader.read, [text], 5, 1000)

    def same_as_python(self, reader: Any, python: NgramIds, text: str, limits: tuple[int, int]) -> None:
        """The reader is given what it asks for, then says what Python says."""
        most, characters = limits
        for _ in range(ROUNDS):
            (found,) = self.call(reader.read, [text], most, characters)
            if not isinstance(found, list):
                break
            for wanted in found:
                if isinstance(wanted, int):
                    self.call(reader.add_page, wanted, page_of_characters(wanted))
                else:
                    self.call(reader.add_piece, wanted, python.units(wanted))
        if isinstance(found, bytes):
            expected = array("i", python.of_text(text[:characters], most) or [NOTHING]).tobytes()
            if found != expected:
                raise Wrong(f"{text!r} is read as {found!r}, by Python as {expected!r}")

    def spoilt_reader(self) -> None:
        """Pages and pieces that Python would not give, and texts behind them."""
        buckets = self.chance.choice([2, 1000, 2**31 - 4])
        reader, python = self.call(self.native.Ngrams, buckets=buckets), NgramIds(NgramSettings(buckets=buckets))
        text = random_text(self.chance)
        for _ in range(ROUNDS):
            found = self.tried(reader.read, [text], self.chance.choice([1, 7, 2**62]), self.chance.choice([3, 2**62]))
            for wanted in found[0] if found and isinstance(found[0], list) else ():
                if isinstance(wanted, int):
                    self.tried(reader.add_page, wanted, spoilt_page(self.chance, page_of_characters(wanted)))
                else:
                    self.tried(reader.add_piece, wanted, spoilt_words(self.chance, python.units(wanted)))
        odd: list[Any] = [None, 7, -1, 2**70, "a", "\ud800", b"a", [], Strange(), 0x1100, 0x10FF]
        self.tried(reader.add_page, self.chance.choice(odd), spoilt_page(self.chance, page_of_characters(0)))
        self.tried(reader.add_piece, self.chance.choice(odd), spoilt_words(self.chance, ()))
        self.tried(reader.read, self.chance.choice([*odd, [text, None], [b"a"]]), 5, self.chance.choice([*odd, 5]))

    def model(self) -> None:
        """A model.onnx with changed bytes, as a model folder would bring it."""
        from limbeck.runtime.native_graph import native_network
        from limbeck.runtime.onnx_file import read_onnx

        data = bytearray(self.chance.choice(self.graphs).read_bytes())
        for _ in range(self.chance.choice([0, 1, 1, 4, 32])):
            data[self.chance.randrange(len(data))] = self.chance.randrange(256)
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "model.onnx"
            path.write_bytes(data)
            network: Any = self.tried(lambda: native_network(read_onnx(path)))
        if network is not None:
            columns = random_columns(self.draw, 8, pair=False, rows=5)
            self.tried(network.logits, columns, np.empty((5, 3), np.float32), 2)

    def shared(self, threads: int) -> None:
        """One network and one reader for all threads: each finds what the first one found."""
        kind, arguments = network_arguments(self.draw, self.levels)
        network, words = self.call(getattr(self.native, kind), **arguments), len(arguments["embeddings"]) - 1
        rows = self.chance.choice([1, 20, 70])
        columns = random_columns(self.draw, words, pair=arguments["pair"], rows=rows)
        reader, python = self.call(self.native.Ngrams, buckets=1000), NgramIds(NgramSettings(buckets=1000))
        texts, limits = [random_text(self.chance) for _ in range(3)], self.chance.choice(LIMITS)
        found: list[bytes] = []
        failures: list[str] = []

        def work() -> None:
            try:
                out = np.empty((rows, len(arguments["classifier"][1])), np.float32)
                self.call(network.logits, columns, out, 2)
                found.append(np.nan_to_num(out).tobytes())
                for text in texts:
                    self.same_as_python(reader, python, text, limits)
                self.tried(network.logits, [[[words]]], out, 1)
            except BaseException:
                failures.append(traceback.format_exc())

        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if failures or len(set(found)) != 1:
            raise Wrong(failures[0] if failures else "threads found different logits")


def main() -> None:
    """Case after case."""
    library, seed, graphs = Path(sys.argv[1]), sys.argv[3], [Path(graph) for graph in sys.argv[6:]]
    calls, first, threads = int(sys.argv[2]), int(sys.argv[4]), int(sys.argv[5])
    native = loaded(library)
    number, done = first, 0
    while done < calls:
        case = Case(native, f"{seed} {number}", graphs)
        name = case.chance.choice(KINDS) if threads == 1 else "shared"
        print(json.dumps([number, name])[:-1], end=", ", flush=True)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try:
            case.shared(threads) if threads > 1 else getattr(case, name)()
            outcome = ""
        except BaseException:
            outcome = traceback.format_exc()
        done += max(1, case.calls)
        print(f"{max(1, case.calls)}, {json.dumps(outcome)}]", flush=True)
        number += 1


def loaded(library: Path) -> Any:
    """A build of the extension, in the place of the installed one."""
    loader = ExtensionFileLoader(MODULE, str(library))
    spec = importlib.util.spec_from_loader(MODULE, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[MODULE] = module
    from limbeck.runtime import native_graph

    assert vars(native_graph)["_native"] is module, "the installed extension was imported before"
    return module


if __name__ == "__main__":
    main()

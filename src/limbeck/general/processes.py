"""Cutting and tokenising of much text in several processes, ahead of what reads the results."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from limbeck.text.student_tokenizer import UNK_ID, StudentTokenizer

BYTES_FOR_PROCESSES = 20_000_000  # below, starting them takes longer than they save
MOST_PROCESSES = 8

Given = TypeVar("Given")
Found = TypeVar("Found")
Rows = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]  # all ids one after the other, and the length of each row


def in_processes(work: Callable[[Given], Found], blocks: Iterable[Given], *, size: int) -> Iterator[Found]:
    """The work on every block, in their order; in other processes if there are that many bytes and several cores."""
    with _executor(size) as executor:
        yield from map(work, blocks) if executor is None else _in_turn(executor, work, blocks)


@contextmanager
def _executor(size: int) -> Iterator[Executor | None]:
    processes = min(cpu_count() or 1, MOST_PROCESSES)
    if size < BYTES_FOR_PROCESSES or processes < 2:
        yield None
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_one_thread) as executor:
        yield executor


def _one_thread() -> None:
    """Each process tokenises with one thread: there is a process for every core."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def _in_turn(executor: Executor, work: Callable[[Given], Found], blocks: Iterable[Given]) -> Iterator[Found]:
    """The results in order, with a few blocks at work: a large text is never in memory as a whole twice."""
    waiting: list[Future[Found]] = []
    for block in blocks:
        waiting.append(executor.submit(work, block))
        if len(waiting) > 2 * MOST_PROCESSES:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


def words_of(tokenizer: Path, max_length: int, texts: Sequence[str]) -> Rows:
    """The ids of these texts by the tokenizer of a student of words; a text without any token is the unknown word."""
    return _as_arrays([row or [UNK_ID] for row in _student_tokenizer(tokenizer).encode(texts, max_length=max_length)])


def pieces_of(tokenizer: Path, texts: Sequence[str]) -> Rows:
    """The ids of these texts by a tokenizer of the tokenizers library, without special tokens and whole."""
    found = _piece_tokenizer(tokenizer).encode_batch_fast(list(texts), add_special_tokens=False)
    return _as_arrays([one.ids for one in found])


@cache
def _student_tokenizer(path: Path) -> StudentTokenizer:
    return StudentTokenizer.load(path)


@cache
def _piece_tokenizer(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _as_arrays(rows: Sequence[Sequence[int]]) -> Rows:
    """Arrays are sent between processes much faster than lists."""
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    return np.fromiter((number for row in rows for number in row), dtype=np.int32, count=int(lengths.sum())), lengths

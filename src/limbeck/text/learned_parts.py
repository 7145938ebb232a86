"""Cuts runs of letters into parts that the texts themselves repeat, for languages without spaces between words.

Nothing is known of the language. What occurs often is a part; how often is counted again in the likeliest cut of each
run, until parts that are only pieces of others have gone.
"""

import math
from collections import Counter

from tokenizers.models import Unigram

from limbeck.text.jieba_words import Cut

LONGEST_PART = 8  # characters
ROUNDS = 4
ABSENT = "\ufffd"  # what is not there has this name in the model


def cut_by_parts(runs: Counter[str], *, min_count: int) -> Cut:
    """A function that cuts a run into parts, learned from how often each run occurs."""
    counts = _frequent(runs, min_count=max(2, min_count))
    characters = {character for run in runs for character in run}
    for _ in range(ROUNDS):
        cut = _cutter(counts, characters)
        counts = Counter()
        for run, count in runs.items():
            for part in cut(run):
                counts[part] += count
    return _cutter(counts, characters)


def _frequent(runs: Counter[str], *, min_count: int) -> Counter[str]:
    """How often each part occurs in the runs; a long one is counted only if those inside of it are frequent."""
    found = Counter[str]()
    shorter: set[str] = set()
    for size in range(1, LONGEST_PART + 1):
        here = Counter[str]()
        for run, count in runs.items():
            for start in range(len(run) - size + 1):
                part = run[start : start + size]
                if size == 1 or (part[1:] in shorter and part[:-1] in shorter):
                    here[part] += count
        shorter = {part for part, count in here.items() if count >= min_count}
        found.update({part: here[part] for part in shorter})
        if not shorter:
            break
    return found


def _cutter(counts: Counter[str], characters: set[str]) -> Cut:
    """The cut with the highest product of frequencies; every character is a part, if only a rare one."""
    total = math.log(max(1, counts.total()))
    scores = {part: math.log(count) - total for part, count in counts.items()}
    rarest = [(character, -total) for character in sorted(characters - scores.keys())]
    model = Unigram([(ABSENT, -2 * total - 1), *sorted(scores.items()), *rarest], unk_id=0)
    return lambda run: [token.value for token in model.tokenize(run)]

"""The numbers of quality.json: for all copies, and for those that each method changed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.augmentation.copies import CopyMaker, Tally
from limbeck.augmentation.judging import CopyVerdict, Verdicts
from limbeck.augmentation.originals import Originals, Part

REPEATS = (CopyVerdict.DUPLICATE, CopyVerdict.IN_TRAIN, CopyVerdict.IN_TRANSFER, CopyVerdict.IN_DEV_OR_TEST)


def quality_of(
    copy_maker: CopyMaker,
    tally: Tally,
    verdicts: Verdicts,
    *,
    originals: Originals,
    sources: npt.NDArray[np.int32],
    changes: npt.NDArray[np.integer[Any]],
    preparing: Sequence[float],
    seconds: float,
) -> dict[str, Any]:
    """The contents of quality.json. `sources` (copies) and `changes` (copies, methods) describe the changed copies;
    `preparing` are the seconds that each method needed to prepare, `seconds` is the total time.

    The seconds reported for a method are those that one process would need if it were the only method.
    """
    is_kept, rows = verdicts == CopyVerdict.KEPT, len(originals.rows)
    shared_seconds = tally.all_seconds - sum(tally.seconds)
    by_method = [
        {
            "kind": method.kind,
            "asked": tally.asked,
            "unchanged": tally.asked - tally.copies_changed[number],
            "duplicates": int((np.isin(verdicts, REPEATS) & (changes[:, number] > 0)).sum()),
            "kept": int((is_kept & (changes[:, number] > 0)).sum()),
            "sources": rows,
            "sources_used": _distinct(sources[is_kept & (changes[:, number] > 0)]),
            **_words(tally, tally.words_changed[number]),
            **_speed(tally, preparing[number] + tally.seconds[number] + shared_seconds),
        }
        for number, method in enumerate(copy_maker.methods)
    ]
    return {
        "copies": originals.parts["train"].copies if "train" in originals.parts else 0,
        "asked": tally.asked,
        "unchanged": tally.unchanged,
        "all_masks": tally.all_masks,
        "duplicates": _count(verdicts, CopyVerdict.DUPLICATE),
        "in_train": _count(verdicts, CopyVerdict.IN_TRAIN),
        **({"in_transfer": _count(verdicts, CopyVerdict.IN_TRANSFER)} if "transfer" in originals.parts else {}),
        "in_dev_or_test": _count(verdicts, CopyVerdict.IN_DEV_OR_TEST),
        "not_drawn": _count(verdicts, CopyVerdict.NOT_DRAWN),
        "kept": _count(verdicts, CopyVerdict.KEPT),
        "sources": rows,
        "sources_used": _distinct(sources[is_kept]),
        **({"of_transfer": _of_part("transfer", originals, sources[is_kept])} if "transfer" in originals.parts else {}),
        **_words(tally, sum(tally.words_changed)),
        **_speed(tally, seconds),
        "methods": by_method,
    }


def _of_part(part: Part, originals: Originals, kept: npt.NDArray[np.int32]) -> dict[str, int]:
    """The numbers of one part; `kept` are the sources of all copies that are kept."""
    rows, copies = originals.parts[part]
    own = kept[originals.of_part(part, kept)]
    return {
        "copies": copies,
        "asked": len(rows) * copies,
        "kept": len(own),
        "sources": len(rows),
        "sources_used": _distinct(own),
    }


def _count(verdicts: Verdicts, verdict: CopyVerdict) -> int:
    return int((verdicts == verdict).sum())


def _distinct(sources: npt.NDArray[np.integer[Any]]) -> int:
    return len(np.unique(sources))


def _words(tally: Tally, changed: int) -> dict[str, Any]:
    return {"words_changed": changed, "words_changed_share": round(changed / tally.words, 4) if tally.words else 0.0}


def _speed(tally: Tally, seconds: float) -> dict[str, Any]:
    return {"seconds": round(seconds, 3), "rows_per_second": round(tally.asked / seconds) if seconds > 0 else None}

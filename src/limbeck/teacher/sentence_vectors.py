"""What an encoder makes of texts, as one vector each: for telling kinds of texts apart before anybody labels them."""

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.rows import Rows
from limbeck.progress import Reporter
from limbeck.teacher.checkpoint import checkpoint_fingerprint, find_checkpoint
from limbeck.teacher.loading import load_encoder
from limbeck.training.device import choose_arithmetic, training_device

Vectors = npt.NDArray[np.float16]
MOST_TOKENS = 128  # of a text: its beginning says what it is about


def sentence_vectors(checkpoint: str, rows: Rows, *, keep_in: Path, reporter: Reporter) -> Vectors:
    """(rows, width) of length 1: the mean of an encoder's last states. They are kept in a folder and read again, so
    that the same texts are chosen again where the machine computes a little differently."""
    digest = hashlib.sha256(checkpoint_fingerprint(checkpoint).encode() + rows.keys.tobytes()).hexdigest()[:16]
    path = keep_in / f"vectors-{digest}.npy"
    if path.exists():
        kept: Vectors = np.load(path)
        return kept
    encoder = load_encoder(
        find_checkpoint(checkpoint), max_length=MOST_TOKENS, arithmetic=choose_arithmetic("auto"), labels=["0", "1"]
    )
    encoder.model.to(training_device())
    with reporter.bar(f"vectors by {Path(checkpoint).name}", total=len(rows), unit="texts") as bar:
        _, found = encoder.logits_and_features(rows.texts, rows.pairs, pooling="mean", bar=bar)
    length = np.linalg.norm(found.astype(np.float32), axis=1, keepdims=True)
    vectors: Vectors = (found / np.maximum(length, 1e-6)).astype(np.float16)
    scratch = path.with_name(f"{path.name}.partial.npy")
    np.save(scratch, vectors)
    scratch.replace(path)
    return vectors

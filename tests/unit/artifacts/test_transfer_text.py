"""Transfer text on disk: rows without labels and the numbers of how they were gathered."""

from pathlib import Path

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import NO_LABEL, Rows
from limbeck.artifacts.transfer_text import TransferText, save_transfer_text


def test_rows_and_quality_are_read_back(tmp_path: Path) -> None:
    rows = Rows.of(ids=["transfer:0", "transfer:1"], texts=["a film", "好电影"])
    with written_atomically(tmp_path / "transfer", kind="transfer", key=Key(section={}, inputs={})) as scratch:
        save_transfer_text(scratch, rows=rows, quality={"read": 3, "kept": 2})

    transfer = TransferText(tmp_path / "transfer")

    assert transfer.rows.texts == ["a film", "好电影"]
    assert set(transfer.rows.labels.tolist()) == {NO_LABEL}
    assert transfer.quality == {"read": 3, "kept": 2}
    assert len(transfer.fingerprint) == 32


def test_what_training_goes_by_are_the_rows_alone(tmp_path: Path) -> None:
    """The counts tell of test rows that were kept out; those teach nothing."""
    fingerprints = {}
    for name, texts, found in (("one", ["a"], 0), ("two", ["a"], 5), ("three", ["b"], 0)):
        with written_atomically(tmp_path / name, kind="transfer", key=Key(section={}, inputs={})) as scratch:
            save_transfer_text(scratch, rows=Rows.of(ids=["transfer:0"], texts=texts), quality={"found": found})
        fingerprints[name] = TransferText(tmp_path / name).training_fingerprint

    assert fingerprints["one"] == fingerprints["two"] != fingerprints["three"]

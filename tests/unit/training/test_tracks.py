"""Trackers are checked before any work is done."""

import pytest

from limbeck.training import tracks
from limbeck.training.tracks import TrackerUnusable, refuse_unknown_trackers


def test_a_misspelt_tracker_is_refused_with_what_was_meant() -> None:
    with pytest.raises(TrackerUnusable, match=r"did you mean 'tensorboard'\?"):
        refuse_unknown_trackers(["tensorbord"])


def test_a_tracker_that_is_not_installed_is_refused_and_not_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracks, "get_available_trackers", lambda: ["tensorboard"])

    refuse_unknown_trackers(["tensorboard"])  # this one is there, and passes
    with pytest.raises(TrackerUnusable, match=r"not installed(.|\n)*pip install wandb"):
        refuse_unknown_trackers(["tensorboard", "wandb"])

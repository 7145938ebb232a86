"""Looking at what a run has made: the labels of its teacher, and the text its student learned from."""

from limbeck.checks.labels import check_labels, labelled_run
from limbeck.checks.transfer import show_transfer

__all__ = ["check_labels", "labelled_run", "show_transfer"]

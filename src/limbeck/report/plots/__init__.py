"""The report's plots as SVG text: the same numbers give the same bytes, and the ink has the page's text colour."""

from limbeck.report.plots.against import SIZE, TIME, accuracy_against
from limbeck.report.plots.asking import accuracy_against_texts
from limbeck.report.plots.reliability import accuracy_by_length, cascade, confusion, most_confused, reliability
from limbeck.report.plots.risk import risk_coverage
from limbeck.report.plots.scores import residuals, scatter
from limbeck.report.plots.training import loss_terms, training_accuracy, training_loss

__all__ = [
    "SIZE",
    "TIME",
    "accuracy_against",
    "accuracy_against_texts",
    "accuracy_by_length",
    "cascade",
    "confusion",
    "loss_terms",
    "most_confused",
    "reliability",
    "residuals",
    "risk_coverage",
    "scatter",
    "training_accuracy",
    "training_loss",
]

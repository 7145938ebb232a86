"""The results of a run for people: tables, plots, the page, model cards, comparisons (no torch)."""

"""What a run came to, shown to people: tables, plots, the page, model cards, comparisons (no torch)."""

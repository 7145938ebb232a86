"""`limbeck search`: the most accurate student within limits of latency and size, found by training many of them.

Reads: a run until its labels. Writes: `search/` in that run, and the chosen model as `models/search`.
"""

from limbeck.search.run import Search, search

__all__ = ["Search", "search"]

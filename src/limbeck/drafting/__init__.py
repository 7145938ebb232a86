"""`limbeck init` and `limbeck run FILE`: look at a data file, and write a recipe for it (no torch)."""

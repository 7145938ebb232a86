"""`limbeck init` and `limbeck run FILE`: inspects a data file and writes a recipe for it (no torch)."""

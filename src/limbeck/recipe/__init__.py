"""What may be asked: the typed sections of a recipe, and the loading of recipe files (no torch)."""

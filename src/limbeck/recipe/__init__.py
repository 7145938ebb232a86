"""The recipe: its typed sections, and the loading of recipe files (no torch)."""

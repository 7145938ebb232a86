"""What crosses a doorway: typed folders on disk, each with a manifest, written whole or not at all (no torch)."""

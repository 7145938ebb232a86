"""What stages pass to each other: typed folders on disk, each with a manifest, written atomically (no torch)."""

"""The workbench of everything that learns: loop, batches, optimiser, checkpoints, seeds, device."""

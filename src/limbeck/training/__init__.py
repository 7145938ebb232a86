"""What every training needs: loop, batches, optimiser, checkpoints, device, processes."""

"""The losses of the recipe at work: each term takes what student and teacher said of a batch to a number."""

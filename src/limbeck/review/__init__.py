"""Reviews the data of a run: labels that look wrong, rows worth labelling next, classes that overlap.

Reads: a labelled run. Writes: its folder `review/`, and with `--apply` a corrected corpus and a recipe beside the run.
"""

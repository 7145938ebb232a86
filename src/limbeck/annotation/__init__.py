"""From texts without labels to a corpus: a language model labels them, in rounds, and a person checks a few.

Reads:  a file of texts, a language model behind an address
Writes: files of rows for a run, a csv for a person to fill in, the recipe
"""

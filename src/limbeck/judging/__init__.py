"""How good models are: what they answer on held-out rows, and the numbers made of it.

Reads:  Corpus, TeacherLabels, exported models
Writes: nothing; `limbeck.pipeline.evaluation` puts its numbers into the Report
"""

"""How good models are: their answers on held-out rows, and metrics of these answers.

Reads:  Corpus, TeacherLabels, exported models
Writes: nothing; `limbeck.pipeline.evaluation` puts its numbers into the Report
"""

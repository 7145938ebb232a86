"""Segmenters, vocabulary, word vectors; one tokenizer.json for training and serving."""

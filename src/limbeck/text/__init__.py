"""Tokenizers, vocabularies, word vectors, sentences; one tokenizer.json for training and serving."""

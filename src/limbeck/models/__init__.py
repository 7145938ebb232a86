"""The students' networks; each a Hugging Face model that its Auto classes know after this import."""

"""Hugging Face's library as an exam of the import: python -m smelt.transformers.exam."""

"""What is refused by design, and why: one reason for each kind."""

from __future__ import annotations

TEXT = "text becomes numbers before the model, not in a graph"
IMAGES = "files of images are decoded before the model"
RANDOM = "its random numbers are not those of any other library"

OPERATORS = {
    **dict.fromkeys(("LabelEncoder", "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"), TEXT),
    **dict.fromkeys(("CategoryMapper", "DictVectorizer", "TfIdfVectorizer"), TEXT),
    "ImageDecoder": IMAGES,
    **dict.fromkeys(("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"), RANDOM),
    **dict.fromkeys(("RandomUniform", "RandomUniformLike"), RANDOM),
}
COUNTED = {
    "NonMaxSuppression": "boxes that it keeps",
    "NonZero": "numbers that are not zero",
    "Unique": "numbers that are unlike",
}
"""Operators whose results have a size that numbers of operands set. Where all operands are constants, onnx's reference
computes them."""

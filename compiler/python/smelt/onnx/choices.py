"""Attributes that are one of some words. ONNX's definitions have them in prose alone."""

from __future__ import annotations

from typing import Mapping

PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
LOSSES = ("none", "sum", "mean")
SCATTERS = ("none", "add", "mul", "max", "min")
DIRECTIONS = ("forward", "reverse", "bidirectional")
COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)

# By attribute, then by operator; "" stands for every other operator.
CHOICES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "auto_pad": {"": PADS},
    "reduction": {
        "NegativeLogLikelihoodLoss": LOSSES,
        "SoftmaxCrossEntropyLoss": LOSSES,
        "ScatterElements": SCATTERS,
        "ScatterND": SCATTERS,
    },
    "direction": {"RNN": DIRECTIONS, "GRU": DIRECTIONS, "LSTM": DIRECTIONS, "BitShift": ("LEFT", "RIGHT")},
    "mode": {
        "DepthToSpace": ("DCR", "CRD"),
        "GridSample": ("linear", "nearest", "cubic", "bilinear", "bicubic"),
        "Pad": ("constant", "reflect", "edge", "wrap"),
        "Resize": ("nearest", "linear", "cubic"),
        "RoiAlign": ("avg", "max"),
        "TensorScatter": ("linear", "circular"),
    },
    "coordinate_transformation_mode": {"Resize": COORDINATES, "RoiAlign": ("half_pixel", "output_half_pixel")},
    "padding_mode": {"GridSample": ("zeros", "border", "reflection")},
    "round_mode": {"": ("up", "down", "nearest")},
    "nearest_mode": {"Resize": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")},
    "keep_aspect_ratio_policy": {"Resize": ("stretch", "not_larger", "not_smaller")},
    "approximate": {"Gelu": ("none", "tanh")},
}


def choices_of(operator: str, attribute: str) -> tuple[str, ...]:
    """Nothing where any text may be given."""
    by_operator = CHOICES.get(attribute, {})
    return by_operator.get(operator, by_operator.get("", ()))

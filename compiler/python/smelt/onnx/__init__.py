"""ONNX models: imported into Smelt's text form, compiled, and run (docs/guides/onnx.md).

import smelt.onnx
print(smelt.onnx.coverage("model.onnx"))                     # operators without a row, all at once
model = smelt.onnx.compile_model("model.onnx", max={"batch": 8, "length": 128})
outputs = model.session().run({"input_ids": ids})
"""

from __future__ import annotations

from ..errors import Error
from . import operators  # noqa: F401  fills the table of rows
from .coverage import coverage
from .model import Model, Session, compile_model, write_model
from .refusal import Refusal

__all__ = ["Error", "Model", "Refusal", "Session", "compile_model", "coverage", "write_model"]

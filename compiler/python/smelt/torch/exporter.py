"""Smelt as an export backend of transformers: register(), then AutoHfExporter knows the format "smelt"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from ..errors import Error
from ..plan import Plan, load
from .compile import compile_module


def register() -> None:
    """Registers the exporter; transformers is imported here and nowhere else."""
    try:
        from transformers.exporters import ExportConfigMixin, HfExporter, register_backend
        from transformers.exporters.metadata import build_export_metadata
    except ImportError:
        raise Error("this transformers has no exporters: update it", "unavailable") from None

    @dataclass
    class SmeltConfig(ExportConfigMixin):
        """What smelt.torch.compile_module takes beside the model and its inputs."""

        export_format: str = "smelt"
        dynamic_shapes: Optional[dict[str, Any]] = None
        max: Optional[dict[str, int]] = None
        options: Optional[dict[str, Any]] = None

    class SmeltExporter(HfExporter):
        export_format = "smelt"
        config_class = SmeltConfig
        program_suffix = ".plan"
        requires_trust_remote_code = True  # a plan holds machine code
        required_packages = ["torch"]

        def export_program(self, model: Any, sample_inputs: Any, config: Any) -> tuple[Plan, Any]:
            inputs = dict(sample_inputs)
            plan = compile_module(
                model, inputs, dynamic_shapes=config.dynamic_shapes, max=config.max, **(config.options or {})
            )
            return plan, build_export_metadata(model, inputs, plan.program.exported, self.required_packages)

        @classmethod
        def save_program(cls, program: Plan, path: Any) -> None:
            program.save(path)

        @classmethod
        def load_program(cls, path: Any) -> Plan:
            return load(path)

    register_backend(SmeltExporter)

"""Options of smelt.compile, for type checkers; docs/reference/compile_options.md explains them.

Made by `smelt options --python > compiler/python/smelt/options.py`.
"""

from __future__ import annotations

from typing import Literal, Mapping, Sequence, TypedDict, Union


class CompileOptions(TypedDict, total=False):
    # Plan.
    target: str
    mode: Literal["train", "infer"]
    precision: Literal["fp32", "tf32", "bf16", "fp16", "fp8"]
    masters: Literal["none", "fp32"]
    weight_type: Literal["float", "int8", "int4", "uint4", "nf4", "fp8"]
    weight_group: int
    keep_floats: Union[str, Sequence[str]]
    fp8_weights: Union[str, Sequence[str]]
    qat: Literal["auto", "none", "int8"]
    attention: Literal["auto", "fused", "unfused", "mma", "wgmma"]
    gemm_epilogues: Literal["off", "auto", "only", "wide", "mma", "mma-wide"]
    same_bits: bool
    chunk_rows: int
    tune: bool
    no_plan_cache: bool
    max: Union[str, Mapping[str, int]]
    entry: Union[str, Sequence[str]]
    # Inputs and outputs.
    attention_mask: bool
    position_ids: bool
    segment_ids: bool
    hidden_states: bool
    # Generation.
    kv_cache: bool
    cache_type: Literal["float", "bf16", "int8", "fp8"]
    sampler: bool
    cache_pages: int
    step_tokens: int
    adapters: int
    adapter_rank: int
    adapter_targets: Union[str, Sequence[str]]
    # Training.
    dropout: float
    layer_dropout: float
    label_smoothing: float
    train_only: Union[str, Sequence[str]]
    # Optimiser.
    optimizer: Literal["sgd", "momentum", "adagrad", "adam", "adamw", "lamb", "lion", "muon", "normuon", "adafactor", "schedule-free-adamw", "adamw8bit"]
    decay: Literal["declared", "all"]
    weight_decay: float
    clip: float
    beta1: float
    beta2: float
    eps: float
    momentum: float
    lr_of: Union[str, Sequence[str]]
    decay_of: Union[str, Sequence[str]]
    layer_decay: float
    ema: float
    matrix_lr: Literal["match-rms", "original"]
    adamw_lr: float
    adamw_for: Union[str, Sequence[str]]
    # Memory.
    memory_budget: Union[str, int]
    recompute: str
    offload_optimizer: str
    offload_bucket: Union[str, int]
    # Several ranks.
    mesh: str
    stage: int
    pipeline_parts: int
    sequence_parallel: bool
    zero: int
    zero_bucket: int
    bucket_mib: int
    # Passes.
    pipeline: str
    disable_pass: Union[str, Sequence[str]]
    bisect_limit: int
    verify_each: bool
    print_after_all: bool
    print_after: Union[str, Sequence[str]]
    dump_dir: str
    timing: bool

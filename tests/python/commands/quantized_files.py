"""Checkpoints of quantised models: random numbers in the layouts of their formats, and the floats that they mean.

The layouts are written bit by bit from the formats' descriptions, so that they share nothing with the reader.
"""

import json

import numpy
import torch
from safetensors.torch import load_file, save_file

LINEARS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]
"""Integer at each place of a word."""


def pack_columns(values, bits):
    """Words of integers that follow each other along the first axis, the lowest bits first."""
    stream = (values[:, None, :] >> numpy.arange(bits)[None, :, None]) & 1
    stream = stream.reshape(-1, values.shape[1]).astype(numpy.uint8)
    stream = numpy.pad(stream, ((0, -len(stream) % 32), (0, 0)))
    words = numpy.packbits(stream.T.copy(), axis=1, bitorder="little").view(numpy.int32)
    return torch.tensor(words.T.copy())


def pack_rows(values, bits):
    return pack_columns(values.T.copy(), bits).T.contiguous()


def random_scales(random, shape, dtype):
    return torch.tensor(random.uniform(0.005, 0.02, shape) * random.choice([-1, 1], shape)).to(dtype)


def gptq(shape, random, bits=4, group=32, dtype=torch.float16, ordered=False, version="gptq", symmetric=False):
    """The stored parts of a weight [out,in] by their names, and its floats."""
    rows, columns = shape
    groups = columns // group
    codes = random.integers(0, 2**bits, (columns, rows))
    zeros = random.integers(1, 2**bits, (groups, rows))
    if symmetric:
        zeros[:] = 2 ** (bits - 1)
    index = numpy.arange(columns) // group
    if ordered:
        index = random.permutation(index)
    scales = random_scales(random, (groups, rows), dtype)
    stored = zeros - 1 if version == "gptq" else zeros
    parts = {
        "qweight": pack_columns(codes, bits),
        "qzeros": pack_rows(stored, bits),
        "scales": scales,
        "g_idx": torch.tensor(index, dtype=torch.int32),
    }
    floats = scales[index] * torch.tensor(codes - zeros[index]).to(dtype)
    return parts, floats.T.contiguous()


def awq(shape, random, group=32, dtype=torch.float16):
    rows, columns = shape
    codes = random.integers(0, 16, (columns, rows))
    zeros = random.integers(0, 16, (columns // group, rows))
    scales = random_scales(random, zeros.shape, dtype)
    shuffled = lambda values: values.reshape(len(values), -1, 8)[:, :, AWQ_ORDER].reshape(values.shape)
    parts = {"qweight": pack_rows(shuffled(codes), 4), "qzeros": pack_rows(shuffled(zeros), 4), "scales": scales}
    floats = (torch.tensor(codes - numpy.repeat(zeros, group, 0)).to(dtype)) * scales.repeat_interleave(group, 0)
    return parts, floats.T.contiguous()


def quantise(directory, make, settings, keep=()):
    """Replaces the linear layers of a saved model, and returns its tensors in floats by their names."""
    path = directory / "model.safetensors"
    tensors, floats, random = load_file(path), {}, numpy.random.default_rng(0)
    stored = {}
    for name, value in tensors.items():
        floats[name] = value
        module = name.removesuffix(".weight")
        if module.rpartition(".")[2] not in LINEARS or module in keep:
            stored[name] = value
            continue
        parts, floats[name] = make(tuple(value.shape), random)
        stored.update({f"{module}.{part}": tensor.contiguous() for part, tensor in parts.items()})
    save_file(stored, path, metadata={"format": "pt"})
    config = json.loads((directory / "config.json").read_text())
    config["quantization_config"] = settings
    (directory / "config.json").write_text(json.dumps(config))
    return floats


def edit_tensors(directory, change):
    """Saves what `change` makes of the dictionary of tensors."""
    tensors = load_file(directory / "model.safetensors")
    change(tensors)
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})

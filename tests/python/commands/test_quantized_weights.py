"""Directories of quantised models: the floats are those of the formats' references, and so are generated tokens."""

import copy
import functools
import json

import numpy
import pytest
import torch
import transformers as tf
from conftest import LLAMA, edit_json
from quantized_files import awq, edit_tensors, gptq, quantise
from safetensors.torch import load_file

SIZES = {**LLAMA, "hidden_size": 64, "intermediate_size": 96, "num_key_value_heads": 2}
IDS = [5, 6, 7, 8]
COUNT = ("--max-new-tokens", 8, "--min-new-tokens", 8)
UP = "model.layers.0.mlp.up_proj"


@pytest.fixture
def llama(saved):
    return saved(tf.LlamaForCausalLM, tf.LlamaConfig(**SIZES))


@pytest.fixture
def even_llama(saved):
    """Rows are whole blocks: the CPU kernels of bitsandbytes err for others."""
    return saved(tf.LlamaForCausalLM, tf.LlamaConfig(**{**SIZES, "intermediate_size": 128}))


def generated(model):
    with torch.no_grad():
        ids = model.generate(torch.tensor([IDS]), max_new_tokens=8, min_new_tokens=8, do_sample=False)
    return ids[0, len(IDS) :].tolist()


def check(smelt, tmp_path, llama, floats):
    """Compares every element, and what is generated."""
    directory, model = llama
    smelt.good("export", directory, "-o", tmp_path / "exported")
    found = load_file(tmp_path / "exported" / "model.safetensors")
    assert set(found) == set(floats)
    for name, value in floats.items():
        assert int((found[name] != value.float()).sum()) == 0, name
    assert "quantization_config" not in json.loads((tmp_path / "exported" / "config.json").read_text())
    reference = copy.deepcopy(model)
    reference.load_state_dict(floats)
    assert smelt.generated(directory, IDS, *COUNT) == generated(reference.float())


GPTQ = {
    "4 bits": (dict(), dict()),
    "2 bits": (dict(bits=2), dict()),
    "3 bits": (dict(bits=3), dict()),
    "8 bits": (dict(bits=8), dict()),
    "3 bits, ordered": (dict(bits=3, ordered=True), dict(desc_act=True)),
    "ordered": (dict(ordered=True), dict(desc_act=True)),
    "v2": (dict(version="gptq_v2"), dict(checkpoint_format="gptq_v2")),
    "symmetric": (dict(symmetric=True), dict(sym=True, checkpoint_format="gptq")),
    "bf16": (dict(dtype=torch.bfloat16), dict()),
    "f32": (dict(dtype=torch.float32), dict()),
    "groups of 16": (dict(group=16), dict(group_size=16)),
}


@pytest.mark.parametrize("case", GPTQ)
def test_gptq(smelt, llama, tmp_path, case):
    options, settings = GPTQ[case]
    settings = dict(quant_method="gptq", bits=options.get("bits", 4)) | dict(group_size=32) | settings
    floats = quantise(llama[0], functools.partial(gptq, **options), settings)
    check(smelt, tmp_path, llama, floats)


def test_gptq_of_whole_columns_without_g_idx(smelt, llama, tmp_path):
    def make(shape, random):
        parts, floats = gptq(shape, random, group=shape[1])
        return {name: part for name, part in parts.items() if name != "g_idx"}, floats

    floats = quantise(llama[0], make, dict(quant_method="gptq", bits=4, group_size=-1), keep=[UP])
    check(smelt, tmp_path, llama, floats)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_awq(smelt, llama, tmp_path, dtype):
    settings = dict(quant_method="awq", bits=4, group_size=32, zero_point=True, version="gemm")
    floats = quantise(
        llama[0], functools.partial(awq, dtype=dtype), {**settings, "modules_to_not_convert": [UP]}, keep=[UP]
    )
    check(smelt, tmp_path, llama, floats)


def scales_by_block(shape, block, random):
    return torch.tensor(random.uniform(1e-4, 2e-3, [-(-s // b) for s, b in zip(shape, block)]), dtype=torch.float32)


def fp8(shape, random, block=(128, 128)):
    weight = torch.tensor(random.standard_normal(shape) * 50, dtype=torch.float32).to(torch.float8_e4m3fn)
    scales = scales_by_block(shape, block, random)
    spread = scales.repeat_interleave(block[0], 0)[: shape[0]].repeat_interleave(block[1], 1)[:, : shape[1]]
    floats = (weight.float() * spread).to(torch.bfloat16)
    return {"weight": weight, "weight_scale_inv": scales}, floats


@pytest.mark.parametrize("block", [None, (32, 16), (48, 40)])
def test_fp8(smelt, llama, tmp_path, block):
    settings = dict(quant_method="fp8", activation_scheme="dynamic", fmt="e4m3")
    make = fp8
    if block:
        settings["weight_block_size"] = list(block)
        make = functools.partial(fp8, block=block)
    edit_json(llama[0] / "config.json", dtype="bfloat16")
    check(smelt, tmp_path, llama, quantise(llama[0], make, settings))


def test_fp8_is_what_transformers_makes_of_it(smelt, llama, tmp_path):
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize

    def make(shape, random):
        parts, _ = fp8(shape, random, (32, 16))
        return parts, Fp8Dequantize(None)._dequantize_one(*parts.values(), torch.bfloat16)

    edit_json(llama[0] / "config.json", dtype="bfloat16")
    settings = dict(quant_method="fp8", weight_block_size=[32, 16])
    check(smelt, tmp_path, llama, quantise(llama[0], make, settings))


def test_fbgemm_fp8(smelt, llama, tmp_path):
    def make(shape, random):
        weight = torch.tensor(random.standard_normal(shape) * 50, dtype=torch.float32).to(torch.float8_e4m3fn)
        scale = torch.tensor(random.uniform(1e-4, 2e-3, (shape[0], 1)), dtype=torch.float32)
        return {"weight": weight, "weight_scale": scale}, (weight.float() * scale).to(torch.bfloat16)

    edit_json(llama[0] / "config.json", dtype="bfloat16")
    settings = dict(quant_method="fbgemm_fp8", activation_scale_ub=1200.0, modules_to_not_convert=["lm_head"])
    check(smelt, tmp_path, llama, quantise(llama[0], make, settings))


def bitsandbytes():
    return pytest.importorskip("bitsandbytes.functional")


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("kind", ["nf4", "fp4"])
def test_bitsandbytes_4_bits(smelt, even_llama, tmp_path, kind, dtype, nested):
    functional = bitsandbytes()

    def make(shape, random):
        weight = torch.tensor(random.standard_normal(shape) * 0.1).to(dtype)
        packed, state = functional.quantize_4bit(weight, blocksize=64, compress_statistics=nested, quant_type=kind)
        parts = {f"weight.{name}": part for name, part in state.as_dict(packed=True).items()}
        return {"weight": packed, **parts}, functional.dequantize_4bit(packed, state)

    settings = dict(quant_method="bitsandbytes", load_in_4bit=True, bnb_4bit_quant_type=kind)
    check(smelt, tmp_path, even_llama, quantise(even_llama[0], make, settings))


def test_bitsandbytes_8_bits(smelt, even_llama, tmp_path):
    functional = bitsandbytes()

    def make(shape, random):
        weight = torch.tensor(random.standard_normal(shape) * 0.1).to(torch.float16)
        codes, scales, _ = functional.int8_vectorwise_quant(weight)
        parts = {"weight": codes, "SCB": scales, "weight_format": torch.tensor(0, dtype=torch.uint8)}
        return parts, functional.int8_vectorwise_dequant(codes, scales)

    settings = dict(quant_method="bitsandbytes", load_in_8bit=True, llm_int8_threshold=6.0)
    check(smelt, tmp_path, even_llama, quantise(even_llama[0], make, settings))


COMPRESSED = {
    "int4 groups": ("pack-quantized", dict(num_bits=4, strategy="group", group_size=32)),
    "int4 groups, zero points": (
        "pack-quantized",
        dict(num_bits=4, strategy="group", group_size=32, symmetric=False),
    ),
    "int4 channels, zero points": ("pack-quantized", dict(num_bits=4, strategy="channel", symmetric=False)),
    "int8 channels packed": ("pack-quantized", dict(num_bits=8, strategy="channel")),
    "int8 channels": ("int-quantized", dict(num_bits=8, strategy="channel")),
    "int8 tensor": ("int-quantized", dict(num_bits=8, strategy="tensor")),
    "int8 channels, zero points": ("naive-quantized", dict(num_bits=8, strategy="channel", symmetric=False)),
    "fp8 channels": ("float-quantized", dict(num_bits=8, type="float", strategy="channel")),
    "fp8 tensor": ("naive-quantized", dict(num_bits=8, type="float", strategy="tensor")),
    "fp8 blocks": ("float-quantized", dict(num_bits=8, type="float", strategy="block", block_structure=[16, 32])),
}


def compressed_scales(weight, arguments, random, dtype):
    rows, columns = weight.shape
    shape = {
        "group": (rows, columns // (arguments.group_size or 1)),
        "channel": (rows, 1),
        "tensor": (1,),
        "block": tuple(-(-s // b) for s, b in zip(weight.shape, arguments.block_structure or (1, 1))),
    }[arguments.strategy]
    scales = torch.tensor(random.uniform(0.01, 0.03, shape)).to(dtype)
    return scales / 4 if arguments.type == "float" else scales


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("case", COMPRESSED)
def test_compressed_tensors(smelt, llama, tmp_path, case, dtype):
    compressors = pytest.importorskip("compressed_tensors.compressors")
    quantization = pytest.importorskip("compressed_tensors.quantization")
    form, values = COMPRESSED[case]
    arguments = quantization.QuantizationArgs(**values)
    scheme = quantization.QuantizationScheme(targets=["Linear"], weights=arguments)
    compressor = compressors.BaseCompressor.get_value_from_registry(form)

    def make(shape, random):
        weight = torch.tensor(random.standard_normal(shape) * 0.1).to(dtype)
        scales = compressed_scales(weight, arguments, random, dtype)
        state = {"weight": weight, "weight_scale": scales}
        if not arguments.symmetric:
            bound = 2 ** (arguments.num_bits - 1)
            state["weight_zero_point"] = torch.tensor(random.integers(-bound, bound, scales.shape)).to(torch.int8)
        parts = compressor.compress(dict(state), scheme)
        return parts, compressor.decompress(dict(parts), scheme)["weight"]

    groups = dict(group_0=dict(targets=["Linear"], weights=values, input_activations=None))
    settings = dict(quant_method="compressed-tensors", format=form, config_groups=groups, ignore=["lm_head"])
    check(smelt, tmp_path, llama, quantise(llama[0], make, settings))


def int8_settings(**group):
    weights = dict(num_bits=8, strategy="channel", type="int", symmetric=True)
    groups = dict(group_0=dict(targets=["Linear"], weights=weights, **group))
    return dict(quant_method="compressed-tensors", format="int-quantized", config_groups=groups)


def int8(shape, random):
    codes = torch.tensor(random.integers(-128, 128, shape)).to(torch.int8)
    scales = torch.tensor(random.uniform(1e-3, 2e-3, (shape[0], 1))).to(torch.bfloat16)
    return {"weight": codes, "weight_scale": scales}, codes.to(torch.bfloat16) * scales


def test_activations_that_stay_floats_are_told(smelt, llama):
    quantise(llama[0], int8, int8_settings(input_activations=dict(num_bits=8, dynamic=True)))
    status, _, err = smelt("generate", llama[0], "--ids", "5 6", "--max-new-tokens", 2)
    assert status == 0 and err.count("warning: the model's activations are quantised") == 1


def gptq_model(llama, **settings):
    quantise(llama[0], gptq, dict(quant_method="gptq", bits=4, group_size=32, **settings))
    return llama[0]


def drop(name):
    return lambda tensors: tensors.pop(name)


def replace(name, change):
    return lambda tensors: tensors.update({name: change(tensors[name]).contiguous()})


def with_element(value):
    def change(tensor):
        tensor = tensor.clone()
        tensor.view(-1)[3] = value
        return tensor

    return change


BROKEN = {
    f"'{UP}.scales': missing: expected F32 or F16 or BF16": drop(f"{UP}.scales"),
    f"'{UP}.qzeros': missing: expected I32": drop(f"{UP}.qzeros"),
    f"'{UP}.scales': F16 [2,95], expected [groups,96]": replace(f"{UP}.scales", lambda t: t[:, :-1]),
    f"'{UP}.qzeros': I32 [1,12], expected [2,12]": replace(f"{UP}.qzeros", lambda t: t[:1]),
    f"'{UP}.g_idx': input 3 is in group 2: expected one of 2 groups": replace(f"{UP}.g_idx", with_element(2)),
    "input 3 is in group -1: expected one of 2 groups": replace(f"{UP}.g_idx", with_element(-1)),
    f"'{UP}.g_idx': I32 [63], expected I32 [64]": replace(f"{UP}.g_idx", lambda t: t[:-1]),
    f"'{UP}.qweight': F32 [8,96], expected I32": replace(f"{UP}.qweight", lambda t: t.float()),
    f"tensor '{UP}.weight' (gptq [96,64]): row 3, column 0 is nan": replace(
        f"{UP}.scales", with_element(float("nan"))
    ),
    "row 3, column 0 is": replace(f"{UP}.scales", with_element(float("inf"))),
}


@pytest.mark.parametrize("message", BROKEN)
def test_broken_parts_are_named(smelt, llama, message):
    directory = gptq_model(llama)
    edit_tensors(directory, BROKEN[message])
    assert message in smelt.refused("generate", directory, "--ids", "5 6")


def test_groups_that_do_not_divide(smelt, llama):
    directory = gptq_model(llama)

    def change(tensors):
        tensors.pop(f"{UP}.g_idx")
        for part in ("scales", "qzeros"):
            tensors[f"{UP}.{part}"] = torch.cat([tensors[f"{UP}.{part}"]] * 2)[:3].contiguous()

    edit_tensors(directory, change)
    assert f"'{UP}.scales': 3 groups do not divide 64 inputs" in smelt.refused("generate", directory, "--ids", "5 6")


def test_scales_of_zero_make_zeros(smelt, llama, tmp_path):
    directory = gptq_model(llama)
    edit_tensors(directory, replace(f"{UP}.scales", lambda t: t * 0))
    smelt.good("export", directory, "-o", tmp_path / "exported")
    assert not load_file(tmp_path / "exported" / "model.safetensors")[f"{UP}.weight"].any()


def test_missing_scales_of_fp8(smelt, llama):
    quantise(llama[0], fp8, dict(quant_method="fp8"))
    edit_tensors(llama[0], drop(f"{UP}.weight_scale_inv"))
    err = smelt.refused("generate", llama[0], "--ids", "5 6")
    assert f"'{UP}.weight_scale_inv': missing: expected scales of F8_E4M3 [96,64]" in err


REFUSED = {
    'quant_method "hqq" says that the weights are quantised in a way that is not read; expected one of gptq, awq': dict(
        quant_method="hqq"
    ),
    "quant_method null says": dict(bits=4),
    "bits is 5: expected 2 or 3 or 4 or 8": dict(quant_method="gptq", bits=5),
    "bits is missing": dict(quant_method="gptq"),
    'checkpoint_format is "marlin": expected "gptq" or "gptq_v2"': dict(
        quant_method="gptq", bits=4, checkpoint_format="marlin"
    ),
    "turbo is 3, which is not known for gptq": dict(quant_method="gptq", bits=4, turbo=3),
    "dynamic: '+:.*down' has settings of its own": dict(
        quant_method="gptq", bits=4, dynamic={"+:.*down": {"bits": 8}, "-:.*up": {}}
    ),
    'version is "gemv": expected "gemm"': dict(quant_method="awq", bits=4, version="gemv"),
    'activation_scheme is "static": expected "dynamic"': dict(quant_method="fp8", activation_scheme="static"),
    'format is "marlin-24"': {**int8_settings(), "format": "marlin-24"},
    "config_groups is missing": dict(quant_method="compressed-tensors", format="int-quantized"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_other_settings_are_refused_by_name(smelt, llama, message):
    edit_json(llama[0] / "config.json", quantization_config=REFUSED[message])
    assert message in smelt.refused("generate", llama[0], "--ids", "5 6")

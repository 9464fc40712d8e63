"""GGUF files of tiny random models, written as llama.cpp's converter writes them."""

import gguf
import numpy

Type = gguf.GGMLQuantizationType

QUANTISED = [
    Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0, Type.IQ4_NL,
    Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K,
]  # fmt: skip

# Places of the f16 scales in a block.
SCALES = {
    Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q8_0: [0], Type.IQ4_NL: [0],
    Type.Q2_K: [80, 82], Type.Q3_K: [108], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208],
}  # fmt: skip


def random_blocks(shape, kind, seed=0):
    """Random bytes of a quantised tensor, with small scales of both signs."""
    random = numpy.random.default_rng(seed)
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (shape[0], shape[1] // elements, size), dtype=numpy.uint8)
    for place in SCALES[kind]:
        scale = (random.standard_normal(blocks.shape[:2]) * 2e-3).astype(numpy.float16)
        blocks[..., place : place + 2] = scale[..., None].view(numpy.uint8)
    return blocks.reshape(shape[0], -1)


def rotary_pairs(weight, heads):
    """The converter's order of the rows of queries and keys: (r, r + d/2) become neighbours."""
    halves = weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:])
    return halves.swapaxes(1, 2).reshape(weight.shape)


def from_rotary_pairs(weight, heads):
    pairs = weight.reshape(heads, weight.shape[0] // heads // 2, 2, *weight.shape[1:])
    return pairs.swapaxes(1, 2).reshape(weight.shape)


LAYER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
GEMMA2 = {
    **LAYER,
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
GPT2 = {
    "ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output",
    "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
}  # fmt: skip
WHOLE = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm",
}  # fmt: skip


def stored_name(name, layer):
    stem, _, kind = name.rpartition(".")
    if stem in WHOLE:
        return f"{WHOLE[stem]}.{kind}"
    _, _, number, module = stem.split(".", 3)
    return f"blk.{number}.{layer[module]}.{kind}"


def stored_tensors(model):
    """Names and values as the converter stores them, by the names of transformers."""
    config, arch = model.config, model.config.model_type
    layer = {"gemma2": GEMMA2, "gpt2": GPT2}.get(arch, LAYER)
    result = {}
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        value = tensor.float().numpy()
        if arch in ("llama", "mistral") and "q_proj" in name:
            value = rotary_pairs(value, config.num_attention_heads)
        if arch in ("llama", "mistral") and "k_proj" in name:
            value = rotary_pairs(value, config.num_key_value_heads)
        if arch == "gpt2" and value.ndim == 2 and ".h." in name:
            value = value.T.copy()
        if arch.startswith("gemma") and "norm" in name:
            value = value + 1
        result[name] = (stored_name(name, layer), value)
    return result


def add_sizes(writer, config, arch):
    if arch == "gpt2":
        return add_gpt2_sizes(writer, config)
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_rope_dimension_count(head)
    writer.add_vocab_size(config.vocab_size)
    rope = config.rope_parameters or {}
    writer.add_rope_freq_base(float(rope.get("rope_theta", 10000)))
    if rope.get("rope_type") in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope.get("original_max_position_embeddings", 64))
    if arch == "gemma2":
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if getattr(config, "sliding_window", None) and arch in ("gemma2", "llama"):
        writer.add_sliding_window(config.sliding_window)


def add_gpt2_sizes(writer, config):
    writer.add_block_count(config.n_layer)
    writer.add_context_length(config.n_positions)
    writer.add_embedding_length(config.n_embd)
    writer.add_feed_forward_length(4 * config.n_embd)
    writer.add_head_count(config.n_head)
    writer.add_layer_norm_eps(config.layer_norm_epsilon)


def add_ends(writer, config):
    for name, add in (("bos", writer.add_bos_token_id), ("eos", writer.add_eos_token_id)):
        token = getattr(config, f"{name}_token_id")
        if token is not None:
            add(token)


def write_gguf(model, path, quantise=lambda name, value: (value, None), more=lambda writer: None):
    """Writes the model. `quantise` returns the stored array of a matrix and its type, or None for that of the array."""
    arch = {"mistral": "llama"}.get(model.config.model_type, model.config.model_type)
    writer = gguf.GGUFWriter(path, arch)
    add_sizes(writer, model.config, arch)
    add_ends(writer, model.config)
    more(writer)
    for name, (stored, value) in stored_tensors(model).items():
        array, kind = quantise(name, value) if value.ndim == 2 else (value, None)
        writer.add_tensor(stored, array, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path

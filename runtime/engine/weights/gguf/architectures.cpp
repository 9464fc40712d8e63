#include "runtime/engine/weights/gguf/architectures.h"

namespace smelt {
namespace {

using Change = GgufName::Change;

template <typename Row>
std::vector<Row> joined_rows(std::vector<Row> rows, const std::vector<Row>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

const std::vector<GgufField> kGgufLlamaFields = {
    {"block_count", "num_hidden_layers"},
    {"context_length", "max_position_embeddings"},
    {"embedding_length", "hidden_size"},
    {"feed_forward_length", "intermediate_size"},
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.key_length", "head_dim"},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    {"rope.freq_base", "rope_theta"},
};
const std::vector<GgufField> kGgufWindow = {{"attention.sliding_window", "sliding_window"}};
const std::vector<GgufField> kGgufGemma2Fields = {
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
};
const std::vector<GgufField> kGgufGpt2Fields = {
    {"block_count", "n_layer"},         {"context_length", "n_positions"},
    {"embedding_length", "n_embd"},     {"feed_forward_length", "n_inner"},
    {"attention.head_count", "n_head"}, {"attention.layer_norm_epsilon", "layer_norm_epsilon"},
};

const std::vector<GgufSwitch> kGgufBiases = {{"attention_bias", "blk.0.attn_q.bias"}};
const std::vector<GgufSwitch> kGgufAllBiases = {{"attention_bias", "blk.0.attn_q.bias"},
                                                {"mlp_bias", "blk.0.ffn_gate.bias"}};

/// Modules that all descendants of Llama have alike.
const std::vector<GgufName> kGgufDecoderNames = {
    {"token_embd", "model.embed_tokens"},
    {"blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"},
    {"blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"},
    {"blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj"},
    {"blk.{}.ffn_up", "model.layers.{}.mlp.up_proj"},
    {"blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"},
    {"output", "lm_head"},
};
const std::vector<GgufName> kGgufRotaryPairs = {
    {"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj", Change::rotary_queries},
    {"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj", Change::rotary_keys},
};
const std::vector<GgufName> kGgufRotaryHalves = {
    {"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"},
    {"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"},
};
const std::vector<GgufName> kGgufNorms = {
    {"blk.{}.attn_norm", "model.layers.{}.input_layernorm"},
    {"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"},
    {"output_norm", "model.norm"},
};
const std::vector<GgufName> kGgufHeadNorms = {
    {"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_norm"},
    {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_norm"},
};
const std::vector<GgufName> kGgufGemmaNorms = {
    {"blk.{}.attn_norm", "model.layers.{}.input_layernorm", Change::plus_one},
    {"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm", Change::plus_one},
    {"output_norm", "model.norm", Change::plus_one},
};
const std::vector<GgufName> kGgufGemma2Norms = {
    {"blk.{}.attn_norm", "model.layers.{}.input_layernorm", Change::plus_one},
    {"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm", Change::plus_one},
    {"blk.{}.ffn_norm", "model.layers.{}.pre_feedforward_layernorm", Change::plus_one},
    {"blk.{}.post_ffw_norm", "model.layers.{}.post_feedforward_layernorm", Change::plus_one},
    {"output_norm", "model.norm", Change::plus_one},
};
const std::vector<GgufName> kGgufGpt2Names = {
    {"token_embd", "transformer.wte"},
    {"position_embd", "transformer.wpe"},
    {"blk.{}.attn_norm", "transformer.h.{}.ln_1"},
    {"blk.{}.attn_qkv", "transformer.h.{}.attn.c_attn", Change::transposed},
    {"blk.{}.attn_output", "transformer.h.{}.attn.c_proj", Change::transposed},
    {"blk.{}.ffn_norm", "transformer.h.{}.ln_2"},
    {"blk.{}.ffn_up", "transformer.h.{}.mlp.c_fc", Change::transposed},
    {"blk.{}.ffn_down", "transformer.h.{}.mlp.c_proj", Change::transposed},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
};

std::vector<GgufName> decoder_names(const std::vector<GgufName>& queries,
                                    const std::vector<GgufName>& norms) {
  return joined_rows(joined_rows(kGgufDecoderNames, queries), norms);
}

std::vector<GgufArchitecture> make_gguf_architectures() {
  const auto with_window = joined_rows(kGgufLlamaFields, kGgufWindow);
  const auto llama_names = decoder_names(kGgufRotaryPairs, kGgufNorms);
  const auto qwen_names = decoder_names(kGgufRotaryHalves, kGgufNorms);
  const auto gemma_names = decoder_names(kGgufRotaryHalves, kGgufGemmaNorms);
  const auto gemma2_names = decoder_names(kGgufRotaryHalves, kGgufGemma2Norms);
  return {
      {"llama", "mistral", with_window, {}, llama_names, "attention.sliding_window"},
      {"llama", "llama", kGgufLlamaFields, kGgufAllBiases, llama_names},
      {"qwen2", "qwen2", kGgufLlamaFields, {}, qwen_names},
      {"qwen3", "qwen3", kGgufLlamaFields, kGgufBiases, joined_rows(qwen_names, kGgufHeadNorms)},
      {"gemma", "gemma", kGgufLlamaFields, {}, gemma_names},
      {"gemma2", "gemma2", joined_rows(with_window, kGgufGemma2Fields), {}, gemma2_names},
      {"gpt2", "gpt2", kGgufGpt2Fields, {}, kGgufGpt2Names},
  };
}

}  // namespace

const std::vector<std::string_view> kOtherGgufKeys = {
    "vocab_size",
    "rope.dimension_count",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scaling.original_context_length",
    "rope.scaling.finetuned",
    "attention.value_length",
    "attention.head_count_kv",
    "tensor_data_layout",
};

const std::vector<GgufArchitecture>& gguf_architectures() {
  static const std::vector<GgufArchitecture> all = make_gguf_architectures();
  return all;
}

}  // namespace smelt

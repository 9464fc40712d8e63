// Llama, and families that differ from it in a few fields: pre-norm decoders with RMSNorm, rotary positions,
// SwiGLU and fewer heads for keys and values than for queries.
#include "frontend/families/families.h"

namespace smelt {

const std::vector<FieldRow> kLlamaFields = {
    {.config = "vocab_size", .spec = "vocab_size", .required = true},
    {.config = "hidden_size", .spec = "hidden", .required = true},
    {.config = "num_hidden_layers", .spec = "decoder.layers", .required = true},
    {.config = "num_attention_heads", .spec = "decoder.heads", .required = true},
    {.config = "num_key_value_heads", .spec = "decoder.kv_heads"},
    {.config = "head_dim", .spec = "decoder.head_dim"},
    {.config = "intermediate_size", .spec = "decoder.ffn", .required = true},
    {.config = "max_position_embeddings", .spec = "max_positions", .required = true},
    {.config = "hidden_act", .spec = "ffn.activation", .spellings = &kActivations},
    {.config = "rms_norm_eps", .spec = "norm.eps"},
    {.config = "attention_dropout", .spec = "dropout.attention"},
    {.config = "initializer_range", .spec = "init.deviation"},
    {.config = "tie_word_embeddings", .spec = "head.tied"},
    {.config = "bos_token_id", .spec = "tokens.bos"},
    {.config = "eos_token_id", .spec = "tokens.eos"},
    {.config = "pad_token_id", .spec = "tokens.pad"},
};

const std::vector<FieldRow> kAttentionBiases = {{.config = "attention_bias", .spec = "attention.qkv_bias"},
                                                {.config = "attention_bias", .spec = "attention.out_bias"}};

namespace {

// A window that holds only where another field says so.
const std::vector<Spelling> kWindowSwitch = {{"false", R"({"window": 0})"}, {"true", "{}"}};
const std::vector<FieldRow> kSwitchedWindow = {
    {.config = "sliding_window", .spec = "attention.window", .null = "0", .implied = "4096"},
    {.config = "use_sliding_window", .spec = "attention", .spellings = &kWindowSwitch, .implied = "false"},
    {.config = "max_window_layers", .spec = "attention.window_from", .implied = "28"},
    {.config = "layer_types", .spec = "attention.layers", .unsaid_if_empty = true},
};

const std::vector<NameRow> kLlamaNames = {
    {"embedding.tokens", "embed_tokens"},
    {"decoder.{}", "layers.{}"},
    {"decoder.{}.norm_1", "layers.{}.input_layernorm"},
    {"decoder.{}.attention", "layers.{}.self_attn"},
    {"decoder.{}.attention.query", "layers.{}.self_attn.q_proj"},
    {"decoder.{}.attention.key", "layers.{}.self_attn.k_proj"},
    {"decoder.{}.attention.value", "layers.{}.self_attn.v_proj"},
    {"decoder.{}.attention.out", "layers.{}.self_attn.o_proj"},
    {"decoder.{}.norm_2", "layers.{}.post_attention_layernorm"},
    {"decoder.{}.ffn", "layers.{}.mlp"},
    {"decoder.{}.ffn.gate", "layers.{}.mlp.gate_proj"},
    {"decoder.{}.ffn.gated", "layers.{}.mlp.up_proj"},
    {"decoder.{}.ffn.down", "layers.{}.mlp.down_proj"},
    {"decoder.norm", "norm"},
    {"head", "lm_head", NameRow::bare},
};

constexpr std::string_view kLlamaDefaults =
    R"({"norm": {"kind": "rms", "eps": 1e-6},
        "attention": {"qkv_bias": false, "out_bias": false},
        "ffn": {"activation": "silu", "gated": true, "bias": false},
        "positions": {"kind": "rope"},
        "embedding": {"frozen_padding": true},
        "head": {"tied": false},
        "tokens": {"bos": 1, "eos": 2}})";
constexpr std::string_view kLlamaNoHead = R"({"head": {"kind": "none"}})";

/// The family itself, from which the others differ.
Family plain_llama() {
  return {
      .model_type = "llama",
      .architectures = {{"LlamaForCausalLM"}, {"LlamaModel", kLlamaNoHead}},
      .defaults = kLlamaDefaults,
      .fields = joined(
          {kLlamaFields, rope_fields(), kAttentionBiases, {{.config = "mlp_bias", .spec = "ffn.bias"}}}),
      .fixed = kRopeFixed,
      .harmless = {"rope_parameters", "rope_scaling"},
      .prefixes = {"model.", ""},
      .names = kLlamaNames,
      .ignored_tensors = {"layers.{}.self_attn.rotary_emb.inv_freq", "lm_head.weight"},
  };
}

Family make_mistral() {
  Family family = plain_llama();
  family.model_type = "mistral";
  family.architectures = {{"MistralForCausalLM"}, {"MistralModel", kLlamaNoHead}};
  family.fields =
      joined({kLlamaFields,
              rope_fields(),
              {{.config = "sliding_window", .spec = "attention.window", .null = "0", .implied = "4096"}}});
  return family;
}

Family make_qwen2() {
  Family family = plain_llama();
  family.model_type = "qwen2";
  family.architectures = {{"Qwen2ForCausalLM"}, {"Qwen2Model", kLlamaNoHead}};
  family.defaults = R"({"norm": {"kind": "rms", "eps": 1e-6},
                        "attention": {"qkv_bias": true, "out_bias": false},
                        "ffn": {"activation": "silu", "gated": true, "bias": false},
                        "positions": {"kind": "rope"},
                        "embedding": {"frozen_padding": true},
                        "head": {"tied": false}})";
  family.fields = joined({kLlamaFields, rope_fields(), kSwitchedWindow});
  return family;
}

Family make_qwen3() {
  Family family = make_qwen2();
  family.model_type = "qwen3";
  family.architectures = {{"Qwen3ForCausalLM"}, {"Qwen3Model", kLlamaNoHead}};
  family.defaults = R"({"decoder": {"head_dim": 128},
                        "norm": {"kind": "rms", "eps": 1e-6},
                        "attention": {"qkv_bias": false, "out_bias": false, "qk_norm": true},
                        "ffn": {"activation": "silu", "gated": true, "bias": false},
                        "positions": {"kind": "rope"},
                        "embedding": {"frozen_padding": true},
                        "head": {"tied": false}})";
  family.fields = joined({family.fields, kAttentionBiases});
  family.names = joined({family.names,
                         {{"decoder.{}.attention.query_norm", "layers.{}.self_attn.q_norm"},
                          {"decoder.{}.attention.key_norm", "layers.{}.self_attn.k_norm"}}});
  return family;
}

}  // namespace

const Family& llama_family() {
  static const Family family = plain_llama();
  return family;
}

const Family& mistral_family() {
  static const Family family = make_mistral();
  return family;
}

const Family& qwen2_family() {
  static const Family family = make_qwen2();
  return family;
}

const Family& qwen3_family() {
  static const Family family = make_qwen3();
  return family;
}

}  // namespace smelt

// Llama, and families that differ from it in a few fields: pre-norm decoders with RMSNorm, rotary positions,
// SwiGLU and fewer heads for keys and values than for queries.
#include "frontend/families/families.h"

namespace smelt {

namespace {

const std::vector<Spelling> kRopeScalings = {{R"("default")", R"("none")"},
                                             {R"("linear")", R"("linear")"},
                                             {R"("dynamic")", R"("dynamic")"},
                                             {R"("llama3")", R"("llama3")"},
                                             {R"("yarn")", R"("yarn")"}};

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

/// A row of rope_parameters, or of rope_scaling as older configs call it.
FieldRow rope_row(std::string_view now, std::string_view before, std::string_view spec) {
  return {.config = now, .spec = spec, .also_called = {before}, .unsaid_if_zero = true};
}

std::vector<FieldRow> rope_fields() {
  return {
      rope_row("rope_parameters.rope_theta", "rope_theta", "positions.rope_theta"),
      {.config = "rope_parameters.rope_type",
       .spec = "positions.scaling",
       .spellings = &kRopeScalings,
       .also_called = {"rope_parameters.type", "rope_scaling.rope_type", "rope_scaling.type"}},
      rope_row("rope_parameters.factor", "rope_scaling.factor", "positions.scaling_factor"),
      rope_row("rope_parameters.low_freq_factor", "rope_scaling.low_freq_factor",
               "positions.low_freq_factor"),
      rope_row("rope_parameters.high_freq_factor", "rope_scaling.high_freq_factor",
               "positions.high_freq_factor"),
      rope_row("rope_parameters.beta_fast", "rope_scaling.beta_fast", "positions.beta_fast"),
      rope_row("rope_parameters.beta_slow", "rope_scaling.beta_slow", "positions.beta_slow"),
      rope_row("rope_parameters.attention_factor", "rope_scaling.attention_factor",
               "positions.attention_factor"),
      rope_row("rope_parameters.original_max_position_embeddings",
               "rope_scaling.original_max_position_embeddings", "positions.original_max_positions"),
  };
}

const std::vector<FieldRow> kLlamaBiases = {{.config = "attention_bias", .spec = "attention.qkv_bias"},
                                            {.config = "attention_bias", .spec = "attention.out_bias"},
                                            {.config = "mlp_bias", .spec = "ffn.bias"}};

const std::vector<FixedRow> kLlamaFixed = {
    {"rope_parameters.mscale", "null"},   {"rope_parameters.mscale_all_dim", "null"},
    {"rope_parameters.truncate", "true"}, {"rope_parameters.partial_rotary_factor", "1"},
    {"rope_scaling.mscale", "null"},      {"rope_scaling.mscale_all_dim", "null"},
    {"rope_scaling.truncate", "true"},
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
      .fields = joined({kLlamaFields, rope_fields(), kLlamaBiases}),
      .fixed = kLlamaFixed,
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
  family.fields = joined({kLlamaFields, rope_fields()});
  family.fixed.push_back({"sliding_window", "null", "4096"});
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
  family.fields = joined({kLlamaFields, rope_fields()});
  // Windows are used only where use_sliding_window is set, and that is refused.
  family.harmless = {"rope_parameters", "rope_scaling", "sliding_window", "max_window_layers"};
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

}  // namespace smelt

// GPT-NeoX and Pythia: attention and feed-forward side by side, rotary positions on a part of each head, and
// one weight for query, key and value, head by head.
#include "frontend/families/families.h"

namespace smelt {

namespace {

// Rows of older configs come first, so that newer rows override them.
const std::vector<FieldRow> kFields = {
    {.config = "vocab_size", .spec = "vocab_size", .required = true},
    {.config = "hidden_size", .spec = "hidden", .required = true},
    {.config = "num_hidden_layers", .spec = "decoder.layers", .required = true},
    {.config = "num_attention_heads", .spec = "decoder.heads", .required = true},
    {.config = "intermediate_size", .spec = "decoder.ffn", .required = true},
    {.config = "max_position_embeddings", .spec = "max_positions", .required = true},
    {.config = "hidden_act", .spec = "ffn.activation", .spellings = &kActivations},
    {.config = "layer_norm_eps", .spec = "norm.eps"},
    {.config = "use_parallel_residual", .spec = "parallel_residual"},
    {.config = "attention_bias", .spec = "attention.qkv_bias"},
    {.config = "attention_bias", .spec = "attention.out_bias"},
    {.config = "rotary_emb_base", .spec = "positions.rope_theta"},
    {.config = "rotary_pct", .spec = "positions.rotary_fraction"},
    {.config = "rope_parameters.partial_rotary_factor", .spec = "positions.rotary_fraction"},
    {.config = "hidden_dropout", .spec = "dropout.embedding"},
    {.config = "hidden_dropout", .spec = "dropout.residual"},
    {.config = "attention_dropout", .spec = "dropout.attention"},
    {.config = "initializer_range", .spec = "init.deviation"},
    {.config = "tie_word_embeddings", .spec = "head.tied"},
    {.config = "bos_token_id", .spec = "tokens.bos"},
    {.config = "eos_token_id", .spec = "tokens.eos"},
    {.config = "pad_token_id", .spec = "tokens.pad"},
};

const std::vector<NameRow> kNames = {
    {"embedding.tokens", "embed_in"},
    {"embedding.dropout", "emb_dropout"},
    {"decoder.{}", "layers.{}"},
    {"decoder.{}.norm_1", "layers.{}.input_layernorm"},
    {"decoder.{}.attention", "layers.{}.attention"},
    {"decoder.{}.attention.qkv", "layers.{}.attention.query_key_value"},
    {"decoder.{}.attention.out", "layers.{}.attention.dense"},
    {"decoder.{}.norm_2", "layers.{}.post_attention_layernorm"},
    {"decoder.{}.ffn", "layers.{}.mlp"},
    {"decoder.{}.ffn.up", "layers.{}.mlp.dense_h_to_4h"},
    {"decoder.{}.ffn.down", "layers.{}.mlp.dense_4h_to_h"},
    {"decoder.norm", "final_layer_norm"},
    {"head", "embed_out", NameRow::bare},
};

}  // namespace

const Family& gpt_neox_family() {
  static const Family family = {
      .model_type = "gpt_neox",
      .architectures = {{"GPTNeoXForCausalLM"}, {"GPTNeoXModel", R"({"head": {"kind": "none"}})"}},
      .defaults = R"({"parallel_residual": true,
                      "attention": {"fused_qkv": true, "qkv_by_head": true},
                      "ffn": {"activation": "gelu_erf"},
                      "positions": {"kind": "rope", "rotary_fraction": 0.25},
                      "head": {"tied": false},
                      "tokens": {"bos": 0, "eos": 2}})",
      .fields = joined({kFields, rope_fields()}),
      .fixed = kRopeFixed,
      .harmless = {"rope_parameters", "rope_scaling"},
      .prefixes = {"gpt_neox.", ""},
      .names = kNames,
      .ignored_tensors = {"layers.{}.attention.bias", "layers.{}.attention.masked_bias",
                          "layers.{}.attention.rotary_emb.inv_freq", "embed_out.weight"},
  };
  return family;
}

}  // namespace smelt

// OPT: a decoder with learned positions, ReLU, and norms before its parts or, in the 350M model, after them.
#include "frontend/families/families.h"

namespace smelt {

namespace {

const std::vector<Spelling> kNormPlaces = {{"true", R"({"place": "pre", "final": true})"},
                                           {"false", R"({"place": "post", "final": false})"}};

}  // namespace

const Family& opt_family() {
  static const Family family = {
      .model_type = "opt",
      .architectures = {{"OPTForCausalLM"}, {"OPTModel", R"({"head": {"kind": "none"}})"}},
      // The first two rows of the table of positions are the padding's.
      .defaults = R"({"ffn": {"activation": "relu"},
                      "positions": {"offset": 2, "counted_by_mask": true},
                      "embedding": {"frozen_padding": true},
                      "dropout": {"residual": 0.1},
                      "tokens": {"bos": 2, "pad": 1, "eos": 2}})",
      .fields = {{.config = "vocab_size", .spec = "vocab_size", .required = true},
                 {.config = "hidden_size", .spec = "hidden", .required = true},
                 {.config = "num_hidden_layers", .spec = "decoder.layers", .required = true},
                 {.config = "num_attention_heads", .spec = "decoder.heads", .required = true},
                 {.config = "ffn_dim", .spec = "decoder.ffn", .required = true},
                 {.config = "max_position_embeddings", .spec = "max_positions", .required = true},
                 {.config = "word_embed_proj_dim", .spec = "embedding.width", .null = "0"},
                 {.config = "do_layer_norm_before", .spec = "norm", .spellings = &kNormPlaces},
                 {.config = "activation_function", .spec = "ffn.activation", .spellings = &kActivations},
                 {.config = "enable_bias", .spec = "attention.qkv_bias"},
                 {.config = "enable_bias", .spec = "attention.out_bias"},
                 {.config = "enable_bias", .spec = "ffn.bias"},
                 {.config = "dropout", .spec = "dropout.residual"},
                 {.config = "attention_dropout", .spec = "dropout.attention"},
                 {.config = "init_std", .spec = "init.deviation"},
                 {.config = "tie_word_embeddings", .spec = "head.tied"},
                 {.config = "bos_token_id", .spec = "tokens.bos"},
                 {.config = "eos_token_id", .spec = "tokens.eos"},
                 {.config = "pad_token_id", .spec = "tokens.pad"}},
      .fixed = {{"layer_norm_elementwise_affine", "true"}, {"_remove_final_layer_norm", "false"}},
      .prefixes = {"model.decoder.", "decoder.", ""},
      .names = {{"embedding.tokens", "embed_tokens"},
                {"decoder.project_in", "project_in"},
                {"decoder.positions", "embed_positions"},
                {"decoder.{}", "layers.{}"},
                {"decoder.{}.norm_1", "layers.{}.self_attn_layer_norm"},
                {"decoder.{}.attention", "layers.{}.self_attn"},
                {"decoder.{}.attention.query", "layers.{}.self_attn.q_proj"},
                {"decoder.{}.attention.key", "layers.{}.self_attn.k_proj"},
                {"decoder.{}.attention.value", "layers.{}.self_attn.v_proj"},
                {"decoder.{}.attention.out", "layers.{}.self_attn.out_proj"},
                {"decoder.{}.norm_2", "layers.{}.final_layer_norm"},
                {"decoder.{}.ffn", "layers.{}.ffn"},
                {"decoder.{}.ffn.up", "layers.{}.fc1"},
                {"decoder.{}.ffn.down", "layers.{}.fc2"},
                {"decoder.norm", "final_layer_norm"},
                {"decoder.project_out", "project_out"},
                {"head", "lm_head", NameRow::bare}},
      .ignored_tensors = {"lm_head.weight"},
  };
  return family;
}

}  // namespace smelt

// BLOOM: a decoder whose scores fall with distance (ALiBi), a norm after the embeddings, and one weight for
// query, key and value, head by head.
#include "frontend/families/families.h"

namespace smelt {

const Family& bloom_family() {
  static const Family family = {
      .model_type = "bloom",
      .architectures = {{"BloomForCausalLM"}, {"BloomModel", R"({"head": {"kind": "none"}})"}},
      .defaults = R"({"norm": {"embedding": true},
                      "attention": {"fused_qkv": true, "qkv_by_head": true},
                      "ffn": {"activation": "gelu_tanh"},
                      "positions": {"kind": "alibi", "counted_by_mask": true},
                      "tokens": {"bos": 1, "eos": 2}})",
      .fields = {{.config = "vocab_size", .spec = "vocab_size", .required = true},
                 {.config = "hidden_size", .spec = "hidden", .required = true},
                 {.config = "n_layer", .spec = "decoder.layers", .required = true},
                 {.config = "n_head", .spec = "decoder.heads", .required = true},
                 {.config = "layer_norm_epsilon", .spec = "norm.eps"},
                 {.config = "hidden_dropout", .spec = "dropout.residual"},
                 {.config = "attention_dropout", .spec = "dropout.attention"},
                 {.config = "initializer_range", .spec = "init.deviation"},
                 {.config = "tie_word_embeddings", .spec = "head.tied"},
                 {.config = "bos_token_id", .spec = "tokens.bos"},
                 {.config = "eos_token_id", .spec = "tokens.eos"},
                 {.config = "pad_token_id", .spec = "tokens.pad"}},
      .synonyms = {{"n_embed", "hidden_size"},
                   {"num_hidden_layers", "n_layer"},
                   {"num_attention_heads", "n_head"}},
      .fixed = {{"apply_residual_connection_post_layernorm", "false"},
                {.config = "slow_but_exact",
                 .value = "false",
                 .reason =
                     "leaves out two biases of every block where pretraining_tp is above 1, which is not "
                     "supported",
                 .only_with = "pretraining_tp"}},
      .harmless = {"pretraining_tp"},  // into how many parts slow_but_exact cuts sums
      .prefixes = {"transformer.", ""},
      .names = {{"embedding.tokens", "word_embeddings"},
                {"decoder.embedding_norm", "word_embeddings_layernorm"},
                {"decoder.{}", "h.{}"},
                {"decoder.{}.norm_1", "h.{}.input_layernorm"},
                {"decoder.{}.attention", "h.{}.self_attention"},
                {"decoder.{}.attention.qkv", "h.{}.self_attention.query_key_value"},
                {"decoder.{}.attention.out", "h.{}.self_attention.dense"},
                {"decoder.{}.norm_2", "h.{}.post_attention_layernorm"},
                {"decoder.{}.ffn", "h.{}.mlp"},
                {"decoder.{}.ffn.up", "h.{}.mlp.dense_h_to_4h"},
                {"decoder.{}.ffn.down", "h.{}.mlp.dense_4h_to_h"},
                {"decoder.norm", "ln_f"},
                {"head", "lm_head", NameRow::bare}},
      .ignored_tensors = {"lm_head.weight"},
  };
  return family;
}

}  // namespace smelt

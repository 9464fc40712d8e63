// GPT-2: pre-norm decoder, learned positions, weights stored [in,out] (Conv1D), one weight for query, key and
// value.
#include "frontend/families/families.h"

namespace smelt {

const Family& gpt2_family() {
  static const Family family = {
      .model_type = "gpt2",
      .architectures = {{"GPT2LMHeadModel"}, {"GPT2Model"}},
      .defaults = R"({"norm": {"eps": 1e-5},
                      "attention": {"fused_qkv": true},
                      "ffn": {"activation": "gelu_tanh"},
                      "dropout": {"embedding": 0.1, "residual": 0.1, "attention": 0.1},
                      "init": {"scale_residual": true},
                      "tokens": {"bos": 50256, "eos": 50256}})",
      .fields = {{.config = "vocab_size", .spec = "vocab_size", .required = true},
                 {.config = "n_embd", .spec = "hidden", .required = true},
                 {.config = "n_layer", .spec = "decoder.layers", .required = true},
                 {.config = "n_head", .spec = "decoder.heads", .required = true},
                 {.config = "n_positions", .spec = "max_positions", .required = true},
                 {.config = "n_inner", .spec = "decoder.ffn"},
                 {.config = "activation_function", .spec = "ffn.activation", .spellings = &kActivations},
                 {.config = "layer_norm_epsilon", .spec = "norm.eps"},
                 {.config = "scale_attn_weights", .spec = "attention.scaled"},
                 {.config = "scale_attn_by_inverse_layer_idx", .spec = "attention.scaled_by_layer"},
                 {.config = "embd_pdrop", .spec = "dropout.embedding"},
                 {.config = "resid_pdrop", .spec = "dropout.residual"},
                 {.config = "attn_pdrop", .spec = "dropout.attention"},
                 {.config = "initializer_range", .spec = "init.deviation"},
                 {.config = "tie_word_embeddings", .spec = "head.tied"},
                 {.config = "bos_token_id", .spec = "tokens.bos"},
                 {.config = "eos_token_id", .spec = "tokens.eos"},
                 {.config = "pad_token_id", .spec = "tokens.pad"},
                 {.config = "tokenizer", .spec = "tokenizer"}},
      .synonyms = {{"hidden_size", "n_embd"},
                   {"num_hidden_layers", "n_layer"},
                   {"num_attention_heads", "n_head"},
                   {"max_position_embeddings", "n_positions"}},
      .fixed = {{"add_cross_attention", "false"}},
      // The last five concern heads that are not built, or the order of rounding alone.
      .harmless = {"use_cache", "n_ctx", "task_specific_params", "transformers_version", "dtype",
                   "torch_dtype", "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
                   "summary_type", "summary_use_proj", "reorder_and_upcast_attn"},
      .prefixes = {"transformer.", ""},
      .names = {{"embedding.tokens", "wte"},
                {"decoder.positions", "wpe"},
                {"embedding.dropout", "drop"},
                {"decoder.{}", "h.{}"},
                {"decoder.{}.norm_1", "h.{}.ln_1"},
                {"decoder.{}.attention", "h.{}.attn"},
                {"decoder.{}.attention.qkv", "h.{}.attn.c_attn", NameRow::transposed},
                {"decoder.{}.attention.out", "h.{}.attn.c_proj", NameRow::transposed},
                {"decoder.{}.norm_2", "h.{}.ln_2"},
                {"decoder.{}.ffn", "h.{}.mlp"},
                {"decoder.{}.ffn.up", "h.{}.mlp.c_fc", NameRow::transposed},
                {"decoder.{}.ffn.down", "h.{}.mlp.c_proj", NameRow::transposed},
                {"decoder.norm", "ln_f"},
                {"head", "lm_head", NameRow::bare}},
      .ignored_tensors = {"h.{}.attn.bias", "h.{}.attn.masked_bias", "lm_head.weight"},
  };
  return family;
}

}  // namespace smelt

// T5: pre-norm encoder and decoder with RMSNorm, no biases, and a bias on the scores by distance.
#include "frontend/families/families.h"

namespace smelt {

namespace {

// "gated-gelu" is the one name that means another function than its second half.
const std::vector<Spelling> kProjections = {
    {R"("relu")", R"({"gated": false, "activation": "relu"})"},
    {R"("gelu_new")", R"({"gated": false, "activation": "gelu_tanh"})"},
    {R"("gelu")", R"({"gated": false, "activation": "gelu_erf"})"},
    {R"("silu")", R"({"gated": false, "activation": "silu"})"},
    {R"("swish")", R"({"gated": false, "activation": "silu"})"},
    {R"("tanh")", R"({"gated": false, "activation": "tanh"})"},
    {R"("quick_gelu")", R"({"gated": false, "activation": "quick_gelu"})"},
    {R"("gated-gelu")", R"({"gated": true, "activation": "gelu_tanh"})"},
    {R"("gated-relu")", R"({"gated": true, "activation": "relu"})"},
    {R"("gated-gelu_new")", R"({"gated": true, "activation": "gelu_tanh"})"},
    {R"("gated-silu")", R"({"gated": true, "activation": "silu"})"},
    {R"("gated-swish")", R"({"gated": true, "activation": "silu"})"},
    {R"("gated-tanh")", R"({"gated": true, "activation": "tanh"})"},
    {R"("gated-quick_gelu")", R"({"gated": true, "activation": "quick_gelu"})"},
};

Family make_t5() {
  return {
      .model_type = "t5",
      .architectures = {{"T5ForConditionalGeneration"}, {"T5Model", R"({"head": {"kind": "none"}})"}},
      .defaults = R"({"norm": {"kind": "rms", "eps": 1e-6, "final_dropout": true},
                      "attention": {"qkv_bias": false, "out_bias": false, "scaled": false},
                      "ffn": {"activation": "relu", "bias": false},
                      "positions": {"kind": "relative_buckets"},
                      "dropout": {"embedding": 0.1, "residual": 0.1, "attention": 0.1, "activation": 0.1},
                      "head": {"scaled": true},
                      "tokens": {"pad": 0, "eos": 1, "decoder_start": 0}})",
      .fields = {{.config = "vocab_size", .spec = "vocab_size", .required = true},
                 {.config = "d_model", .spec = "hidden", .required = true},
                 {.config = "num_layers", .spec = "encoder.layers", .required = true},
                 {.config = "num_decoder_layers", .spec = "decoder.layers", .also_called = {"num_layers"}},
                 {.config = "num_heads", .spec = "encoder.heads", .required = true},
                 {.config = "num_heads", .spec = "decoder.heads", .required = true},
                 {.config = "d_kv", .spec = "encoder.head_dim", .required = true},
                 {.config = "d_kv", .spec = "decoder.head_dim", .required = true},
                 {.config = "d_ff", .spec = "encoder.ffn", .required = true},
                 {.config = "d_ff", .spec = "decoder.ffn", .required = true},
                 {.config = "feed_forward_proj", .spec = "ffn", .spellings = &kProjections},
                 {.config = "layer_norm_epsilon", .spec = "norm.eps"},
                 {.config = "relative_attention_num_buckets", .spec = "positions.buckets"},
                 {.config = "relative_attention_max_distance", .spec = "positions.max_distance"},
                 {.config = "dropout_rate", .spec = "dropout.embedding"},
                 {.config = "dropout_rate", .spec = "dropout.residual"},
                 {.config = "dropout_rate", .spec = "dropout.attention"},
                 {.config = "dropout_rate", .spec = "dropout.activation"},
                 {.config = "tie_word_embeddings", .spec = "head.tied"},
                 {.config = "scale_decoder_outputs",
                  .spec = "head.scaled",
                  .also_called = {"tie_word_embeddings"}},
                 {.config = "eos_token_id", .spec = "tokens.eos"},
                 {.config = "pad_token_id", .spec = "tokens.pad"},
                 {.config = "decoder_start_token_id", .spec = "tokens.decoder_start"},
                 {.config = "forced_bos_token_id", .spec = "tokens.forced_bos"},
                 {.config = "forced_eos_token_id", .spec = "tokens.forced_eos"}},
      .synonyms = {{"hidden_size", "d_model"},
                   {"num_hidden_layers", "num_layers"},
                   {"num_attention_heads", "num_heads"},
                   {"head_dim", "d_kv"}},
      // These repeat feed_forward_proj.
      .harmless = {"is_encoder_decoder", "is_gated_act", "dense_act_fn"},
      .prefixes = {""},
      .names = {{"embedding.tokens", "shared"},
                {"encoder.distances", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
                {"encoder.{}", "encoder.block.{}"},
                {"encoder.{}.norm_1", "encoder.block.{}.layer.0.layer_norm"},
                {"encoder.{}.attention", "encoder.block.{}.layer.0.SelfAttention"},
                {"encoder.{}.attention.query", "encoder.block.{}.layer.0.SelfAttention.q"},
                {"encoder.{}.attention.key", "encoder.block.{}.layer.0.SelfAttention.k"},
                {"encoder.{}.attention.value", "encoder.block.{}.layer.0.SelfAttention.v"},
                {"encoder.{}.attention.out", "encoder.block.{}.layer.0.SelfAttention.o"},
                {"encoder.{}.norm_2", "encoder.block.{}.layer.1.layer_norm"},
                {"encoder.{}.ffn", "encoder.block.{}.layer.1.DenseReluDense"},
                {"encoder.{}.ffn.up", "encoder.block.{}.layer.1.DenseReluDense.wi"},
                {"encoder.{}.ffn.gate", "encoder.block.{}.layer.1.DenseReluDense.wi_0"},
                {"encoder.{}.ffn.gated", "encoder.block.{}.layer.1.DenseReluDense.wi_1"},
                {"encoder.{}.ffn.down", "encoder.block.{}.layer.1.DenseReluDense.wo"},
                {"encoder.norm", "encoder.final_layer_norm"},
                {"decoder.distances", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
                {"decoder.{}", "decoder.block.{}"},
                {"decoder.{}.norm_1", "decoder.block.{}.layer.0.layer_norm"},
                {"decoder.{}.attention", "decoder.block.{}.layer.0.SelfAttention"},
                {"decoder.{}.attention.query", "decoder.block.{}.layer.0.SelfAttention.q"},
                {"decoder.{}.attention.key", "decoder.block.{}.layer.0.SelfAttention.k"},
                {"decoder.{}.attention.value", "decoder.block.{}.layer.0.SelfAttention.v"},
                {"decoder.{}.attention.out", "decoder.block.{}.layer.0.SelfAttention.o"},
                {"decoder.{}.norm_cross", "decoder.block.{}.layer.1.layer_norm"},
                {"decoder.{}.cross", "decoder.block.{}.layer.1.EncDecAttention"},
                {"decoder.{}.cross.query", "decoder.block.{}.layer.1.EncDecAttention.q"},
                {"decoder.{}.cross.key", "decoder.block.{}.layer.1.EncDecAttention.k"},
                {"decoder.{}.cross.value", "decoder.block.{}.layer.1.EncDecAttention.v"},
                {"decoder.{}.cross.out", "decoder.block.{}.layer.1.EncDecAttention.o"},
                {"decoder.{}.norm_2", "decoder.block.{}.layer.2.layer_norm"},
                {"decoder.{}.ffn", "decoder.block.{}.layer.2.DenseReluDense"},
                {"decoder.{}.ffn.up", "decoder.block.{}.layer.2.DenseReluDense.wi"},
                {"decoder.{}.ffn.gate", "decoder.block.{}.layer.2.DenseReluDense.wi_0"},
                {"decoder.{}.ffn.gated", "decoder.block.{}.layer.2.DenseReluDense.wi_1"},
                {"decoder.{}.ffn.down", "decoder.block.{}.layer.2.DenseReluDense.wo"},
                {"decoder.norm", "decoder.final_layer_norm"},
                {"head", "lm_head", NameRow::bare}},
      .ignored_tensors = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight",
                          "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"},
  };
}

/// T5 for many languages, as T5 1.1. The head's input has no factor, even if the head is tied.
Family make_mt5() {
  Family family = make_t5();
  family.model_type = "mt5";
  family.architectures = {{"MT5ForConditionalGeneration"}, {"MT5Model", R"({"head": {"kind": "none"}})"}};
  family.defaults = R"({"norm": {"kind": "rms", "eps": 1e-6, "final_dropout": true},
                        "attention": {"qkv_bias": false, "out_bias": false, "scaled": false},
                        "ffn": {"activation": "gelu_tanh", "gated": true, "bias": false},
                        "positions": {"kind": "relative_buckets"},
                        "dropout": {"embedding": 0.1, "residual": 0.1, "attention": 0.1, "activation": 0.1},
                        "head": {"tied": false},
                        "tokens": {"pad": 0, "eos": 1, "decoder_start": 0}})";
  std::erase_if(family.fields, [](const FieldRow& row) { return row.spec == "head.scaled"; });
  return family;
}

}  // namespace

const Family& t5_family() {
  static const Family family = make_t5();
  return family;
}

const Family& mt5_family() {
  static const Family family = make_mt5();
  return family;
}

}  // namespace smelt

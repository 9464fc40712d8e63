// T5: pre-norm encoder and decoder with RMSNorm, no biases, and a bias on the scores by distance.
#include "frontend/families.h"

namespace smelt {

namespace {

const std::vector<Spelling> kGated = {{R"("relu")", "false"},      {R"("gelu")", "false"},
                                      {R"("silu")", "false"},      {R"("gated-gelu")", "true"},
                                      {R"("gated-silu")", "true"}, {R"("gated-relu")", "true"}};
const std::vector<Spelling> kProjections = {
    {R"("relu")", R"("relu")"},       {R"("gated-gelu")", R"("gelu_tanh")"},
    {R"("gated-silu")", R"("silu")"}, {R"("gelu")", R"("gelu_erf")"},
    {R"("silu")", R"("silu")"},       {R"("gated-relu")", R"("relu")"}};

}  // namespace

const Family& t5_family() {
  static const Family family = {
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
                 {.config = "feed_forward_proj", .spec = "ffn.gated", .spellings = &kGated},
                 {.config = "feed_forward_proj", .spec = "ffn.activation", .spellings = &kProjections},
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
                 {.config = "decoder_start_token_id", .spec = "tokens.decoder_start"}},
      // What feed_forward_proj says already.
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
  return family;
}

}  // namespace smelt

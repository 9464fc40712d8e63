// BART and Marian: post-norm encoders and decoders, the decoder reading the encoder in every block. mBART,
// M2M100 (also NLLB) and Pegasus: the same with norms before the parts of a block.
#include "frontend/families/families.h"

namespace smelt {

namespace {

const std::vector<FieldRow> kBartFields = {
    {.config = "vocab_size", .spec = "vocab_size", .required = true},
    {.config = "d_model", .spec = "hidden", .required = true},
    {.config = "encoder_layers", .spec = "encoder.layers", .required = true},
    {.config = "encoder_attention_heads", .spec = "encoder.heads", .required = true},
    {.config = "encoder_ffn_dim", .spec = "encoder.ffn", .required = true},
    {.config = "decoder_layers", .spec = "decoder.layers", .required = true},
    {.config = "decoder_attention_heads", .spec = "decoder.heads", .required = true},
    {.config = "decoder_ffn_dim", .spec = "decoder.ffn", .required = true},
    {.config = "max_position_embeddings", .spec = "max_positions", .required = true},
    {.config = "activation_function", .spec = "ffn.activation", .spellings = &kActivations},
    {.config = "scale_embedding", .spec = "embedding.scaled"},
    {.config = "dropout", .spec = "dropout.embedding"},
    {.config = "dropout", .spec = "dropout.residual"},
    {.config = "attention_dropout", .spec = "dropout.attention"},
    {.config = "activation_dropout", .spec = "dropout.activation"},
    {.config = "init_std", .spec = "init.deviation"},
    {.config = "tie_word_embeddings", .spec = "head.tied"},
    {.config = "tie_word_embeddings", .spec = "embedding.shared"},
    {.config = "bos_token_id", .spec = "tokens.bos"},
    {.config = "eos_token_id", .spec = "tokens.eos"},
    {.config = "pad_token_id", .spec = "tokens.pad"},
    {.config = "decoder_start_token_id", .spec = "tokens.decoder_start"},
    {.config = "forced_bos_token_id", .spec = "tokens.forced_bos"},
    {.config = "forced_eos_token_id", .spec = "tokens.forced_eos"},
};

const std::vector<Synonym> kBartSynonyms = {{"hidden_size", "d_model"},
                                            {"num_hidden_layers", "encoder_layers"},
                                            {"num_attention_heads", "encoder_attention_heads"}};

const std::vector<NameRow> kBartNames = {
    {"embedding.tokens", "shared"},
    {"encoder.tokens", "encoder.embed_tokens"},
    {"decoder.tokens", "decoder.embed_tokens"},
    {"encoder.{}", "encoder.layers.{}"},
    {"encoder.{}.attention", "encoder.layers.{}.self_attn"},
    {"encoder.{}.attention.query", "encoder.layers.{}.self_attn.q_proj"},
    {"encoder.{}.attention.key", "encoder.layers.{}.self_attn.k_proj"},
    {"encoder.{}.attention.value", "encoder.layers.{}.self_attn.v_proj"},
    {"encoder.{}.attention.out", "encoder.layers.{}.self_attn.out_proj"},
    {"encoder.{}.norm_1", "encoder.layers.{}.self_attn_layer_norm"},
    {"encoder.{}.ffn", "encoder.layers.{}.ffn"},
    {"encoder.{}.ffn.up", "encoder.layers.{}.fc1"},
    {"encoder.{}.ffn.down", "encoder.layers.{}.fc2"},
    {"encoder.{}.norm_2", "encoder.layers.{}.final_layer_norm"},
    {"decoder.{}", "decoder.layers.{}"},
    {"decoder.{}.attention", "decoder.layers.{}.self_attn"},
    {"decoder.{}.attention.query", "decoder.layers.{}.self_attn.q_proj"},
    {"decoder.{}.attention.key", "decoder.layers.{}.self_attn.k_proj"},
    {"decoder.{}.attention.value", "decoder.layers.{}.self_attn.v_proj"},
    {"decoder.{}.attention.out", "decoder.layers.{}.self_attn.out_proj"},
    {"decoder.{}.norm_1", "decoder.layers.{}.self_attn_layer_norm"},
    {"decoder.{}.cross", "decoder.layers.{}.encoder_attn"},
    {"decoder.{}.cross.query", "decoder.layers.{}.encoder_attn.q_proj"},
    {"decoder.{}.cross.key", "decoder.layers.{}.encoder_attn.k_proj"},
    {"decoder.{}.cross.value", "decoder.layers.{}.encoder_attn.v_proj"},
    {"decoder.{}.cross.out", "decoder.layers.{}.encoder_attn.out_proj"},
    {"decoder.{}.norm_cross", "decoder.layers.{}.encoder_attn_layer_norm"},
    {"decoder.{}.ffn", "decoder.layers.{}.ffn"},
    {"decoder.{}.ffn.up", "decoder.layers.{}.fc1"},
    {"decoder.{}.ffn.down", "decoder.layers.{}.fc2"},
    {"decoder.{}.norm_2", "decoder.layers.{}.final_layer_norm"},
    {"head", "lm_head", NameRow::bare},
    {"head.offset.weight", "final_logits_bias", NameRow::bare},
};

constexpr std::string_view kBartNoHead = R"({"head": {"kind": "none", "offset": false}})";

/// Both stacks end in a norm.
const std::vector<NameRow> kFinalNorms = {{"encoder.norm", "encoder.layer_norm"},
                                          {"decoder.norm", "decoder.layer_norm"}};
const std::vector<NameRow> kPositionNames = {{"encoder.positions", "encoder.embed_positions"},
                                             {"decoder.positions", "decoder.embed_positions"}};
const std::vector<NameRow> kEmbeddingNorms = {{"encoder.embedding_norm", "encoder.layernorm_embedding"},
                                              {"decoder.embedding_norm", "decoder.layernorm_embedding"}};
const std::vector<FixedRow> kPreNorm = {{"normalize_before", "true"}, {"add_final_layer_norm", "true"}};
const std::vector<std::string_view> kSharedTables = {"shared.weight", "encoder.embed_tokens.weight",
                                                     "decoder.embed_tokens.weight", "lm_head.weight"};
const std::vector<std::string_view> kComputedTables = {"shared.weight",
                                                       "encoder.embed_tokens.weight",
                                                       "decoder.embed_tokens.weight",
                                                       "lm_head.weight",
                                                       "encoder.embed_positions.weight",
                                                       "decoder.embed_positions.weight",
                                                       "encoder.embed_positions.weights",
                                                       "decoder.embed_positions.weights"};

}  // namespace

const Family& mbart_family() {
  static const Family family = {
      .model_type = "mbart",
      .architectures = {{"MBartForConditionalGeneration"}, {"MBartModel", kBartNoHead}},
      .defaults = R"({"norm": {"embedding": true},
                      "ffn": {"activation": "gelu_erf"},
                      "positions": {"offset": 2},
                      "embedding": {"frozen_padding": true},
                      "dropout": {"embedding": 0.1, "residual": 0.1},
                      "head": {"offset": true},
                      "tokens": {"bos": 0, "pad": 1, "eos": 2, "decoder_start": 2, "last_starts": true,
                                 "forced_eos": 2}})",
      .fields = kBartFields,
      .synonyms = kBartSynonyms,
      .fixed = kPreNorm,
      .harmless = {"is_encoder_decoder", "normalize_embedding"},
      .prefixes = {"model.", ""},
      .names = joined({kBartNames, kPositionNames, kEmbeddingNorms, kFinalNorms}),
      .ignored_tensors = kSharedTables,
  };
  return family;
}

/// The probability of leaving a block out is one for both stacks.
const Family& m2m100_family() {
  static const Family family = {
      .model_type = "m2m_100",
      .architectures = {{"M2M100ForConditionalGeneration"}, {"M2M100Model", kBartNoHead}},
      .defaults = R"({"ffn": {"activation": "relu"},
                      "positions": {"kind": "sinusoidal", "ends_at_slowest": true, "counted": true, "offset": 1},
                      "embedding": {"scaled": true, "frozen_padding": true},
                      "dropout": {"embedding": 0.1, "residual": 0.1, "attention": 0.1, "block": 0.05},
                      "tokens": {"bos": 0, "pad": 1, "eos": 2, "decoder_start": 2}})",
      .fields = joined({kBartFields,
                        {{.config = "encoder_layerdrop", .spec = "dropout.block"},
                         {.config = "decoder_layerdrop", .spec = "dropout.block"}}}),
      .synonyms = {{"hidden_size", "d_model"},
                   {"num_hidden_layers", "encoder_layers"},
                   {"num_attention_heads", "encoder_attention_heads"},
                   {"decoder_layerdrop", "encoder_layerdrop"}},
      .harmless = {"is_encoder_decoder"},
      .prefixes = {"model.", ""},
      .names = joined({kBartNames, kFinalNorms}),
      .ignored_tensors = kComputedTables,
  };
  return family;
}

const Family& pegasus_family() {
  static const Family family = {
      .model_type = "pegasus",
      .architectures = {{"PegasusForConditionalGeneration"}, {"PegasusModel", kBartNoHead}},
      .defaults = R"({"ffn": {"activation": "gelu_erf"},
                      "positions": {"kind": "sinusoidal"},
                      "embedding": {"frozen_padding": true},
                      "dropout": {"embedding": 0.1, "residual": 0.1},
                      "head": {"offset": true},
                      "tokens": {"pad": 0, "eos": 1, "decoder_start": 0, "forced_eos": 1}})",
      .fields = kBartFields,
      .synonyms = kBartSynonyms,
      .fixed = joined({kPreNorm, {{"static_position_embeddings", "true"}}}),
      .harmless = {"is_encoder_decoder"},
      .prefixes = {"model.", ""},
      .names = joined({kBartNames, kFinalNorms}),
      .ignored_tensors = kComputedTables,
  };
  return family;
}

const Family& bart_family() {
  static const Family family = {
      .model_type = "bart",
      .architectures = {{"BartForConditionalGeneration"}, {"BartModel", kBartNoHead}},
      .defaults = R"({"norm": {"place": "post", "final": false, "embedding": true},
                      "ffn": {"activation": "gelu_erf"},
                      "positions": {"offset": 2},
                      "embedding": {"frozen_padding": true},
                      "dropout": {"embedding": 0.1, "residual": 0.1},
                      "head": {"offset": true},
                      "tokens": {"bos": 0, "pad": 1, "eos": 2, "decoder_start": 2, "forced_eos": 2}})",
      .fields = kBartFields,
      .synonyms = kBartSynonyms,
      .fixed = {{"normalize_before", "false"}, {"add_final_layer_norm", "false"}},
      .harmless = {"is_encoder_decoder", "normalize_embedding"},
      .prefixes = {"model.", ""},
      .names = joined({kBartNames, kPositionNames, kEmbeddingNorms}),
      .ignored_tensors = kSharedTables,
  };
  return family;
}

const Family& marian_family() {
  static const Family family = {
      .model_type = "marian",
      .architectures = {{"MarianMTModel"}, {"MarianModel", kBartNoHead}},
      .defaults = R"({"norm": {"place": "post", "final": false},
                      "ffn": {"activation": "gelu_erf"},
                      "positions": {"kind": "sinusoidal"},
                      "embedding": {"frozen_padding": true},
                      "dropout": {"embedding": 0.1, "residual": 0.1},
                      "head": {"offset": true},
                      "tokens": {"pad": 58100, "eos": 0, "decoder_start": 58100, "forced_eos": 0}})",
      .fields = kBartFields,
      .synonyms = kBartSynonyms,
      .fixed = {{"normalize_before", "false"},
                {"add_final_layer_norm", "false"},
                {"share_encoder_decoder_embeddings", "true"},
                {"static_position_embeddings", "true"}},
      .harmless = {"is_encoder_decoder"},
      .prefixes = {"model.", ""},
      .names = kBartNames,
      .ignored_tensors = kComputedTables,
  };
  return family;
}

}  // namespace smelt

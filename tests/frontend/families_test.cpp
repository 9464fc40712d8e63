// Every family's config.json: read, written and read again; what is refused, by name.
#include "frontend/families/families.h"

#include <algorithm>
#include <map>

#include "frontend/build_transformer.h"
#include "frontend/hugging_face.h"
#include "frontend/parameter_names.h"
#include "ir/graph/verifier.h"
#include "tests/frontend/support.h"

namespace smelt {
namespace {

using testing::expect_in, testing::message_of;

constexpr const char* kAll[] = {"gpt2",    "llama",       "mistral", "qwen2",       "qwen3",     "gemma",
                                "gemma2",  "gemma3_text", "phi",     "phi3",        "olmo2",     "granite",
                                "cohere",  "glm",         "glm4",    "stablelm",    "opt",       "gpt_neox",
                                "bloom",   "bert",        "roberta", "xlm-roberta", "camembert", "distilbert",
                                "electra", "albert",      "vit",     "deit",        "bart",      "mbart",
                                "m2m_100", "pegasus",     "marian",  "t5",          "mt5"};

/// The smallest config of a family: its required fields, all of odd sizes.
Json config_of(std::string_view family) {
  Json config = Json::parse(R"({
    "gpt2": {"n_embd": 30, "n_layer": 2, "n_head": 3, "n_positions": 17},
    "llama": {"hidden_size": 30, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 31,
              "max_position_embeddings": 17, "num_key_value_heads": 1},
    "opt": {"hidden_size": 30, "num_hidden_layers": 2, "num_attention_heads": 3, "ffn_dim": 31,
            "max_position_embeddings": 17},
    "gpt_neox": {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 31,
                 "max_position_embeddings": 17},
    "bloom": {"hidden_size": 30, "n_layer": 2, "n_head": 3},
    "bert": {"hidden_size": 30, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 31,
             "max_position_embeddings": 17},
    "distilbert": {"dim": 30, "n_layers": 2, "n_heads": 3, "hidden_dim": 31, "max_position_embeddings": 17},
    "vit": {"hidden_size": 30, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 31,
            "image_size": 21, "patch_size": 7},
    "bart": {"d_model": 30, "encoder_layers": 2, "decoder_layers": 1, "encoder_attention_heads": 3,
             "decoder_attention_heads": 5, "encoder_ffn_dim": 31, "decoder_ffn_dim": 33,
             "max_position_embeddings": 17},
    "t5": {"d_model": 30, "num_layers": 2, "num_decoder_layers": 1, "num_heads": 3, "d_kv": 7, "d_ff": 31}})");
  static const std::map<std::string_view, std::string_view> likes = {
      {"mistral", "llama"},  {"qwen2", "llama"},       {"qwen3", "llama"},  {"gemma", "llama"},
      {"gemma2", "llama"},   {"gemma3_text", "llama"}, {"phi", "llama"},    {"phi3", "llama"},
      {"olmo2", "llama"},    {"granite", "llama"},     {"cohere", "llama"}, {"glm", "llama"},
      {"glm4", "llama"},     {"stablelm", "llama"},    {"roberta", "bert"}, {"xlm-roberta", "bert"},
      {"camembert", "bert"}, {"electra", "bert"},      {"albert", "bert"},  {"deit", "vit"},
      {"mbart", "bart"},     {"m2m_100", "bart"},      {"pegasus", "bart"}, {"marian", "bart"},
      {"mt5", "t5"}};
  const std::string_view like = likes.contains(family) ? likes.at(family) : family;
  Json result = config[std::string(like)];
  result["model_type"] = family;
  if (like != "vit") result["vocab_size"] = 61;
  if (family == "electra" || family == "albert") result["embedding_size"] = 13;
  if (family == "phi") result["rope_parameters"] = {{"partial_rotary_factor", 0.6}};
  if (family == "stablelm") result["rope_parameters"] = {{"partial_rotary_factor", 0.4}};
  if (family == "marian") result["pad_token_id"] = result["decoder_start_token_id"] = 60;
  return result;
}

TransformerSpec read(const Json& config) { return spec_from_config(config, "config.json"); }

/// `changes` is a merge patch in JSON text; the patch's nulls take fields away.
TransformerSpec changed(std::string_view family, const char* changes) {
  Json config = config_of(family);
  config.merge_patch(Json::parse(changes));
  return read(config);
}

std::string refusal(std::string_view family, const char* changes) {
  return message_of([&] { changed(family, changes); });
}

void expect_round_trip(const TransformerSpec& spec) {
  const std::optional<Json> config = config_from_spec(spec);
  ASSERT_TRUE(config) << to_json(spec).dump();
  EXPECT_EQ(read(*config), spec) << config->dump(1);
}

TEST(Families, ConfigsReadBackAsTheyWereWritten) {
  for (const char* family : kAll) {
    SCOPED_TRACE(family);
    const TransformerSpec spec = read(config_of(family));
    EXPECT_EQ(spec.family, family);
    expect_round_trip(spec);
  }
}

TEST(Families, EveryArchitectureReadsBackAndIsBuilt) {
  for (const char* family : kAll)
    for (const Architecture& architecture : find_family(family)->architectures) {
      SCOPED_TRACE(architecture.name);
      Json config = config_of(family);
      config["architectures"] = {architecture.name};
      const TransformerSpec spec = read(config);
      expect_round_trip(spec);
      const auto module = build_transformer(spec, {.training = spec.head.kind != HeadKind::none});
      EXPECT_NO_THROW(verify_or_throw(*module));
      EXPECT_FALSE(module->parameters.empty());
    }
}

struct Change {
  const char *family, *changes;
};

/// Fields away from their defaults, which a written config must say.
const Change kChanges[] = {
    {"gpt2", R"({"n_inner": 77, "activation_function": "relu", "scale_attn_by_inverse_layer_idx": true})"},
    {"gpt2", R"({"tie_word_embeddings": false, "eos_token_id": [3, 4], "bos_token_id": null})"},
    {"llama", R"({"attention_bias": true, "mlp_bias": true, "head_dim": 14, "tie_word_embeddings": true})"},
    {"llama", R"({"rope_parameters": {"rope_type": "linear", "factor": 2, "rope_theta": 5e5}})"},
    {"llama", R"({"rope_parameters": {"rope_type": "dynamic", "factor": 2.5}})"},
    {"llama", R"({"rope_parameters": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1.5,
                                      "high_freq_factor": 5, "original_max_position_embeddings": 11}})"},
    {"llama", R"({"rope_parameters": {"rope_type": "yarn", "factor": 4, "beta_fast": 20}})"},
    {"llama", R"({"rope_scaling": {"type": "yarn", "attention_factor": 0.5, "factor": 3,
                                   "original_max_position_embeddings": 11}})"},
    {"llama", R"({"rope_parameters": {"rope_type": "yarn", "factor": 4, "truncate": false, "mscale": 0.7,
                                      "mscale_all_dim": 0.5}})"},
    {"phi3", R"({"original_max_position_embeddings": 7,
                 "rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 1, 2],
                                  "long_factor": [1, 2, 3, 4, 5]}})"},
    {"phi3", R"({"sliding_window": 5, "partial_rotary_factor": 0.6, "resid_pdrop": 0.1})"},
    {"gemma3_text", R"({"sliding_window_pattern": 2, "num_hidden_layers": 5})"},
    {"gemma3_text", R"({"rope_local_base_freq": 5000, "rope_theta": 2e6, "head_dim": 6,
                        "rope_scaling": {"rope_type": "linear", "factor": 8}})"},
    {"granite", R"({"embedding_multiplier": 12, "logits_scaling": 16, "residual_multiplier": 0.22,
                    "attention_multiplier": 0.015625})"},
    {"cohere", R"({"logit_scale": 0.8, "attention_bias": true})"},
    {"glm4", R"({"head_dim": 12, "attention_bias": false, "partial_rotary_factor": 1.0})"},
    {"electra", R"({"embedding_size": 30})"},
    {"albert", R"({"embedding_size": 30})"},
    {"m2m_100", R"({"encoder_layerdrop": 0.2, "decoder_layerdrop": 0.2, "scale_embedding": false})"},
    {"mistral", R"({"head_dim": 6, "hidden_act": "gelu_pytorch_tanh"})"},
    {"mistral", R"({"sliding_window": 5})"},
    {"qwen2", R"({"num_key_value_heads": 3, "rms_norm_eps": 1e-5, "initializer_range": 0.5})"},
    {"qwen2", R"({"use_sliding_window": true, "sliding_window": 5, "max_window_layers": 1})"},
    {"qwen2", R"({"use_sliding_window": true, "layer_types": ["sliding_attention", "full_attention"]})"},
    {"qwen3", R"({"head_dim": 6, "attention_bias": true, "tie_word_embeddings": true})"},
    {"gemma", R"({"head_dim": 6, "hidden_act": "silu", "attention_bias": true})"},
    {"gemma2", R"({"query_pre_attn_scalar": 24, "attn_logit_softcapping": 20, "sliding_window": 9})"},
    {"gemma2", R"({"final_logit_softcapping": 7.5, "layer_types": ["full_attention", "sliding_attention"]})"},
    {"gemma2", R"({"layer_types": ["full_attention", "full_attention"]})"},
    {"opt", R"({"do_layer_norm_before": false, "word_embed_proj_dim": 11, "enable_bias": false})"},
    {"gpt_neox", R"({"use_parallel_residual": false, "attention_bias": false, "rotary_pct": 0.5})"},
    {"gpt_neox", R"({"rotary_emb_base": 5e5, "rope_scaling": {"type": "linear", "factor": 2}})"},
    {"bloom", R"({"hidden_dropout": 0.25, "layer_norm_epsilon": 1e-3, "tie_word_embeddings": false})"},
    {"bert", R"({"hidden_act": "relu", "type_vocab_size": 5, "tie_word_embeddings": false,
                 "hidden_dropout_prob": 0.3, "classifier_dropout": 0.2})"},
    {"bert",
     R"({"architectures": ["BertForSequenceClassification"], "id2label": {"0": "a", "1": "b", "2": "c"}})"},
    {"roberta", R"({"type_vocab_size": 1, "tie_word_embeddings": false})"},
    {"roberta", R"({"architectures": ["RobertaForSequenceClassification"], "id2label": {"0": "a"}})"},
    {"xlm-roberta", R"({"architectures": ["XLMRobertaModel"], "type_vocab_size": 1})"},
    {"distilbert",
     R"({"architectures": ["DistilBertForSequenceClassification"], "seq_classif_dropout": 0.4})"},
    {"distilbert", R"({"activation": "gelu_new", "attention_dropout": 0, "pad_token_id": 3})"},
    {"vit", R"({"num_channels": 1, "qkv_bias": false, "id2label": {"0": "a", "1": "b", "2": "c"}})"},
    {"bart", R"({"scale_embedding": true, "activation_function": "relu", "tie_word_embeddings": false})"},
    {"marian", R"({"scale_embedding": true, "activation_function": "swish", "activation_dropout": 0.25})"},
    {"t5", R"({"feed_forward_proj": "gated-gelu", "tie_word_embeddings": false, "dropout_rate": 0})"},
    {"t5", R"({"feed_forward_proj": "gated-silu", "scale_decoder_outputs": false})"},
    {"t5", R"({"feed_forward_proj": "gelu", "relative_attention_num_buckets": 10,
               "relative_attention_max_distance": 21})"},
};

TEST(Families, FieldsAwayFromTheirDefaultsReadBack) {
  for (const Change& change : kChanges) {
    SCOPED_TRACE(change.changes);
    const TransformerSpec spec = changed(change.family, change.changes);
    EXPECT_NE(spec, read(config_of(change.family)));
    expect_round_trip(spec);
  }
}

TEST(Families, ZerosThatStandForNothingAreNotWritten) {
  const Json config =
      *config_from_spec(changed("llama", R"({"rope_scaling": {"type": "yarn", "factor": 2}})"));
  const Json& rope = config.at("rope_parameters");
  EXPECT_EQ(rope.at("rope_type"), "yarn");
  EXPECT_EQ(rope.at("factor"), 2);
  for (const char* name : {"attention_factor", "original_max_position_embeddings"})
    EXPECT_FALSE(rope.contains(name)) << name;
}

/// transformers computes the factor from the lengths where it is null.
TEST(Families, TheFactorOfYarnMayBeNullWhereTheLengthsAreGiven) {
  Json config = config_of("llama");
  Json& rope = config["rope_parameters"] = {{"rope_type", "yarn"}, {"factor", nullptr}};
  expect_in(message_of([&] { read(config); }), {"rope_parameters.factor: 0 or missing; yarn needs it"});
  rope["original_max_position_embeddings"] = 2;
  const TransformerSpec spec = read(config);
  EXPECT_EQ(spec.positions.scaling_factor, static_cast<double>(spec.max_positions) / 2);
  expect_round_trip(spec);
}

TEST(Families, RotaryParametersInEverySpelling) {
  const TransformerSpec now =
      changed("llama", R"({"rope_parameters": {"rope_type": "llama3", "factor": 8, "rope_theta": 5e5}})");
  EXPECT_EQ(now.positions.scaling, RopeScaling::llama3);
  EXPECT_EQ(now.positions.rope_theta, 5e5);
  for (const char* before : {R"({"rope_theta": 5e5, "rope_scaling": {"rope_type": "llama3", "factor": 8}})",
                             R"({"rope_theta": 5e5, "rope_scaling": {"type": "llama3", "factor": 8}})",
                             R"({"rope_parameters": {"type": "llama3", "factor": 8, "rope_theta": 5e5}})"})
    EXPECT_EQ(changed("llama", before), now) << before;
  EXPECT_EQ(changed("llama", R"({"rope_scaling": null})"), read(config_of("llama")));
}

using Layers = std::vector<LayerAttention>;
constexpr auto kFull = LayerAttention::full_attention, kSliding = LayerAttention::sliding_attention;

TEST(Families, WindowsOfEveryBlock) {
  const auto attention = [](const char* family, const char* changes) {
    return changed(family, changes).attention;
  };
  EXPECT_EQ(attention("mistral", "{}").window, 4096);
  EXPECT_EQ(attention("mistral", R"({"sliding_window": 5})").layers, (Layers{kSliding, kSliding}));
  EXPECT_EQ(attention("gemma2", "{}").layers, (Layers{kSliding, kFull}));
  EXPECT_EQ(attention("gemma2", R"({"num_hidden_layers": 3})").layers, (Layers{kSliding, kFull, kSliding}));
  for (const char* family : {"qwen2", "qwen3"}) {
    EXPECT_EQ(attention(family, R"({"sliding_window": 5, "max_window_layers": 0})").window, 0);
    EXPECT_EQ(attention(family, R"({"use_sliding_window": true})").window, 0);  // from block 28 on
    const auto some = attention(family, R"({"use_sliding_window": true, "max_window_layers": 1})");
    EXPECT_EQ(some.window, 4096);
    EXPECT_EQ(some.layers, (Layers{kFull, kSliding}));
    EXPECT_EQ(attention(family, R"({"use_sliding_window": true, "max_window_layers": 1,
                                    "layer_types": ["sliding_attention", "full_attention"]})")
                  .layers,
              (Layers{kSliding, kFull}));
  }
}

TEST(Families, NullIsNone) {
  for (const auto& [family, field] : {std::pair{"mistral", "sliding_window"},
                                      {"gemma2", "sliding_window"},
                                      {"gemma2", "attn_logit_softcapping"},
                                      {"gemma2", "final_logit_softcapping"},
                                      {"opt", "word_embed_proj_dim"}}) {
    SCOPED_TRACE(field);
    Json config = config_of(family);
    config[field] = nullptr;
    const TransformerSpec spec = read(config);
    EXPECT_EQ(spec == read(config_of(family)), std::string_view(family) == "opt");
    EXPECT_EQ(config_from_spec(spec)->at(field), nullptr);
    expect_round_trip(spec);
  }
  Json config = config_of("gemma2");
  config["attn_logit_softcapping"] = config["final_logit_softcapping"] = config["sliding_window"] = nullptr;
  const TransformerSpec spec = read(config);
  EXPECT_EQ(spec.attention.soft_cap, 0);
  EXPECT_EQ(spec.head.soft_cap, 0);
  EXPECT_EQ(spec.attention.window, 0);
}

TEST(Families, RotaryFractionInEverySpelling) {
  EXPECT_EQ(changed("gpt_neox", "{}").positions.rotary_fraction, 0.25);
  for (const char* said : {R"({"rotary_pct": 0.5, "rotary_emb_base": 5e5})",
                           R"({"rope_parameters": {"partial_rotary_factor": 0.5, "rope_theta": 5e5}})",
                           R"({"rotary_pct": 1, "rotary_emb_base": 1,
                               "rope_parameters": {"partial_rotary_factor": 0.5, "rope_theta": 5e5}})"}) {
    const auto positions = changed("gpt_neox", said).positions;
    EXPECT_EQ(positions.rotary_fraction, 0.5) << said;
    EXPECT_EQ(positions.rope_theta, 5e5) << said;
  }
}

TEST(Families, GeluOfGemmaIsTheApproximation) {
  EXPECT_EQ(changed("gemma", R"({"hidden_act": "gelu"})"), read(config_of("gemma")));
  EXPECT_EQ(changed("gemma", R"({"hidden_activation": "silu"})").ffn.activation, Activation::silu);
  EXPECT_EQ(changed("gemma2", R"({"hidden_activation": "silu"})").ffn.activation, Activation::silu);
}

TEST(Families, AWidthOfItsOwnForTheEmbeddingsOfOpt) {
  EXPECT_EQ(changed("opt", R"({"word_embed_proj_dim": 30})"), read(config_of("opt")));
  const TransformerSpec spec = changed("opt", R"({"word_embed_proj_dim": 11})");
  EXPECT_EQ(spec.embedding.width, 11);
  EXPECT_EQ(config_from_spec(spec)->at("word_embed_proj_dim"), 11);
}

TEST(Families, FeedForwardProjectionsOfT5) {
  const auto ffn = [](const char* name) {
    Json config = config_of("t5");
    config["feed_forward_proj"] = name;
    return read(config).ffn;
  };
  EXPECT_EQ(ffn("gated-gelu"), (TransformerSpec::Ffn{Activation::gelu_tanh, true, false}));
  EXPECT_EQ(ffn("gelu"), (TransformerSpec::Ffn{Activation::gelu_erf, false, false}));
  EXPECT_EQ(ffn("gelu_new"), (TransformerSpec::Ffn{Activation::gelu_tanh, false, false}));
  EXPECT_EQ(ffn("gated-swish"), (TransformerSpec::Ffn{Activation::silu, true, false}));
  EXPECT_EQ(ffn("relu"), (TransformerSpec::Ffn{Activation::relu, false, false}));
}

/// The field named first is the one that the message must name.
struct Refused {
  const char *family, *field, *changes;
};

const Refused kRefused[] = {
    {"mistral", "sliding_window: -1", R"({"sliding_window": -1})"},
    {"llama", "sliding_window: 128", R"({"sliding_window": 128})"},
    {"llama", "layer_types: ", R"({"layer_types": ["full_attention", "sliding_attention"]})"},
    {"qwen2", "use_sliding_window: 3", R"({"use_sliding_window": 3})"},
    {"qwen3", "layer_types: \"chunked_attention\"", R"({"layer_types": ["chunked_attention"]})"},
    {"gemma2", "layer_types: 3 entries",
     R"({"layer_types": ["full_attention", "full_attention", "sliding_attention"]})"},
    {"mistral", "layer_types: [",
     R"({"sliding_window": 5, "layer_types": ["full_attention", "full_attention"]})"},
    {"gemma2", "final_logit_softcapping: -1", R"({"final_logit_softcapping": -1})"},
    {"gemma", "use_bidirectional_attention: true", R"({"use_bidirectional_attention": true})"},
    {"gemma", "final_logit_softcapping: 30", R"({"final_logit_softcapping": 30})"},
    {"opt", "_remove_final_layer_norm: true", R"({"_remove_final_layer_norm": true})"},
    {"opt", "layer_norm_elementwise_affine: false", R"({"layer_norm_elementwise_affine": false})"},
    {"opt", "layerdrop: 0.1", R"({"layerdrop": 0.1})"},
    {"gpt_neox", "rope_parameters.partial_rotary_factor: 0.7 of head_dim = 8 is 5", R"({"rotary_pct": 0.7})"},
    {"bloom", "apply_residual_connection_post_layernorm: true",
     R"({"apply_residual_connection_post_layernorm": true})"},
    {"gpt2", "alibi: true", R"({"alibi": true})"},
    {"llama", "num_local_experts: 8", R"({"num_local_experts": 8})"},
    {"llama", "rope_parameters.long_factor: 2 numbers, expected one for each of 5 pairs",
     R"({"rope_parameters": {"rope_type": "longrope", "long_factor": [1, 2]}})"},
    {"gemma3_text", "rope_parameters.full_attention.rope_type: \"yarn\"",
     R"({"rope_parameters": {"full_attention": {"rope_type": "yarn"}}})"},
    {"gemma3_text", "rope_parameters.sliding_attention.rope_type: \"linear\"",
     R"({"rope_parameters": {"sliding_attention": {"rope_type": "linear"}}})"},
    {"cohere", "use_qk_norm: true", R"({"use_qk_norm": true})"},
    {"phi", "qk_layernorm: true", R"({"qk_layernorm": true})"},
    {"stablelm", "use_parallel_residual: true", R"({"use_parallel_residual": true})"},
    {"albert", "num_hidden_groups: 2", R"({"num_hidden_groups": 2})"},
    {"m2m_100", "encoder_layerdrop: 0.1, and decoder_layerdrop: 0.2",
     R"({"encoder_layerdrop": 0.1, "decoder_layerdrop": 0.2})"},
    {"pegasus", "normalize_before: false", R"({"normalize_before": false})"},
    {"llama", "rope_parameters.factor: 0 or missing", R"({"rope_parameters": {"rope_type": "linear"}})"},
    {"llama", "rope_parameters.factor: missing, expected the ratio of the lengths, which yarn needs",
     R"({"rope_parameters": {"rope_type": "yarn", "original_max_position_embeddings": 11}})"},
    {"llama", "rope_scaling.factor: 0, expected the ratio of the lengths",
     R"({"rope_scaling": {"type": "yarn", "factor": 0, "original_max_position_embeddings": 11}})"},
    {"llama", "partial_rotary_factor: 0.5", R"({"partial_rotary_factor": 0.5})"},
    {"llama", "pretraining_tp: 2", R"({"pretraining_tp": 2})"},
    {"llama", "quantization_config: ", R"({"quantization_config": {"bits": 4}})"},
    {"llama", "num_key_value_heads: 2 does not divide", R"({"num_key_value_heads": 2})"},
    {"llama", "hidden_act: \"mish\"", R"({"hidden_act": "mish"})"},
    {"bert", "problem_type: \"ranking\"", R"({"problem_type": "ranking"})"},
    {"bert", "position_embedding_type: \"relative_key\"", R"({"position_embedding_type": "relative_key"})"},
    {"bert", "is_decoder: true", R"({"is_decoder": true})"},
    {"bert", "add_cross_attention: true", R"({"add_cross_attention": true})"},
    {"bert", "num_attention_heads: 4 does not divide", R"({"num_attention_heads": 4})"},
    {"bert", "intermediate_size: missing", R"({"intermediate_size": null})"},
    {"roberta", "pad_token_id: 0", R"({"pad_token_id": 0})"},
    {"distilbert", "sinusoidal_pos_embds: true", R"({"sinusoidal_pos_embds": true})"},
    {"vit", "patch_size: 5 does not divide", R"({"patch_size": 5})"},
    {"vit", "image_size: ", R"({"image_size": [224, 112]})"},
    {"vit", "pooler_act: \"relu\"", R"({"pooler_act": "relu"})"},
    {"bart", "normalize_before: true", R"({"normalize_before": true})"},
    {"bart", "encoder_layerdrop: 0.1", R"({"encoder_layerdrop": 0.1})"},
    {"marian", "share_encoder_decoder_embeddings: false", R"({"share_encoder_decoder_embeddings": false})"},
    {"t5", "feed_forward_proj: \"gated-mish\"", R"({"feed_forward_proj": "gated-mish"})"},
    {"t5", "relative_attention_max_distance: 16", R"({"relative_attention_max_distance": 16})"},
};

TEST(Families, WhatChangesTheMathsIsRefusedByName) {
  for (const Refused& refused : kRefused) {
    SCOPED_TRACE(refused.changes);
    expect_in(refusal(refused.family, refused.changes), {"config.json: 1 problem\n", refused.field});
  }
}

/// As transformers' attribute_map has it.
TEST(Families, OtherNamesOfAFieldAreItsOwn) {
  const std::pair<const char*, const char*> equal[] = {
      {R"({"n_head": null, "num_attention_heads": 5})", R"({"n_head": 5})"},
      {R"({"num_attention_heads": 5, "n_head": 5})", R"({"n_head": 5})"}};
  for (const auto& [other, own] : equal) EXPECT_EQ(changed("gpt2", other), changed("gpt2", own)) << other;
  EXPECT_EQ(changed("t5", R"({"d_kv": null, "head_dim": 5})"), changed("t5", R"({"d_kv": 5})"));
  expect_in(refusal("gpt2", R"({"n_head": 4, "num_attention_heads": 5})"),
            {"n_head: 4, and num_attention_heads: 5, which is the same field; expected one value"});
  expect_in(refusal("distilbert", R"({"n_heads": 4, "num_attention_heads": 5})"), {"n_heads: 4, and"});
  expect_in(refusal("marian", R"({"encoder_layers": 1, "num_hidden_layers": 2})"),
            {"encoder_layers: 1, and"});
}

TEST(Families, RopeScalingIsReadInPlaceOfRopeParameters) {
  const char* both = R"({"rope_parameters": {"rope_type": "default", "rope_theta": 7e5}, "rope_theta": 5e5,
                         "rope_scaling": {"type": "linear", "factor": 4}})";
  const char* one = R"({"rope_parameters": {"rope_type": "linear", "factor": 4, "rope_theta": 5e5}})";
  EXPECT_EQ(changed("llama", both), changed("llama", one));
  const char* with_theta = R"({"rope_scaling": {"type": "linear", "factor": 4, "rope_theta": 5e5}})";
  EXPECT_EQ(changed("llama", with_theta), changed("llama", one));
  expect_in(refusal("llama", R"({"rope_scaling": "linear"})"),
            {"rope_scaling: \"linear\", expected an object"});
}

TEST(Families, AllThatIsRefusedIsRefusedAtOnce) {
  for (const char* family : kAll) {
    SCOPED_TRACE(family);
    const char* field = "num_experts";
    expect_in(refusal(family, R"({"num_experts": 8, "use_alibi": true, "attention_chunk_size": 64,
                                  "multi_query": true, "architectures": ["NoSuchModel"], "clip_qkv": 8})"),
              {"6 problems", field, "use_alibi: true", "attention_chunk_size: 64", "multi_query: true",
               "NoSuchModel", "clip_qkv: 8"});
  }
}

TEST(Families, OtherArchitecturesAreRefusedWithTheSupported) {
  for (const auto& [family, wrong] : {std::pair{"bert", "BertForNextSentencePrediction"},
                                      {"llama", "LlamaForSequenceClassification"},
                                      {"roberta", "RobertaForCausalLM"},
                                      {"t5", "T5EncoderModel"},
                                      {"vit", "ViTForMaskedImageModeling"},
                                      {"bart", "BartForCausalLM"}}) {
    Json config = config_of(family);
    config["architectures"] = {wrong};
    const std::string message = message_of([&] { read(config); });
    const std::string first(find_family(family)->architectures.front().name);
    expect_in(message, {"1 problem\n", "architectures: ", wrong, first.c_str()});
  }
  EXPECT_NO_THROW(changed("bert", R"({"architectures": ["BertForNextSentencePrediction", "BertModel"]})"));
}

TEST(Families, OneClassIsARegression) {
  const TransformerSpec spec =
      changed("bert", R"({"architectures": ["BertForSequenceClassification"], "id2label": {"0": "score"}})");
  EXPECT_EQ(spec.head.problem, Problem::regression);
  const auto module = build_transformer(spec, {});
  EXPECT_EQ(module->find_graph("loss")->find_input("labels")->result()->type,
            (Type{DType::f32, {Dim::symbol("B")}}));
}

/// Without the names of TensorFlow's norms.
std::vector<std::string> present_names(std::vector<std::string> names) {
  std::erase_if(names, [](const std::string& name) {
    return name.ends_with("LayerNorm.gamma") || name.ends_with("LayerNorm.beta");
  });
  return names;
}

TEST(Families, EveryParameterGoesByEachPrefixOfItsFamily) {
  for (const char* family : kAll) {
    SCOPED_TRACE(family);
    const Family& table = *find_family(family);
    const auto module = build_transformer(read(config_of(family)), {});
    for (const Module::Parameter& parameter : module->parameters) {
      EXPECT_EQ(parameter.name, parameter.checkpoint_names.front());
      const bool bare = present_names(parameter.checkpoint_names).size() == 1;
      ASSERT_TRUE(bare || present_names(parameter.checkpoint_names).size() == table.prefixes.size())
          << parameter.name;
      for (size_t i = 0; !bare && i < table.prefixes.size(); ++i)
        EXPECT_TRUE(parameter.checkpoint_names[i].starts_with(table.prefixes[i])) << parameter.name;
    }
  }
}

/// No parameter keeps a role of the builder for its name, as one without a row in the table would.
TEST(Families, EveryParameterHasANameOfItsOwn) {
  for (const char* family : kAll)
    for (const char* tied : {"true", "false"}) {
      SCOPED_TRACE(family);
      Json config = config_of(family);
      config["tie_word_embeddings"] = Json::parse(tied);
      TransformerSpec spec = read(config);
      if (spec.head.kind == HeadKind::image_classes) spec.head.tied = false;
      const auto module = build_transformer(spec, {});
      std::vector<std::string> names;
      for (const Module::Parameter& parameter : module->parameters) names.push_back(parameter.name);
      std::ranges::sort(names);
      EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
      for (const std::string& name : names)
        for (const char* role : {"norm_1", "norm_2", "norm_cross", "query_norm", "distances", "project_in",
                                 "ffn.up", "mlm.", "embedding."})
          EXPECT_FALSE(name.starts_with(role) || name.find(std::string(".") + role) != std::string::npos)
              << name;
    }
}

}  // namespace
}  // namespace smelt

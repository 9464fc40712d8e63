#include "frontend/transformer_spec.h"

#include "tests/frontend/support.h"

namespace smelt {
namespace {

using testing::expect_in, testing::message_of, testing::small_spec;

/// A spec without a field at its default.
TransformerSpec unusual_spec() {
  TransformerSpec spec = small_spec();
  spec.encoder = {1, 2, 1, 5, 77};
  spec.parallel_residual = true;
  spec.residual_factor = 0.5;
  spec.attention.fused_qkv = false;
  spec.norm = {.kind = NormKind::rms,
               .place = NormPlace::post,
               .eps = 3e-7,
               .bias = false,
               .zero_centered = true,
               .final = false,
               .final_is_hidden = false,
               .embedding = true,
               .final_dropout = true};
  spec.attention.qkv_bias = false;
  spec.attention.out_bias = false;
  spec.attention.scaled = false;
  spec.attention.scaled_by_layer = true;
  spec.attention.scale_dim = 24;
  spec.attention.scale = 0.25;
  spec.attention.soft_cap = 50;
  spec.attention.window = 7;
  spec.attention.window_from = 1;
  spec.attention.full_every = 3;
  spec.attention.layers = {LayerAttention::full_attention, LayerAttention::sliding_attention,
                           LayerAttention::full_attention};
  spec.attention.qk_norm = true;
  spec.attention.qk_norm_whole = true;
  spec.attention.qkv_by_head = true;
  spec.ffn = {.activation = Activation::silu, .gated = true, .bias = false, .fused_gate = true};
  spec.positions = {.kind = PositionKind::relative_buckets,
                    .offset = 2,
                    .counted = true,
                    .counted_by_mask = true,
                    .interleaved = true,
                    .ends_at_slowest = true,
                    .rope_theta = 5e5,
                    .window_rope_theta = 4e5,
                    .rotary_fraction = 0.5,
                    .scaling = RopeScaling::llama3,
                    .scaling_factor = 8,
                    .low_freq_factor = 2,
                    .high_freq_factor = 5,
                    .beta_fast = 31,
                    .beta_slow = 3,
                    .exact_bounds = true,
                    .attention_factor = 0.5,
                    .mscale = 0.75,
                    .mscale_all_dim = 1.25,
                    .short_factors = {1, 2.5},
                    .long_factors = {3, 4.5},
                    .original_max_positions = 4096,
                    .buckets = 16,
                    .max_distance = 64};
  spec.embedding = {.width = 10,
                    .projected_last = true,
                    .always_projected = true,
                    .scaled = true,
                    .factor = 3,
                    .frozen_padding = true,
                    .shared = false,
                    .token_types = 2,
                    .image_size = 32,
                    .patch_size = 8,
                    .channels = 3,
                    .class_token = true,
                    .second_token = true};
  spec.dropout = {.embedding = 0.15,
                  .residual = 0.2,
                  .attention = 0.3,
                  .activation = 0.4,
                  .classifier = 0.5,
                  .block = 0.6};
  spec.head = {.kind = HeadKind::sequence_classes,
               .tied = false,
               .bias = true,
               .offset = true,
               .scaled = true,
               .factor = 0.5,
               .divisor = 8,
               .soft_cap = 30,
               .pooler = true,
               .dense = true,
               .dense_activation = Activation::relu,
               .dense_dropout = true,
               .classes = 5,
               .problem = Problem::several_classes};
  spec.criterion = {.label_smoothing = 0.1, .smoothing = Smoothing::others, .ignore_index = -1};
  spec.init = {.deviation = 0.5, .scale_residual = false};
  spec.tokens = {.bos = 1,
                 .pad = 2,
                 .decoder_start = 3,
                 .last_starts = true,
                 .forced_bos = 6,
                 .forced_eos = 7,
                 .eos = {4, 5}};
  return spec;
}

TEST(TransformerSpec, WhatIsNotSaidIsWrittenDown) {
  const TransformerSpec spec = spec_from_json(
      R"({"vocab_size": 256, "hidden": 48, "max_positions": 7, "decoder": {"layers": 2, "heads": 3}})");
  EXPECT_EQ(spec.decoder.kv_heads, 3);
  EXPECT_EQ(spec.decoder.head_dim, 16);
  EXPECT_EQ(spec.decoder.ffn, 192);
  EXPECT_EQ(spec.encoder, StackSpec());
  EXPECT_EQ(spec.tokenizer, TokenizerKind::bytes);
  EXPECT_EQ(spec.family, "transformer");
}

TEST(TransformerSpec, RoundTripKeepsEveryField) {
  const TransformerSpec spec = unusual_spec();
  // The loss of a field that stands at its default would go unseen.
  const Json written = to_json(spec), usual = to_json(small_spec());
  for (const char* group :
       {"norm", "attention", "ffn", "positions", "embedding", "dropout", "head", "criterion"})
    for (const auto& [key, value] : written.at(group).items())
      EXPECT_NE(value, usual.at(group).at(key)) << group << "." << key;
  const std::string text = to_json(spec).dump();
  EXPECT_EQ(spec_from_json(text), spec) << text;
}

TEST(TransformerSpec, AllProblemsComeAtOnce) {
  const std::string message = message_of([] {
    spec_from_json(R"({"vocab_size": 0, "hidden": 50, "max_position": 3, "max_positions": -1, "colour": "red",
                       "decoder": {"layers": "two", "heads": 7, "head_dim": 1.5}, "norm": {"kind": "batch"},
                       "dropout": {"residual": 1.0}, "ffn": 3, "family": "no such", "tokens": {"eos": [1, "a"]}})",
                   "file.json");
  });
  expect_in(
      message,
      {"file.json: ", "vocab_size: 0", "max_position: unknown key; did you mean max_positions?",
       "max_positions: -1", "colour: unknown key", "decoder.layers: \"two\", expected an integer",
       "decoder.head_dim: 1.5", "norm.kind: \"batch\", expected one of layer, rms", "dropout.residual: 1.0",
       "ffn: 3, expected an object", "family: \"no such\"", "tokens.eos: \"a\""});
}

/// Every field stands in docs/reference/spec_fields.md, in quotes and by its whole name.
TEST(TransformerSpec, EveryFieldIsDocumented) {
  const std::string docs =
      read_text_file(std::filesystem::path(SMELT_SOURCE_DIR) / "docs/reference/spec_fields.md");
  const Json fields = to_json(TransformerSpec()).flatten();
  for (const auto& [path, value] : fields.items()) {
    std::string name = path.substr(1);
    std::ranges::replace(name, '/', '.');
    EXPECT_NE(docs.find("`" + name + "`"), std::string::npos) << name;
  }
}

TEST(TransformerSpec, AKeyOutsideItsGroupIsRecognised) {
  expect_in(message_of([] { small_spec(R"({"layer": 2, "dropuot": 0.1, "colour": "red"})"); }),
            {"layer: unknown key; did you mean encoder.layers, decoder.layers or attention.layers?",
             "colour: unknown key\n", "dropuot: unknown key; did you mean dropout?"});
}

TEST(TransformerSpec, HeadsMustDivide) {
  const std::string message = message_of([] { small_spec(R"({"decoder": {"heads": 7}})"); });
  expect_in(message, {"1 problem", "decoder.heads: 7 does not divide hidden = 36"});
  expect_in(
      message_of([] { small_spec(R"({"attention": {"fused_qkv": false}, "decoder": {"kv_heads": 3}})"); }),
      {"decoder.kv_heads: 3 does not divide heads = 4"});
}

TEST(TransformerSpec, EveryBlockIsToldWhetherItHasTheWindow) {
  constexpr auto full = LayerAttention::full_attention, sliding = LayerAttention::sliding_attention;
  using Layers = std::vector<LayerAttention>;
  const auto attention = [](const char* text) {
    return small_spec((R"({"attention": )" + std::string(text) + "}").c_str()).attention;
  };
  EXPECT_EQ(attention(R"({"window": 5})").layers, (Layers{sliding, sliding, sliding}));
  EXPECT_EQ(attention(R"({"window": 5, "window_from": 2})").layers, (Layers{full, full, sliding}));
  EXPECT_EQ(attention(R"({"window": 5, "layers": ["sliding_attention", "full_attention"]})").layers,
            (Layers{sliding, full, sliding}));
  EXPECT_EQ(attention(R"({"window": 5, "layers": "full_attention"})"), attention("{}"));
  EXPECT_EQ(attention(R"({"layers": "sliding_attention", "window_from": 1})"), attention("{}"));
  expect_in(message_of([&] {
              attention(R"({"window": 5, "layers": ["sliding_attention", "full_attention",
                            "full_attention", "full_attention"]})");
            }),
            {"attention.layers: 4 entries, expected one for each of 3 layers"});
  expect_in(message_of([&] { attention(R"({"window": 5, "layers": ["local"]})"); }),
            {"attention.layers: \"local\", expected one of full_attention, sliding_attention or a list"});
}

TEST(TransformerSpec, RotaryPositionsTurnPairs) {
  const char* odd = R"({"positions": {"kind": "rope"}})";
  expect_in(message_of([&] { small_spec(odd); }), {"decoder.head_dim: 9 is odd"});
  for (const char* share : {"0.4", "0", "0.1"}) {
    const std::string fields =
        std::string(R"({"positions": {"kind": "rope", "rotary_fraction": )") + share + "}}";
    expect_in(message_of([&] { small_spec(fields.c_str()); }),
              {"positions.rotary_fraction: 0", "of head_dim = 9"});
  }
  EXPECT_NO_THROW(small_spec(R"({"positions": {"kind": "rope", "rotary_fraction": 0.5}})"));
}

TEST(TransformerSpec, PaddingBeforePositionZeroNeedsARow) {
  expect_in(message_of([] { small_spec(R"({"positions": {"counted_by_mask": true}})"); }),
            {"1 problem\n", "positions.offset: 0, expected a row for padding"});
  EXPECT_NO_THROW(small_spec(R"({"positions": {"counted_by_mask": true, "offset": 1}})"));
}

TEST(TransformerSpec, SizesDoNotOverflow) {
  expect_in(message_of([] { small_spec(R"({"hidden": 2147483644})"); }), {"parameters"});
  expect_in(message_of([] { small_spec(R"({"hidden": 18446744073709551615})"); }),
            {"hidden: 18446744073709551615"});
  expect_in(message_of([] { small_spec(R"({"hidden": 1e30})"); }), {"hidden: 1e+30, expected an integer"});
}

TEST(TransformerSpec, AFamilyGivesItsDefaults) {
  const TransformerSpec spec = small_spec();
  EXPECT_TRUE(spec.attention.fused_qkv);
  EXPECT_EQ(spec.dropout.residual, 0.1);
  EXPECT_TRUE(spec.tokens.eos.empty());
}

}  // namespace
}  // namespace smelt

#include "frontend/transformer_spec.h"

#include "tests/frontend/support.h"

namespace smelt {
namespace {

using testing::expect_in, testing::message_of, testing::small_spec;

TEST(TransformerSpec, WhatIsNotSaidIsWrittenDown) {
  const TransformerSpec spec = spec_from_json(
      R"({"vocab_size": 256, "hidden": 48, "max_positions": 7, "decoder": {"layers": 2, "heads": 3}})");
  EXPECT_EQ(spec.decoder.kv_heads, 3);
  EXPECT_EQ(spec.decoder.head_dim, 16);
  EXPECT_EQ(spec.decoder.ffn, 192);
  EXPECT_EQ(spec.encoder, StackSpec());
  EXPECT_EQ(spec.tokenizer, Tokenizer::bytes);
  EXPECT_EQ(spec.family, "transformer");
}

TEST(TransformerSpec, RoundTripKeepsEveryField) {
  TransformerSpec spec = small_spec();
  spec.encoder = {1, 2, 1, 5, 77};
  spec.attention.fused_qkv = false;
  spec.norm = {NormKind::rms, NormPlace::post, 3e-7, false, false, false, true, true};
  spec.ffn = {Activation::silu, true, false};
  spec.positions = {
      PositionKind::rope, 2, true, true, 5e5, RopeScaling::llama3, 8, 2, 5, 31, 3, 0.5, 4096, 16, 64};
  spec.positions.kind = PositionKind::relative_buckets;
  spec.embedding = {true, true, 2, 32, 8, 3, true};
  spec.dropout = {0.1, 0.2, 0.3, 0.4, 0.5};
  spec.head = {HeadKind::sequence_classes, false, true, true, true, true, 5};
  spec.criterion = {0.1, Smoothing::others, -1};
  spec.init = {0.5, false};
  spec.tokens = {1, 2, 3, {4, 5}};
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
      {"file.json: ", "vocab_size: 0", "max_position: unknown key; did you mean \"max_positions\"?",
       "max_positions: -1", "colour: unknown key", "decoder.layers: \"two\", expected an integer",
       "decoder.head_dim: 1.5", "norm.kind: \"batch\", expected one of layer, rms", "dropout.residual: 1.0",
       "ffn: 3, expected an object", "family: \"no such\"", "tokens.eos: \"a\""});
}

TEST(TransformerSpec, HeadsMustDivide) {
  const std::string message = message_of([] { small_spec(R"({"decoder": {"heads": 7}})"); });
  expect_in(message, {"1 problem", "decoder.heads: 7 does not divide hidden = 36"});
  expect_in(
      message_of([] { small_spec(R"({"attention": {"fused_qkv": false}, "decoder": {"kv_heads": 3}})"); }),
      {"decoder.kv_heads: 3 does not divide heads = 4"});
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

TEST(JsonText, StrictWhereADomIsNot) {
  expect_in(message_of([] { parse_json(R"({"a": {"b": 1, "b": 2}})", "x.json"); }),
            {"x.json", "\"b\"", "twice"});
  EXPECT_NO_THROW(parse_json(R"([{"b": 1}, {"b": 2}])", "x.json"));
  expect_in(message_of([] { parse_json(std::string(100000, '['), "x.json"); }), {"deeper than"});
  expect_in(message_of([] { parse_json("{\"a\": 1,\n  oops}", "x.json"); }), {"x.json", "line 2"});
}

}  // namespace
}  // namespace smelt

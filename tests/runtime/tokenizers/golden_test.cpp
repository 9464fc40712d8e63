// Every kind of tokenizer makes of a text what Hugging Face's does. The texts and their tokens were recorded
// as tests/fuzz/tokenizer_texts.py does it.
#include "golden.h"

#include <gtest/gtest.h>

#include "runtime/base/error.h"

namespace smelt {
namespace {

const std::filesystem::path kGoldens = SMELT_SOURCE_DIR "/tests/runtime/tokenizers/goldens";

class TokenizerGoldens : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerGoldens, EveryTextIsEqual) {
  const Tokenizer tokenizer = Tokenizer::load(kGoldens / GetParam());
  const auto lines = read_golden(kGoldens / GetParam());
  ASSERT_GT(lines.size(), 20u);
  for (const Json& golden : lines) EXPECT_EQ(differences(tokenizer, golden), "") << golden["text"];
}

/// Characters come as wholes, and all of them.
TEST_P(TokenizerGoldens, AStreamJoinsToTheWholeText) {
  const Tokenizer tokenizer = Tokenizer::load(kGoldens / GetParam());
  for (const Json& golden : read_golden(kGoldens / GetParam())) {
    const auto ids = tokenizer.encode(golden["text"].get<std::string>()).ids;
    StreamingDecoder stream(tokenizer);
    std::string text;
    for (const int32_t id : ids) {
      const std::string part = stream.push(id);
      EXPECT_NO_THROW(Json(part).dump()) << "not UTF-8";
      text += part;
    }
    text += stream.finish();
    // Marian's text loses its outer spaces as a whole.
    if (golden.contains("target_ids")) continue;
    EXPECT_EQ(text, tokenizer.decode(ids)) << golden["text"];
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerGoldens,
                         testing::Values("gpt2", "roberta", "llama3", "qwen2", "tekken", "llama2", "mistral",
                                         "bert-uncased", "bert-cased", "t5", "marian"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

Side side(const Json& golden, const char* left) {
  return golden.value(left, false) ? Side::left : Side::right;
}

void set_options(const Json& golden, Tokenizer& tokenizer) {
  if (golden.contains("max_length")) {
    Truncation truncation;
    truncation.max_length = golden["max_length"];
    truncation.side = side(golden, "left");
    if (golden["strategy"] == "only_first") truncation.strategy = Truncation::Strategy::only_first;
    if (golden["strategy"] == "only_second") truncation.strategy = Truncation::Strategy::only_second;
    tokenizer.set_truncation(truncation);
  }
  if (golden.contains("length")) {
    Padding padding;
    padding.length = golden["length"].get<size_t>();
    padding.multiple_of = golden["multiple"];
    padding.side = side(golden, "pad_left");
    padding.id = 3;
    padding.type_id = 1;
    tokenizer.set_padding(padding);
  }
}

Encoding encode(const Tokenizer& tokenizer, const Json& golden) {
  EncodeOptions options;
  options.add_special_tokens = golden["special"];
  const auto first = golden["first"].get<std::string>();
  if (!golden.contains("second")) return tokenizer.encode(first, options);
  return tokenizer.encode_pair(first, golden["second"].get<std::string>(), options);
}

TEST(TokenizerOptions, PairsTruncationAndPaddingAreEqual) {
  std::ifstream file(kGoldens / "options.jsonl");
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const Json golden = Json::parse(line);
    Tokenizer tokenizer = Tokenizer::load(kGoldens / golden["kind"].get<std::string>());
    set_options(golden, tokenizer);
    if (golden.contains("error")) {
      EXPECT_THROW(encode(tokenizer, golden), Error) << line;
      continue;
    }
    const Encoding encoding = encode(tokenizer, golden);
    Json offsets = Json::array();
    for (const TextRange& range : encoding.offsets) offsets.push_back({range.begin, range.end});
    EXPECT_EQ(Json(encoding.ids), golden["ids"]) << line;
    EXPECT_EQ(Json(encoding.type_ids), golden["type_ids"]) << line;
    EXPECT_EQ(offsets, golden["offsets"]) << line;
    EXPECT_EQ(Json(encoding.special_tokens_mask), golden["special_tokens_mask"]) << line;
    EXPECT_EQ(Json(encoding.attention_mask), golden["attention_mask"]) << line;
  }
  EXPECT_EQ(count, 70);
}

TEST(TokenizerOptions, ABatchIsFilledUpToItsLongest) {
  Tokenizer tokenizer = Tokenizer::load(kGoldens / "bert-cased");
  tokenizer.set_padding(Padding{});
  const std::vector<std::string> texts{"a", "a b c d"};
  const auto batch = tokenizer.encode_batch(texts);
  EXPECT_EQ(batch[0].size(), batch[1].size());
  EXPECT_EQ(batch[0].attention_mask.back(), 0);
  EXPECT_EQ(batch[1].attention_mask.back(), 1);
}

TEST(TokenizerOptions, OffsetsInBytesCutTheTextItself) {
  const Tokenizer tokenizer = Tokenizer::load(kGoldens / "bert-cased");
  EncodeOptions options;
  options.byte_offsets = true;
  const std::string text = "aé b";
  const Encoding encoding = tokenizer.encode(text, options);
  EXPECT_EQ(encoding.offsets[encoding.size() - 2], (TextRange{4, 5}));
}

TEST(TokenizerOptions, SpecialTokensInTheTextAreTextOnRequest) {
  const Tokenizer tokenizer = Tokenizer::load(kGoldens / "gpt2");
  EncodeOptions options;
  options.find_special_tokens = false;
  EXPECT_EQ(tokenizer.encode("<|endoftext|>").size(), 1u);
  EXPECT_GT(tokenizer.encode("<|endoftext|>", options).size(), 1u);
}

TEST(TokenizerOptions, OnlyMarianHasATargetSide) {
  EncodeOptions options;
  options.target = true;
  EXPECT_THROW(Tokenizer::load(kGoldens / "gpt2").encode("a", options), Error);
}

}  // namespace
}  // namespace smelt

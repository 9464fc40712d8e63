#include "runtime/structured/token_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/structured/matching.h"
#include "tests/runtime/tokenizers/golden.h"

namespace smelt::structured {
namespace {

const std::filesystem::path kTokenizers = SMELT_SOURCE_DIR "/tests/runtime/tokenizers/goldens";

Tokenizer tokenizer_of(const std::string& kind) { return Tokenizer::load(kTokenizers / kind); }

TokenBytes all_bytes(const Tokenizer& tokenizer) {
  return token_bytes(tokenizer, tokenizer.vocabulary_size() + 3);
}

/// Returns a tokenizer of few words with a decoder.
Tokenizer with_decoder(const std::string& decoder) {
  return Tokenizer::from_json(
      R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,)"
      R"("post_processor":null,"decoder":)" +
          decoder +
          R"(,"model":{"type":"WordLevel","vocab":{"a":0,"▁b":1,"<0xC3>":2," c ":3},"unk_token":"a"}})",
      "test");
}

class TokenBytesOf : public testing::TestWithParam<const char*> {};

/// The texts of the goldens have all kinds of characters, so that byte fallback and spaces occur.
TEST_P(TokenBytesOf, JoinToTheDecodedText) {
  const Tokenizer tokenizer = tokenizer_of(GetParam());
  const TokenBytes tokens = all_bytes(tokenizer);
  size_t compared = 0;
  for (const Json& golden : read_golden(kTokenizers / GetParam())) {
    const auto ids = tokenizer.encode(golden["text"].get<std::string>()).ids;
    std::string text;
    bool is_first = true;
    for (const int32_t id : ids) {
      const std::string& bytes = tokens.bytes[static_cast<size_t>(id)];
      text += is_first ? tokenizer.bytes_of(id, true) : bytes;
      is_first = is_first && (bytes.empty() || tokenizer.is_special(id));
    }
    EXPECT_EQ(text, tokenizer.decode(ids)) << golden["text"];
    ++compared;
  }
  EXPECT_GT(compared, 20u);
}

TEST_P(TokenBytesOf, SpecialTokensHaveNone) {
  const Tokenizer tokenizer = tokenizer_of(GetParam());
  const TokenBytes tokens = all_bytes(tokenizer);
  size_t special = 0;
  for (size_t id = 0; id < tokens.bytes.size(); ++id) {
    const auto token = static_cast<int32_t>(id);
    special += tokenizer.is_special(token);
    const bool has_text = tokenizer.id_to_token(token) && !tokenizer.is_special(token);
    EXPECT_TRUE(has_text || tokens.bytes[id].empty()) << id;
  }
  EXPECT_GT(special, 0u);
  EXPECT_EQ(tokens.bytes.back(), "");
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenBytesOf,
                         testing::Values("gpt2", "roberta", "llama3", "qwen2", "tekken", "llama2", "mistral",
                                         "t5"));

TEST(TokenBytes, ByteLevelTokensMayBeParts) {
  const Tokenizer tokenizer = tokenizer_of("gpt2");
  const TokenBytes tokens = all_bytes(tokenizer);
  EXPECT_TRUE(tokens.other_at_start.empty());
  EXPECT_EQ(tokens.bytes[static_cast<size_t>(*tokenizer.token_to_id("Ġ"))], " ");
  EXPECT_EQ(tokens.bytes[static_cast<size_t>(*tokenizer.token_to_id("Ã"))], "\xC3");
}

TEST(TokenBytes, SentencePieceDropsASpaceAtTheStart) {
  const Tokenizer tokenizer = tokenizer_of("llama2");
  const TokenBytes tokens = all_bytes(tokenizer);
  const auto id = [&](const char* token) { return static_cast<uint32_t>(*tokenizer.token_to_id(token)); };
  EXPECT_EQ(tokens.bytes[id("▁")], " ");
  EXPECT_EQ(tokens.bytes[id("<0xE2>")], "\xE2");
  EXPECT_EQ(std::ranges::count(tokens.other_at_start, id("▁")), 1);
  EXPECT_EQ(std::ranges::count(tokens.other_at_start, id("<0xE2>")), 0);
}

TEST(TokenBytes, DecodersThatNeedNeighborsAreRefused) {
  const auto error = [](const Tokenizer& tokenizer) { return error_of([&] { token_bytes(tokenizer, 4); }); };
  for (const char* kind : {"bert-cased", "bert-uncased"})
    EXPECT_HAS(error_of([&] { all_bytes(tokenizer_of(kind)); }), "WordPiece") << kind;
  EXPECT_HAS(error_of([] { all_bytes(tokenizer_of("marian")); }), "Marian");
  EXPECT_HAS(error(with_decoder(R"({"type":"BPEDecoder","suffix":"b"})")), "BPEDecoder");
  EXPECT_HAS(
      error(with_decoder(R"({"type":"CTC","pad_token":"a","word_delimiter_token":"|","cleanup":true})")),
      "CTC");
  const char* fused[] = {R"({"type":"Strip","content":" ","start":0,"stop":1})",
                         R"({"type":"Replace","pattern":{"String":"ab"},"content":"c"})",
                         R"({"type":"ByteFallback"})",
                         R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true})"};
  for (const std::string decoder : fused)
    EXPECT_HAS(error(with_decoder(R"({"type":"Sequence","decoders":[{"type":"Fuse"},)" + decoder + "]}")),
               "next to it")
        << decoder;
}

TEST(TokenBytes, OtherDecodersChangeEachToken) {
  const TokenBytes bare = token_bytes(with_decoder("null"), 4);
  EXPECT_EQ(bare.bytes, (std::vector<std::string>{" a", " ▁b", " <0xC3>", "  c "}));
  EXPECT_EQ(bare.other_at_start.size(), 4u);
  const TokenBytes stripped =
      token_bytes(with_decoder(R"({"type":"Strip","content":" ","start":1,"stop":1})"), 4);
  EXPECT_EQ(stripped.bytes[3], "c");
  EXPECT_TRUE(stripped.other_at_start.empty());
}

TEST(TokenBytes, ModelsWithoutATokenizerHaveBytes) {
  const TokenBytes tokens = byte_token_bytes(258);
  EXPECT_EQ(tokens.bytes[0xE9], "\xE9");
  EXPECT_EQ(tokens.bytes[0], std::string(1, '\0'));
  EXPECT_EQ(tokens.bytes[257], "");
}

}  // namespace
}  // namespace smelt::structured

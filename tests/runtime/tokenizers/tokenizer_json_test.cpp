#include <gtest/gtest.h>

#include <random>

#include "runtime/base/error.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"
#include "runtime/tokenizers/tokenizer.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

const std::filesystem::path kKinds = SMELT_SOURCE_DIR "/tests/runtime/tokenizers/goldens";

Json words() {
  return Json::parse(R"({"version": "1.0", "model": {"type": "WordLevel", "unk_token": "?",
                         "vocab": {"?": 0, "a": 1, "b": 2, "ab": 3}}})");
}

Tokenizer tokenizer_of(const Json& json) { return Tokenizer::from_json(json.dump(), "test"); }

std::string refusal(const std::string& text) {
  try {
    Tokenizer::from_json(text, "test");
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

#define EXPECT_NAMES(part, message) EXPECT_PRED_FORMAT2(testing::IsSubstring, part, message)

TEST(TokenizerJson, EverythingUnsupportedIsNamedAtOnce) {
  Json json = words();
  json["normalizer"] = {{"type", "Sequence"},
                        {"normalizers", {{{"type", "NFC"}}, {{"type", "Shout"}, {"loud", true}}}}};
  json["pre_tokenizer"] = {{"type", "UnicodeScripts"}};
  json["post_processor"] = {{"type", "ByteLevel"}, {"trim_offsets", "yes"}};
  json["decoder"] = {{"type", "Fuse"}, {"heat", 3}};
  json["model"]["dropout"] = 0.5;
  json["surprise"] = 1;
  const std::string message = refusal(json.dump());
  EXPECT_NAMES("normalizer.normalizers[1] of type 'Shout' is not supported", message);
  EXPECT_NAMES("pre_tokenizer of type 'UnicodeScripts' is not supported", message);
  EXPECT_NAMES("post_processor.trim_offsets = \"yes\": expected true or false", message);
  EXPECT_NAMES("decoder.heat is not supported", message);
  EXPECT_NAMES("model.dropout is not supported", message);
  EXPECT_NAMES("tokenizer.surprise is not supported", message);
}

TEST(TokenizerJson, WhatIsBrokenIsRefused) {
  EXPECT_NAMES("expected", refusal(""));
  EXPECT_NAMES("expected an object", refusal("[]"));
  EXPECT_NAMES("tokenizer.model is missing", refusal("{}"));
  EXPECT_NAMES("appears twice", refusal(R"({"model": {"vocab": {"a": 1, "a": 2}}})"));
  EXPECT_NAMES("the vocabulary has no 'x'",
               refusal(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a x"]}})"));
  EXPECT_NAMES("number 0 to be one",
               refusal(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b c"]}})"));
  EXPECT_NAMES("unk_id", refusal(R"({"model": {"type": "Unigram", "vocab": [["a", 0]], "unk_id": 7}})"));
  EXPECT_NAMES("vocab", refusal(R"({"model": {"type": "WordPiece", "vocab": {"a": -1}}})"));
  Json json = words();
  json["pre_tokenizer"] =
      Json::parse(R"({"type": "Split", "pattern": {"Regex": "a("}, "behavior": "Isolated"})");
  EXPECT_NAMES("missing closing parenthesis at byte 2", refusal(json.dump()));
  json = words();
  json["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", "AAAA"}};
  EXPECT_NAMES("charsmap", refusal(json.dump()));
}

TEST(TokenizerJson, EveryCutOfAFileIsRefused) {
  for (const char* kind : {"gpt2", "t5", "bert-cased"}) {
    const std::string text = read_text_file(kKinds / kind / "tokenizer.json");
    for (size_t size = 0; size < text.size(); size += 997)
      EXPECT_NE(refusal(text.substr(0, size)), "accepted") << kind << " cut at " << size;
  }
}

TEST(TokenizerJson, AFileWithoutTypesOfModels) {
  Json json = words();
  json["model"].erase("type");
  EXPECT_EQ(tokenizer_of(json).encode("ab").ids, std::vector<int32_t>{3});
}

TEST(AddedTokens, TakeSpaceAndWholeWords) {
  Json json = words();
  json["added_tokens"] = Json::parse(R"([
      {"content": "<m>", "lstrip": true, "rstrip": true, "normalized": false, "special": true},
      {"content": "one", "single_word": true, "normalized": false}])");
  const Tokenizer tokenizer = tokenizer_of(json);
  EXPECT_EQ(tokenizer.vocabulary_size(), 6u);
  EXPECT_EQ(tokenizer.token_to_id("<m>"), 4);
  const Encoding mask = tokenizer.encode("a  <m> \tb");
  EXPECT_EQ(mask.ids, (std::vector<int32_t>{1, 4, 2}));
  EXPECT_EQ(mask.offsets[1], (TextRange{1, 8}));
  EXPECT_EQ(tokenizer.encode("one").ids, std::vector<int32_t>{5});
  EXPECT_EQ(tokenizer.encode("ones").ids, std::vector<int32_t>{0});
  EXPECT_TRUE(tokenizer.is_special(4) && !tokenizer.is_special(5));
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{1, 4, 5, 99}), "a one");
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{1, 4, 5}, false), "a <m> one");
}

TEST(AddedTokens, AreFoundNormalized) {
  Json json = words();
  json["normalizer"] = {{"type", "Lowercase"}};
  json["added_tokens"] = Json::parse(R"([{"content": "ABC", "normalized": true}])");
  const Tokenizer tokenizer = tokenizer_of(json);
  EXPECT_EQ(tokenizer.encode("abcAbC").ids, (std::vector<int32_t>{4, 4}));
  EXPECT_EQ(tokenizer.id_to_token(4), "abc");
}

TEST(Tokenizer, InvalidUtf8IsRepaired) {
  const Tokenizer tokenizer = Tokenizer::load(kKinds / "gpt2");
  EXPECT_EQ(tokenizer.encode("a\xFFz").ids, tokenizer.encode("a\uFFFDz").ids);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\xFFz").ids), "a\uFFFDz");
}

/// Whatever the bytes and the ids: no crash, valid UTF-8, offsets in the text; and byte-level tokens lose
/// nothing.
TEST(Tokenizer, RandomBytesAndIds) {
  std::mt19937 random(9);
  for (const char* kind :
       {"gpt2", "roberta", "qwen2", "tekken", "llama2", "mistral", "bert-uncased", "t5", "marian"}) {
    const Tokenizer tokenizer = Tokenizer::load(kKinds / kind);
    const bool keeps_all = std::string_view(kind) == "gpt2" || std::string_view(kind) == "tekken";
    for (int i = 0; i < 300; ++i) {
      std::string text;
      for (uint32_t n = random() % 50; n > 0; --n)
        text.push_back(static_cast<char>(random() % 3 == 0 ? random() : 'a' + random() % 26));
      const std::string repaired = repair_utf8(text);
      const Encoding encoding = tokenizer.encode(text);
      for (const TextRange& range : encoding.offsets) {
        EXPECT_LE(range.begin, range.end);
        EXPECT_LE(range.end, count_code_points(repaired));
      }
      EXPECT_TRUE(is_utf8(tokenizer.decode(encoding.ids)));
      if (keeps_all) {
        EXPECT_EQ(tokenizer.decode(encoding.ids), repaired) << kind;
      }
      std::vector<int32_t> ids;
      for (uint32_t n = random() % 20; n > 0; --n) ids.push_back(static_cast<int32_t>(random() % 500));
      ids.push_back(static_cast<int32_t>(random()));
      EXPECT_TRUE(is_utf8(tokenizer.decode(ids, false))) << kind;
    }
  }
}

TEST(StreamingDecoder, HoldsBackParts) {
  const Tokenizer tokenizer = Tokenizer::load(kKinds / "gpt2");
  const auto ids = tokenizer.encode("é").ids;
  ASSERT_EQ(ids.size(), 2u);
  StreamingDecoder stream(tokenizer);
  EXPECT_EQ(stream.push(ids[0]), "");
  EXPECT_EQ(stream.push(ids[1]), "é");
  EXPECT_EQ(stream.push(ids[0]), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
  std::string text;  // what never becomes a character does not stop the stream
  for (int i = 0; i < 20; ++i) text += stream.push(ids[0]);
  EXPECT_GT(text.size(), 30u);
}

TEST(StreamingDecoder, KeepsChosenSpecialTokens) {
  const Tokenizer tokenizer = Tokenizer::from_json(R"({"version": "1.0", "added_tokens": [
      {"id": 2, "content": "[CALL]", "special": true, "normalized": false},
      {"id": 3, "content": "</s>", "special": true, "normalized": false}], "decoder": {"type": "Fuse"},
      "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "[CALL]": 2, "</s>": 3}, "merges": []}})",
                                                   "test");
  const std::vector<int32_t> ids = {0, 2, 3, 1, 2}, call = {2};
  const auto text = [&](StreamingDecoder stream) {
    std::string text;
    for (const int32_t id : ids) text += stream.push(id);
    return text + stream.finish();
  };
  EXPECT_EQ(text(StreamingDecoder(tokenizer, call)), "a[CALL]b[CALL]");
  EXPECT_EQ(text(StreamingDecoder(tokenizer, std::vector<int32_t>())), "ab");
  EXPECT_EQ(text(StreamingDecoder(tokenizer)), "ab");
  EXPECT_EQ(text(StreamingDecoder(tokenizer, false)), "a[CALL]</s>b[CALL]");
}

}  // namespace
}  // namespace smelt

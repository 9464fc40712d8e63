// What stands beside a tokenizer.json counts as transformers counts it, or is refused where it would.
#include "runtime/tokenizers/tokenizer_config.h"

#include <gtest/gtest.h>

#include "runtime/tokenizers/tokenizer.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

using Ids = std::vector<int32_t>;

class ConfigOfTokenizer : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_.write("tokenizer.json", R"({"model": {"type": "WordLevel", "unk_token": "?",
        "vocab": {"?": 0, "a": 1, "<s>": 2}}, "pre_tokenizer": {"type": "WhitespaceSplit"},
        "added_tokens": [{"id": 2, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
                          "normalized": false, "special": true}]})");
  }
  Ids encoded(std::string_view text) const { return Tokenizer::load(directory_.path()).encode(text).ids; }
  std::string refusal(std::string_view text) const {
    return message_of([&] { encoded(text); });
  }

  TemporaryDirectory directory_;
};

TEST_F(ConfigOfTokenizer, TokensThatItAddsAreRefusedWhereATextHasThem) {
  for (const char* file : {"tokenizer_config.json", "special_tokens_map.json"})
    for (const char* json :
         {R"({"pad_token": "[X]", "bos_token": "<s>"})",
          R"({"eos_token": {"content": "[X]", "lstrip": true}})",
          R"({"additional_special_tokens": ["<s>", "[X]"]})", R"({"extra_special_tokens": {"x": "[X]"}})",
          R"({"added_tokens_decoder": {"7": {"content": "[X]", "special": true}}})"}) {
      directory_.write(file, json);
      EXPECT_EQ(encoded("a <s> a"), (Ids{1, 2, 1})) << json;
      EXPECT_NE(refusal("a [X]").find(std::string("'[X]', a special token of ") + file), std::string::npos)
          << json << refusal("a [X]");
      directory_.write(file, "{}");
    }
  directory_.write("added_tokens.json", R"({"[X]": 7})");
  EXPECT_NE(refusal("a [X]").find("added_tokens.json"), std::string::npos);
}

TEST_F(ConfigOfTokenizer, SpecialTokensMayBeText) {
  directory_.write("tokenizer_config.json", R"({"split_special_tokens": true})");
  EXPECT_EQ(encoded("a<s>"), (Ids{0}));
}

TEST_F(ConfigOfTokenizer, FilesThatAreNoObjectsAreRefused) {
  directory_.write("special_tokens_map.json", "[1]");
  EXPECT_NE(refusal("a").find("special_tokens_map.json: a list, expected an object"), std::string::npos);
}

TEST_F(ConfigOfTokenizer, ASpaceBeforeAllTextsIsThatOfTokenizerJson) {
  directory_.write("tokenizer.json",
                   R"({"model": {"type": "BPE", "vocab": {"a": 0, "\u0120": 1}, "merges": []},
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}})");
  directory_.write("tokenizer_config.json",
                   R"({"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": true})");
  EXPECT_NE(refusal("a").find("add_prefix_space of tokenizer_config.json is true"), std::string::npos);
  directory_.write("tokenizer_config.json",
                   R"({"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": false})");
  EXPECT_EQ(encoded("a"), (Ids{0}));
}

}  // namespace
}  // namespace smelt

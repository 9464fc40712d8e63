// The C interface's tokenizers, over the tokenizers of the goldens.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "runtime/smelt.h"
#include "runtime/system/file.h"
#include "runtime/tokenizers/tokenizer.h"
#include "tests/runtime/c_api/sized.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

const fs::path kGoldens = fs::path(SMELT_SOURCE_DIR) / "tests/runtime/tokenizers/goldens";

using Ids = std::vector<int32_t>;

class CApiTokenizer : public testing::Test {
 protected:
  void SetUp() override { load("gpt2"); }
  void TearDown() override { smelt_tokenizer_free(tokenizer); }
  void load(const char* golden) {
    smelt_tokenizer_free(tokenizer);
    tokenizer = nullptr;
    ASSERT_EQ(smelt_tokenizer_load((kGoldens / golden).c_str(), &tokenizer), SMELT_OK) << smelt_last_error();
  }
  /// By the two calls that the header describes.
  Ids encode(std::string_view text, const smelt_encode_options* options = nullptr) const {
    auto encoding = sized<smelt_encoding>();
    EXPECT_EQ(smelt_tokenizer_encode(tokenizer, text.data(), text.size(), options, &encoding), SMELT_OK);
    Ids ids(encoding.count + 1, -7);
    encoding.ids = ids.data(), encoding.capacity = encoding.count;
    EXPECT_EQ(smelt_tokenizer_encode(tokenizer, text.data(), text.size(), options, &encoding), SMELT_OK);
    EXPECT_EQ(ids.back(), -7);
    ids.pop_back();
    return ids;
  }
  std::string decode(const Ids& ids, int32_t skip_special_tokens = 1) const {
    size_t bytes = 0;
    EXPECT_EQ(
        smelt_tokenizer_decode(tokenizer, ids.data(), ids.size(), skip_special_tokens, nullptr, 0, &bytes),
        SMELT_OK);
    std::string text(bytes + 1, '#');
    EXPECT_EQ(smelt_tokenizer_decode(tokenizer, ids.data(), ids.size(), skip_special_tokens, text.data(),
                                     bytes, &bytes),
              SMELT_OK);
    EXPECT_EQ(text.back(), '#');
    text.pop_back();
    return text;
  }

  smelt_tokenizer* tokenizer = nullptr;
};

void expect_fault(smelt_status got, smelt_status expected, const char* part) {
  EXPECT_EQ(got, expected);
  EXPECT_HAS(smelt_last_error(), part);
}

constexpr std::string_view kText = "the gr\u00E4ph \U0001F600, the end";

TEST_F(CApiTokenizer, EncodesAndDecodesAsTheCppInterfaceDoes) {
  for (const char* golden : {"gpt2", "llama2", "t5"}) {
    load(golden);
    const Tokenizer other = Tokenizer::load(kGoldens / golden);
    EXPECT_EQ(smelt_tokenizer_vocabulary_size(tokenizer), other.vocabulary_size());
    const Ids ids = encode(kText);
    EXPECT_EQ(ids, other.encode(kText).ids);
    EXPECT_EQ(decode(ids), other.decode(ids));
    EXPECT_EQ(decode(ids, 0), other.decode(ids, false));
  }
  EXPECT_EQ(encode(""), Tokenizer::load(kGoldens / "t5").encode("").ids);
}

TEST_F(CApiTokenizer, LoadsFilesAndJson) {
  const Ids expected = encode(kText);
  const std::string json = read_text_file(kGoldens / "gpt2/tokenizer.json");
  smelt_tokenizer_free(tokenizer);
  ASSERT_EQ(smelt_tokenizer_from_json(json.data(), json.size(), &tokenizer), SMELT_OK) << smelt_last_error();
  EXPECT_EQ(encode(kText), expected);
  smelt_tokenizer_free(tokenizer);
  ASSERT_EQ(smelt_tokenizer_load((kGoldens / "gpt2/tokenizer.json").c_str(), &tokenizer), SMELT_OK);
  EXPECT_EQ(encode(kText), expected);
  load("marian");
  const smelt_encode_options target{
      .struct_size = sizeof(smelt_encode_options), .no_special_tokens = 0, .plain_text = 0, .target = 1};
  EncodeOptions options;
  options.target = true;
  EXPECT_EQ(encode("the end", &target), Tokenizer::load(kGoldens / "marian").encode("the end", options).ids);
}

TEST_F(CApiTokenizer, OffsetsAreBytesOfTheText) {
  smelt_text_range offsets[64];
  smelt_encoding encoding{
      .struct_size = sizeof(smelt_encoding), .ids = nullptr, .offsets = offsets, .capacity = 64, .count = 0};
  ASSERT_EQ(smelt_tokenizer_encode(tokenizer, kText.data(), kText.size(), nullptr, &encoding), SMELT_OK);
  ASSERT_GT(encoding.count, 4u);
  EXPECT_EQ(offsets[0].begin, 0u);
  EXPECT_EQ(offsets[encoding.count - 1].end, kText.size());
  EncodeOptions bytes;
  bytes.byte_offsets = true;
  const auto expected = Tokenizer::load(kGoldens / "gpt2").encode(kText, bytes).offsets;
  ASSERT_EQ(encoding.count, expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ((TextRange{offsets[i].begin, offsets[i].end}), expected[i]);
}

TEST_F(CApiTokenizer, SpecialTokensAreAddedAndFoundOnRequest) {
  load("llama2");
  const smelt_encode_options none{
      .struct_size = sizeof(smelt_encode_options), .no_special_tokens = 1, .plain_text = 0, .target = 0};
  const smelt_encode_options plain{
      .struct_size = sizeof(smelt_encode_options), .no_special_tokens = 1, .plain_text = 1, .target = 0};
  EXPECT_EQ(encode("a").front(), 1);
  EXPECT_NE(encode("a", &none).front(), 1);
  EXPECT_EQ(std::ranges::count(encode("a</s>", &none), 2), 1);
  EXPECT_EQ(std::ranges::count(encode("a</s>", &plain), 2), 0);
  EXPECT_EQ(decode(encode("a</s>", &none)), decode(encode("a", &none)));
  EXPECT_HAS(decode(encode("a</s>", &none), 0), "</s>");
}

TEST_F(CApiTokenizer, PaddingIsLeftOut) {
  constexpr std::string_view json =
      R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "one": 1, "two": 2}},
          "pre_tokenizer": {"type": "WhitespaceSplit"},
          "truncation": {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0},
          "padding": {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
                      "pad_type_id": 0, "pad_token": "?"}})";
  smelt_tokenizer_free(tokenizer);
  ASSERT_EQ(smelt_tokenizer_from_json(json.data(), json.size(), &tokenizer), SMELT_OK) << smelt_last_error();
  EXPECT_EQ(encode("two one"), (Ids{2, 1}));
  EXPECT_EQ(encode("two one two one"), (Ids{2, 1, 2}));
}

TEST_F(CApiTokenizer, DecodersGiveWholeCharacters) {
  smelt_decoder* decoder = nullptr;
  ASSERT_EQ(smelt_decoder_create(tokenizer, 1, &decoder), SMELT_OK);
  const Ids ids = encode(kText);
  smelt_tokenizer_free(tokenizer);  // the decoder keeps what it needs
  tokenizer = nullptr;
  const char* piece = nullptr;
  size_t bytes = 99;
  for (int round = 0; round < 2; ++round) {
    std::string text;
    size_t empty = 0;
    for (const int32_t id : ids) {
      ASSERT_EQ(smelt_decoder_push(decoder, id, &piece, &bytes), SMELT_OK) << smelt_last_error();
      ASSERT_EQ(std::string(piece).size(), bytes);
      EXPECT_EQ(std::string(piece).find("\uFFFD"), std::string::npos);
      empty += bytes == 0;
      text += piece;
    }
    EXPECT_GT(empty, 0u) << "of the four bytes of a smile";
    ASSERT_EQ(smelt_decoder_finish(decoder, &piece, &bytes), SMELT_OK);
    EXPECT_EQ(text + piece, kText);
  }
  for (const int32_t unknown : {5000, -1}) {
    bytes = 99;
    EXPECT_EQ(smelt_decoder_push(decoder, unknown, &piece, &bytes), SMELT_OK) << "left out";
    EXPECT_EQ(bytes, 0u);
  }
  expect_fault(smelt_decoder_push(decoder, 1, nullptr, &bytes), SMELT_INVALID_ARGUMENT, "text is null");
  expect_fault(smelt_decoder_push(decoder, 1, &piece, nullptr), SMELT_INVALID_ARGUMENT, "bytes is null");
  expect_fault(smelt_decoder_push(nullptr, 1, &piece, &bytes), SMELT_INVALID_ARGUMENT, "decoder is null");
  expect_fault(smelt_decoder_finish(nullptr, &piece, &bytes), SMELT_INVALID_ARGUMENT, "decoder is null");
  ASSERT_EQ(smelt_decoder_finish(decoder, &piece, &bytes), SMELT_OK);
  EXPECT_EQ(bytes, 0u) << "what was refused is not held back";
  smelt_decoder_free(decoder);
  smelt_decoder_free(nullptr);
}

TEST_F(CApiTokenizer, SmallBuffersAreErrorsThatSayHowMuchIsNeeded) {
  const Ids ids = encode(kText);
  Ids few(ids.size(), -7);
  smelt_encoding encoding{.struct_size = sizeof(smelt_encoding),
                          .ids = few.data(),
                          .offsets = nullptr,
                          .capacity = ids.size() - 1,
                          .count = 0};
  expect_fault(smelt_tokenizer_encode(tokenizer, kText.data(), kText.size(), nullptr, &encoding),
               SMELT_INVALID_ARGUMENT, ("expected " + std::to_string(ids.size())).c_str());
  EXPECT_EQ(encoding.count, ids.size());
  EXPECT_EQ(few, Ids(ids.size(), -7));
  size_t bytes = 0;
  char text[8] = "1234567";
  expect_fault(smelt_tokenizer_decode(tokenizer, ids.data(), ids.size(), 1, text, 7, &bytes),
               SMELT_INVALID_ARGUMENT, ("7 bytes: expected " + std::to_string(kText.size())).c_str());
  EXPECT_EQ(bytes, kText.size());
  EXPECT_STREQ(text, "1234567");
}

TEST_F(CApiTokenizer, BadTextAndIdsAreNamed) {
  auto encoding = sized<smelt_encoding>();
  const auto encoded = [&](std::string_view text) {
    return smelt_tokenizer_encode(tokenizer, text.data(), text.size(), nullptr, &encoding);
  };
  expect_fault(encoded("ab\xFFz"), SMELT_INVALID_ARGUMENT, "byte 2 is 0xff");
  expect_fault(encoded("ab\xC3"), SMELT_INVALID_ARGUMENT, "byte 2 is 0xc3");
  expect_fault(encoded("\xED\xA0\x80"), SMELT_INVALID_ARGUMENT, "byte 0");  // a surrogate
  EXPECT_EQ(encoded(std::string_view("a\0b", 3)), SMELT_OK);
  const auto decoded = [&](const Ids& ids) {
    size_t bytes = 0;
    return smelt_tokenizer_decode(tokenizer, ids.data(), ids.size(), 1, nullptr, 0, &bytes);
  };
  expect_fault(decoded({1, 2, 330}), SMELT_INVALID_ARGUMENT,
               "id 2 is 330: none of the tokenizer's 330 tokens");
  expect_fault(decoded({INT32_MIN}), SMELT_INVALID_ARGUMENT, "id 0 is -2147483648");
  expect_fault(decoded({INT32_MAX}), SMELT_INVALID_ARGUMENT, "id 0 is 2147483647");
  const smelt_encode_options target{
      .struct_size = sizeof(smelt_encode_options), .no_special_tokens = 0, .plain_text = 0, .target = 1};
  expect_fault(smelt_tokenizer_encode(tokenizer, "a", 1, &target, &encoding), SMELT_INVALID_ARGUMENT,
               "one language");
}

TEST_F(CApiTokenizer, NullsAreErrors) {
  auto encoding = sized<smelt_encoding>();
  smelt_tokenizer* other = nullptr;
  smelt_decoder* decoder = nullptr;
  size_t bytes = 0;
  const int32_t id = 1;
  const smelt_status bad = SMELT_INVALID_ARGUMENT;
  expect_fault(smelt_tokenizer_encode(nullptr, "a", 1, nullptr, &encoding), bad, "the tokenizer is null");
  expect_fault(smelt_tokenizer_encode(tokenizer, nullptr, 1, nullptr, &encoding), bad, "the text is null");
  expect_fault(smelt_tokenizer_encode(tokenizer, "a", 1, nullptr, nullptr), bad, "encoding is null");
  EXPECT_EQ(smelt_tokenizer_encode(tokenizer, nullptr, 0, nullptr, &encoding), SMELT_OK);
  expect_fault(smelt_tokenizer_decode(nullptr, &id, 1, 0, nullptr, 0, &bytes), bad, "the tokenizer is null");
  expect_fault(smelt_tokenizer_decode(tokenizer, nullptr, 1, 0, nullptr, 0, &bytes), bad, "ids is null");
  expect_fault(smelt_tokenizer_decode(tokenizer, &id, 1, 0, nullptr, 0, nullptr), bad, "bytes is null");
  EXPECT_EQ(smelt_tokenizer_decode(tokenizer, nullptr, 0, 0, nullptr, 0, &bytes), SMELT_OK);
  expect_fault(smelt_tokenizer_load(nullptr, &other), bad, "path is null");
  expect_fault(smelt_tokenizer_load("x", nullptr), bad, "tokenizer is null");
  expect_fault(smelt_tokenizer_from_json(nullptr, 4, &other), bad, "the text is null");
  expect_fault(smelt_tokenizer_from_json("{}", 2, nullptr), bad, "tokenizer is null");
  expect_fault(smelt_decoder_create(nullptr, 0, &decoder), bad, "the tokenizer is null");
  expect_fault(smelt_decoder_create(tokenizer, 0, nullptr), bad, "decoder is null");
  EXPECT_EQ(smelt_tokenizer_vocabulary_size(nullptr), 0u);
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(decoder, nullptr);
}

TEST_F(CApiTokenizer, FilesThatAreMissingOrDamaged) {
  const TemporaryDirectory d;
  smelt_tokenizer* other = nullptr;
  expect_fault(smelt_tokenizer_load((d / "absent").c_str(), &other), SMELT_IO, "absent");
  expect_fault(smelt_tokenizer_load(d.path().c_str(), &other), SMELT_IO, "no tokenizer: expected");
  const std::string json = read_text_file(kGoldens / "gpt2/tokenizer.json");
  expect_fault(smelt_tokenizer_from_json(json.data(), json.size() / 2, &other), SMELT_INVALID_FILE,
               "tokenizer.json");
  expect_fault(smelt_tokenizer_from_json("", 0, &other), SMELT_INVALID_FILE, "tokenizer.json");
  expect_fault(smelt_tokenizer_load(d.write("t.spm", "\xFFnonsense").c_str(), &other), SMELT_INVALID_FILE,
               "t.spm");
  EXPECT_EQ(other, nullptr);
}

TEST_F(CApiTokenizer, ServesSeveralThreads) {
  const Ids expected = encode(kText);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(encode(kText), expected);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace smelt

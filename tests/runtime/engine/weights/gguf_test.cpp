#include "runtime/engine/weights/gguf/gguf_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "runtime/base/error.h"
#include "runtime/engine/weights/gguf/gguf_model.h"
#include "runtime/tokenizers/gguf_tokenizer.h"

namespace smelt {
namespace {

enum GgufTestType : uint32_t { kU32 = 4, kF32 = 6, kText = 8, kArray = 9 };

/// The bytes of a GGUF file, number by number.
class GgufBytes {
 public:
  template <typename T>
  GgufBytes& number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  GgufBytes& text(const std::string& text) {
    number<uint64_t>(text.size());
    bytes_ += text;
    return *this;
  }
  GgufBytes& header(uint64_t tensors, uint64_t pairs, uint32_t version = 3) {
    bytes_ = "GGUF";
    return number(version).number(tensors).number(pairs);
  }
  GgufBytes& pair(const std::string& key, uint32_t value) {
    return text(key).number<uint32_t>(kU32).number(value);
  }
  GgufBytes& pair(const std::string& key, const std::string& value) {
    return text(key).number<uint32_t>(kText).text(value);
  }
  GgufBytes& tensor(const std::string& name, std::vector<uint64_t> sizes, uint32_t type, uint64_t offset) {
    text(name).number(static_cast<uint32_t>(sizes.size()));
    for (const uint64_t size : sizes) number(size);
    return number(type).number(offset);
  }
  GgufBytes& data(size_t bytes, size_t alignment = 32) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    bytes_.append(bytes, '\0');
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

GgufContents parse(const GgufBytes& file) { return parse_gguf(std::as_bytes(std::span(file.bytes())), "f"); }

std::string gguf_refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

#define EXPECT_GGUF_REFUSED(text, file) \
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, text, gguf_refusal([&] { parse(file); }))

GgufBytes header(uint64_t tensors, uint64_t pairs, uint32_t version = 3) {
  return GgufBytes().header(tensors, pairs, version);
}

TEST(Gguf, ReadsMetadataAndTensors) {
  const GgufBytes file = header(2, 3, 2)
                             .pair("general.alignment", 64)
                             .text("eps")
                             .number<uint32_t>(kF32)
                             .number(1e-5f)
                             .text("list")
                             .number<uint32_t>(kArray)
                             .number<uint32_t>(kText)
                             .number<uint64_t>(2)
                             .text("a")
                             .text("b")
                             .tensor("x", {32, 3}, 8, 64)
                             .tensor("y", {5}, 1, 0)
                             .data(64 + 3 * 34, 64);
  const GgufContents contents = parse(file);
  EXPECT_EQ(contents.metadata, Json({{"general.alignment", 64}, {"eps", 1e-5}, {"list", {"a", "b"}}}));
  ASSERT_EQ(contents.tensors.size(), 2u);
  EXPECT_EQ(describe(contents.tensors[0]), "Q8_0 [3,32]");
  EXPECT_EQ(describe(contents.tensors[1]), "F16 [5]");
  EXPECT_EQ(read_floats(contents.tensors[0]), std::vector<float>(96));
}

TEST(Gguf, RefusesBrokenHeaders) {
  EXPECT_GGUF_REFUSED("no GGUF file", GgufBytes().text("GGML and more"));
  EXPECT_GGUF_REFUSED("version 1: expected 2 or 3", header(0, 0, 1));
  EXPECT_GGUF_REFUSED("version 4: expected 2 or 3", header(0, 0, 4));
  EXPECT_GGUF_REFUSED("big-endian", header(0, 0, 3u << 24));
  EXPECT_GGUF_REFUSED("7 tensors, but 8 bytes follow", header(7, 0));
  EXPECT_GGUF_REFUSED("pairs of metadata, but 0 bytes follow", header(0, uint64_t{1} << 63));
}

TEST(Gguf, RefusesBrokenMetadata) {
  EXPECT_GGUF_REFUSED("metadata 'a': the key appears twice", header(0, 2).pair("a", 1).pair("a", 1));
  EXPECT_GGUF_REFUSED("metadata 'a': a value of type 13: expected one of 0 to 12",
                      header(0, 1).text("a").number(uint32_t{13}).number(uint64_t{0}));
  EXPECT_GGUF_REFUSED("metadata 'a': 9 elements, but 8 bytes follow", header(0, 1)
                                                                          .text("a")
                                                                          .number<uint32_t>(kArray)
                                                                          .number(uint32_t{0})
                                                                          .number(uint64_t{9})
                                                                          .number(uint64_t{0}));
  EXPECT_GGUF_REFUSED("is not UTF-8", header(0, 1).pair("\xFF", 1));
  EXPECT_GGUF_REFUSED("general.alignment is 24: expected a power of two",
                      header(0, 1).pair("general.alignment", 24));
  EXPECT_GGUF_REFUSED("general.alignment is 0: expected a power of two",
                      header(0, 1).pair("general.alignment", 0));
}

TEST(Gguf, RefusesBrokenTensors) {
  EXPECT_GGUF_REFUSED("tensor 'x': the name appears twice",
                      header(2, 0).tensor("x", {4}, 0, 0).tensor("x", {4}, 0, 32).data(48));
  EXPECT_GGUF_REFUSED("tensor 'x': 0 dims", header(1, 0).tensor("x", {}, 0, 0).data(32));
  EXPECT_GGUF_REFUSED("tensor 'x': 5 dims", header(1, 0).tensor("x", {1, 1, 1, 1, 1}, 0, 0).data(32));
  EXPECT_GGUF_REFUSED("tensor 'x': a size of 0", header(1, 0).tensor("x", {0}, 0, 0).data(32));
  EXPECT_GGUF_REFUSED("tensor 'x': rows of 33 elements: expected a multiple of 32",
                      header(1, 0).tensor("x", {33}, 2, 0).data(64));
  EXPECT_GGUF_REFUSED("tensor 'x': its size overflows 63 bits",
                      header(1, 0).tensor("x", {1u << 31, 1u << 31, 4}, 0, 0).data(32));
  EXPECT_GGUF_REFUSED("tensor 'x': IQ2_XXS is not read: expected one of F32, F16",
                      header(1, 0).tensor("x", {256}, 16, 0).data(66));
  EXPECT_GGUF_REFUSED("tensor 'x': type 99 is not read", header(1, 0).tensor("x", {256}, 99, 0).data(66));
  EXPECT_GGUF_REFUSED("tensor 'x': offset 4: expected a multiple of 32",
                      header(1, 0).tensor("x", {4}, 0, 4).data(32));
  EXPECT_GGUF_REFUSED("tensor 'x': 16 bytes at offset 32: expected an end within the 32 bytes of data",
                      header(1, 0).tensor("x", {4}, 0, 32).data(32));
  EXPECT_GGUF_REFUSED("tensor 'y': offset 32 is within the tensor before, which ends at 64",
                      header(2, 0).tensor("x", {16}, 0, 0).tensor("y", {4}, 0, 32).data(64));
}

/// A model with a block of two heads and a tokenizer of three pieces.
GgufBytes small_model(bool has_epsilon = true) {
  GgufBytes file = header(2, has_epsilon ? 11 : 10);
  if (has_epsilon) file.text("llama.attention.layer_norm_rms_epsilon").number<uint32_t>(kF32).number(1e-5F);
  file.pair("general.architecture", "llama");
  for (const char* key : {"block_count", "attention.head_count"}) file.pair(std::string("llama.") + key, 2);
  for (const char* key : {"context_length", "embedding_length", "feed_forward_length"})
    file.pair(std::string("llama.") + key, 32);
  file.pair("tokenizer.ggml.model", "llama").pair("tokenizer.ggml.bos_token_id", 0);
  file.text("tokenizer.ggml.tokens").number<uint32_t>(kArray).number<uint32_t>(kText).number<uint64_t>(3);
  file.text("a").text("b").text("ab");
  file.text("tokenizer.ggml.scores").number<uint32_t>(kArray).number<uint32_t>(kF32).number<uint64_t>(3);
  file.number(0.f).number(-1.f).number(-2.f);
  return file.tensor("token_embd.weight", {32, 3}, 2, 0)
      .tensor("blk.0.attn_q.weight", {32, 32}, 8, 64)
      .data(64 + 34 * 32);
}

void read_model(std::span<const std::byte> file) {
  const GgufContents contents = parse_gguf(file, "f");
  for (const TensorView& tensor : gguf_model_tensors(contents, "f"))
    if (tensor.elements() < (1 << 16)) read_floats(tensor);
  gguf_config(contents, "f");
  gguf_tokenizer_config(contents.metadata);
  gguf_tokenizer_json(contents.metadata, "f");
}

TEST(Gguf, MakesAModelOfAFile) {
  const GgufContents contents = parse(small_model());
  const Json config = gguf_config(contents, "f");
  EXPECT_EQ(config["vocab_size"], 3);
  EXPECT_EQ(config["tie_word_embeddings"], true);
  EXPECT_EQ(config["bos_token_id"], 0);
  EXPECT_EQ(config["eos_token_id"], nullptr);
  EXPECT_EQ(gguf_model_tensors(contents, "f")[1].name, "model.layers.0.self_attn.q_proj.weight");
  const Json tokenizer = gguf_tokenizer_json(contents.metadata, "f");
  EXPECT_EQ(tokenizer["model"]["merges"], Json::parse(R"([["a", "b"]])"));
}

TEST(Gguf, RefusesWhatWouldBeGuessed) {
  const GgufContents contents = parse(small_model(false));
  EXPECT_NE(gguf_refusal([&] {
              gguf_config(contents, "f");
            }).find("llama.attention.layer_norm_rms_epsilon is missing"),
            std::string::npos);
}

TEST(Gguf, AnyDamageIsAnErrorOrAnotherModel) {
  const std::string whole = small_model().bytes();
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(gguf_refusal([&] { read_model(std::as_bytes(std::span(whole.data(), size))); }), "accepted")
        << size;
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string file = whole;
    for (int edits = 0; edits < 3; ++edits)
      file[random() % file.size()] ^= static_cast<char>(1u << random() % 8);
    gguf_refusal([&] { read_model(std::as_bytes(std::span(file))); });
  }
}

}  // namespace
}  // namespace smelt

#include "runtime/engine/weights/safetensors.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <random>

#include "runtime/base/error.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

std::string with_header(const std::string& header, size_t data_bytes) {
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> (8 * i));
  return file + header + std::string(data_bytes, '\1');
}

SafetensorsContents parse_bytes(const std::string& file) {
  return parse_safetensors(std::as_bytes(std::span(file)), "f");
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string fault(const std::string& header, size_t data_bytes) {
  return refusal([&] { parse_bytes(with_header(header, data_bytes)); });
}

#define EXPECT_REFUSED(text, header, bytes) \
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, text, fault(header, bytes))

std::span<const std::byte> bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

TEST(Safetensors, ReadsTensorsAndMetadata) {
  const auto contents = parse_bytes(with_header(
      R"(  {"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[2,3],"data_offsets":[4,16]},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"e":{"dtype":"I64","shape":[0,7],"data_offsets":[16,16]}}  )",
      16));
  ASSERT_EQ(contents.tensors.size(), 3u);
  EXPECT_EQ(contents.tensors[0].name, "a");
  EXPECT_EQ(contents.tensors[0].elements(), 1);
  EXPECT_EQ(contents.tensors[1].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(describe(contents.tensors[1]), "F16 [2,3]");
  EXPECT_EQ(contents.tensors[2].elements(), 0);
  EXPECT_EQ(contents.metadata.at("format"), "pt");
  EXPECT_TRUE(parse_bytes(with_header("{}", 0)).tensors.empty());
}

TEST(Safetensors, RefusesBrokenLengths) {
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "has 7 bytes", refusal([] { parse_bytes("1234567"); }));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "expected at most 100000000",
                      refusal([] { parse_bytes(std::string(8, '\xFF') + "{}"); }));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "cut off",
                      refusal([] { parse_bytes(with_header("{}", 0).substr(0, 9)); }));
}

TEST(Safetensors, RefusesBrokenHeaders) {
  EXPECT_REFUSED("broken JSON", "{\"a\":", 0);
  EXPECT_REFUSED("broken JSON", "{} {}", 0);
  EXPECT_REFUSED("broken JSON", "{\"\xC3\x28\":{}}", 0);
  EXPECT_REFUSED("broken JSON", "", 0);
  EXPECT_REFUSED("one JSON object", "[]", 0);
  EXPECT_REFUSED("one JSON object", "12", 0);
  EXPECT_REFUSED("tensor 'a', expected an object: a number is out of place", R"({"a":1})", 0);
  EXPECT_REFUSED("__metadata__, expected an object of strings", R"({"__metadata__":{"a":1}})", 0);
  EXPECT_REFUSED("__metadata__, expected an object of strings", R"({"__metadata__":{"a":{}}})", 0);
  EXPECT_REFUSED("the key 'a' appears twice", R"({"__metadata__":{"a":"x","a":"y"}})", 0);
  EXPECT_REFUSED("the key '__metadata__' appears twice", R"({"__metadata__":{},"__metadata__":{}})", 0);
  EXPECT_REFUSED(
      "the key 'a' appears twice",
      R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[],"data_offsets":[1,2]}})",
      2);
}

std::string one(const std::string& fields) { return R"({"a":{)" + fields + "}}"; }

TEST(Safetensors, RefusesBrokenTensors) {
  EXPECT_REFUSED("'dtype' is missing", one(R"("shape":[],"data_offsets":[0,1])"), 1);
  EXPECT_REFUSED("'shape' is missing", one(R"("dtype":"U8","data_offsets":[0,1])"), 1);
  EXPECT_REFUSED("'data_offsets' is missing", one(R"("dtype":"U8","shape":[])"), 1);
  EXPECT_REFUSED("the key 'dtype' appears twice", one(R"("dtype":"U8","dtype":"U8")"), 1);
  EXPECT_REFUSED("the key 'extra' is unknown", one(R"("dtype":"U8","extra":1)"), 1);
  EXPECT_REFUSED("dtype Q4: expected one of F32", one(R"("dtype":"Q4","shape":[],"data_offsets":[0,1])"), 1);
  EXPECT_REFUSED("dtype, expected a string", one(R"("dtype":8)"), 1);
  EXPECT_REFUSED("a number below 0", one(R"("dtype":"U8","shape":[-1],"data_offsets":[0,1])"), 1);
  EXPECT_REFUSED("no integer below 2^64", one(R"("dtype":"U8","shape":[1.5],"data_offsets":[0,1])"), 1);
  EXPECT_REFUSED("no integer below 2^64",
                 one(R"("dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,1])"), 1);
  EXPECT_REFUSED("an array is out of place", one(R"("dtype":"U8","shape":[[1]],"data_offsets":[0,1])"), 1);
  EXPECT_REFUSED("a string is out of place", one(R"("dtype":"U8","shape":["1"],"data_offsets":[0,1])"), 1);
  EXPECT_REFUSED("has 3 numbers", one(R"("dtype":"U8","shape":[1],"data_offsets":[0,1,1])"), 1);
  EXPECT_REFUSED("begin <= end", one(R"("dtype":"U8","shape":[0],"data_offsets":[1,0])"), 1);
  EXPECT_REFUSED("within the 1 bytes", one(R"("dtype":"U8","shape":[2],"data_offsets":[0,2])"), 1);
  EXPECT_REFUSED("holds 8 bytes: expected 16 for F32 [2,2]",
                 one(R"("dtype":"F32","shape":[2,2],"data_offsets":[0,8])"), 8);
  EXPECT_REFUSED("overflows", one(R"("dtype":"F32","shape":[4294967296,4294967296,16],"data_offsets":[0,0])"),
                 0);
  EXPECT_REFUSED("overflows", one(R"("dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,0])"), 0);
}

std::string two(int a_begin, int a_end, int b_begin, int b_end) {
  return fmt::format(R"({{"a":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}},)"
                     R"("b":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}}})",
                     a_end - a_begin, a_begin, a_end, b_end - b_begin, b_begin, b_end);
}

TEST(Safetensors, RefusesHolesAndOverlaps) {
  EXPECT_EQ(fault(two(0, 4, 4, 8), 8), "accepted");
  EXPECT_EQ(fault(two(4, 8, 0, 4), 8), "accepted");
  EXPECT_REFUSED("tensor 'b' begins at 3: expected 4, the end of the one before (they overlap)",
                 two(0, 4, 3, 8), 8);
  EXPECT_REFUSED("tensor 'b' begins at 5: expected 4, the end of the one before (there is a hole)",
                 two(0, 4, 5, 8), 8);
  EXPECT_REFUSED("tensor 'a' begins at 1", two(1, 4, 4, 8), 8);
  EXPECT_REFUSED("the tensors end at 8: expected 9", two(0, 4, 4, 8), 9);
}

TEST(Safetensors, RandomDamageNeverCrashes) {
  const std::string good = with_header(two(0, 4, 4, 8), 8);
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) {
    std::string file = good.substr(0, random() % 4 == 0 ? random() % good.size() : good.size());
    for (int n = 0; n < 2 && !file.empty(); ++n) file[random() % file.size()] = static_cast<char>(random());
    refusal([&] { parse_bytes(file); });
  }
}

TEST(Safetensors, WritesWhatItReads) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "model.safetensors";
  const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {};
  const std::vector<uint8_t> c = {1, 0, 1};
  const std::vector<TensorView> tensors = {{"c", DType::boolean, {3}, std::as_bytes(std::span(c))},
                                           {"a", DType::f32, {2, 3}, bytes_of(a)},
                                           {"b", DType::f32, {0}, bytes_of(b)}};
  write_safetensors(path, tensors, {{"format", "pt"}});
  const Checkpoint checkpoint = Checkpoint::open(directory.path());
  EXPECT_EQ(checkpoint.names(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(read_floats(checkpoint.at("a")), a);
  EXPECT_EQ(checkpoint.at("a").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(checkpoint.at("a").bytes.data()) % 8, 0u);
  EXPECT_EQ(checkpoint.metadata().at("format"), "pt");
  EXPECT_EQ(checkpoint.find("none"), nullptr);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "has no tensor 'none'",
                      refusal([&] { checkpoint.at("none"); }));
}

TEST(Safetensors, WriterRefusesWhatIsNoFile) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "x.safetensors";
  const std::vector<float> a = {1, 2};
  const auto write = [&](std::vector<TensorView> tensors) {
    return refusal([&] { write_safetensors(path, tensors); });
  };
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "expected 12 for F32 [3]",
                      write({{"a", DType::f32, {3}, bytes_of(a)}}));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "name of its own",
                      write({{"a", DType::f32, {2}, bytes_of(a)}, {"a", DType::f32, {2}, bytes_of(a)}}));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "name of its own",
                      write({{"__metadata__", DType::f32, {2}, bytes_of(a)}}));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "UTF-8", write({{"\xFF", DType::f32, {2}, bytes_of(a)}}));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Safetensors, ReadsEveryFloatType) {
  const std::vector<double> wide = {0.5, -2};
  const std::vector<uint16_t> half = {0x3800, 0xC000}, brain = {0x3F00, 0xC000};
  const std::vector<float> expected = {0.5f, -2.0f};
  EXPECT_EQ(read_floats({"w", DType::f64, {2}, std::as_bytes(std::span(wide))}), expected);
  EXPECT_EQ(read_floats({"h", DType::f16, {2}, std::as_bytes(std::span(half))}), expected);
  EXPECT_EQ(read_floats({"b", DType::bf16, {2}, std::as_bytes(std::span(brain))}), expected);
  EXPECT_THROW(read_floats({"i", DType::u16, {2}, std::as_bytes(std::span(half))}), Error);
}

class Shards : public ::testing::Test {
 protected:
  Shards() {
    const std::vector<TensorView> first = {{"a", DType::f32, {2}, bytes_of(values_)}},
                                  second = {{"b", DType::f32, {2}, bytes_of(values_)}};
    write_safetensors(directory_.path() / "one.safetensors", first);
    write_safetensors(directory_.path() / "two.safetensors", second);
  }
  std::string open(const std::string& index) {
    std::ofstream(directory_.path() / "model.safetensors.index.json") << index;
    return refusal([&] { Checkpoint::open(directory_.path()); });
  }
  std::string open_map(const std::string& map) {
    return open(R"({"metadata":{"x":[1,{"y":null}]},"weight_map":{)" + map + "}}");
  }

  TemporaryDirectory directory_;
  std::vector<float> values_ = {3, 4};
};

TEST_F(Shards, AreReadTogether) {
  EXPECT_EQ(open_map(R"("a":"one.safetensors","b":"two.safetensors")"), "accepted");
  const Checkpoint checkpoint = Checkpoint::open(directory_.path());
  EXPECT_EQ(checkpoint.tensors().size(), 2u);
  EXPECT_EQ(read_floats(checkpoint.at("b")), values_);
}

TEST_F(Shards, FaultsOfTheIndex) {
  const auto expect = [](const std::string& text, const std::string& got) {
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, text, got);
  };
  for (const std::string name : {"../one.safetensors", "/etc/passwd", "", "..", "d/x", "d\\\\x"})
    expect("plain name", open_map("\"a\":\"" + name + "\""));
  expect("missing: b in one.safetensors", open_map(R"("a":"one.safetensors","b":"one.safetensors")"));
  expect("cannot open", open_map(R"("a":"three.safetensors")"));
  expect("the key 'a' appears twice", open_map(R"("a":"one.safetensors","a":"two.safetensors")"));
  expect("the key 'weight_map' appears twice", open(R"({"weight_map":{},"weight_map":{}})"));
  expect("expected an object with 'weight_map'", open("{}"));
  expect("expected an object with 'weight_map'", open("[]"));
  expect("a number is out of place", open(R"({"weight_map":{"a":1}})"));
  expect("an object is out of place", open(R"({"weight_map":{"a":{}}})"));
  expect("broken JSON", open(R"({"weight_map":)"));
}

TEST_F(Shards, TensorsThatTheIndexDoesNotPlace) {
  const std::vector<TensorView> more = {{"b", DType::f32, {2}, bytes_of(values_)},
                                        {"c", DType::f32, {2}, bytes_of(values_)}};
  write_safetensors(directory_.path() / "two.safetensors", more);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "does not place there: c in two.safetensors",
                      open_map(R"("a":"one.safetensors","b":"two.safetensors")"));
}

TEST(Checkpoint, SaysWhatIsMissingAndHowToConvert) {
  const TemporaryDirectory directory;
  const auto open = [&] { return refusal([&] { Checkpoint::open(directory.path()); }); };
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "neither model.safetensors nor", open());
  std::ofstream(directory.path() / "pytorch_model.bin") << "x";
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "safe_serialization=True", open());
}

}  // namespace
}  // namespace smelt

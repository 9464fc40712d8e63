#include "runtime/engine/data/token_data.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

template <typename T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string llmc(int32_t magic, int32_t version, int32_t count, const std::string& tokens) {
  std::vector<int32_t> header(256);
  header[0] = magic, header[1] = version, header[2] = count;
  return raw(header) + tokens;
}

std::vector<int32_t> all(const TokenData& data) {
  std::vector<int32_t> tokens(static_cast<size_t>(data.size()));
  data.read(0, tokens);
  return tokens;
}

TokenRange range_of(const TemporaryDirectory& directory, int64_t size) {
  std::string text;
  for (int64_t i = 0; i < size; ++i) text += static_cast<char>(i % 251);
  auto data =
      std::make_shared<const TokenData>(std::vector{directory.write("data", text)}, TokenFormat::bytes, 256);
  return {data, 0, size};
}

TEST(TokenFormat, NamesRoundTrip) {
  for (const char* spelling : {"automatic", "bytes", "llmc", "u16"}) {
    const auto format = parse_token_format(spelling);
    ASSERT_TRUE(format) << spelling;
    EXPECT_EQ(name(*format), spelling);
  }
  EXPECT_FALSE(parse_token_format("u64"));
}

TEST(TokenData, TextIsBytesOfAllFilesInOrder) {
  const TemporaryDirectory d;
  const TokenData data({d.write("a", "ab"), d.write("empty", ""), d.write("b", "\xff")},
                       TokenFormat::automatic, 256);
  EXPECT_EQ(all(data), (std::vector<int32_t>{'a', 'b', 255}));
  std::vector<int32_t> part(2);
  data.read(1, part);
  EXPECT_EQ(part, (std::vector<int32_t>{'b', 255}));
  EXPECT_HAS(data.description(), "and 2 more");
}

TEST(TokenData, ReadsBothKindsOfLlmcFiles) {
  const TemporaryDirectory d;
  const auto narrow = d.write("n.bin", llmc(20240520, 1, 3, raw(std::vector<uint16_t>{5, 50256, 7})));
  const auto wide = d.write("w.bin", llmc(20240801, 1, 2, raw(std::vector<uint32_t>{127999, 1})));
  EXPECT_EQ(all(TokenData({narrow}, TokenFormat::automatic, 50257)), (std::vector<int32_t>{5, 50256, 7}));
  EXPECT_EQ(all(TokenData({wide}, TokenFormat::llmc, 128000)), (std::vector<int32_t>{127999, 1}));
  EXPECT_EQ(TokenData({narrow, wide}, TokenFormat::automatic, 128000).size(), 5);
}

TEST(TokenData, ReadsHeaderlessTokens) {
  const TemporaryDirectory d;
  const auto file = d.write("train.bin", raw(std::vector<uint16_t>{1, 2, 300}));
  EXPECT_EQ(all(TokenData({file}, TokenFormat::u16, 301)), (std::vector<int32_t>{1, 2, 300}));
}

TEST(TokenData, FaultsNameFilePositionAndWhatWasExpected) {
  const TemporaryDirectory d;
  const auto fault = [&](std::string_view contents, TokenFormat format, int64_t vocabulary,
                         const char* name) {
    const auto file = d.write(name, contents);
    return message_of([&] { TokenData({file}, format, vocabulary); });
  };
  const std::string tokens = raw(std::vector<uint16_t>{1, 2, 300});
  const std::string outside = fault(tokens, TokenFormat::u16, 300, "x.bin");
  EXPECT_HAS(outside, "x.bin");
  EXPECT_HAS(outside, "token 2 is 300, outside the model's vocabulary of 300");
  EXPECT_HAS(fault("abc\x80", TokenFormat::bytes, 128, "x"), "token 3 is 128");
  EXPECT_HAS(fault("abc", TokenFormat::u16, 300, "x"), "3 bytes are no whole number");
  EXPECT_HAS(fault(tokens, TokenFormat::automatic, 300, "x.bin"), "--data-format=u16");
  EXPECT_HAS(fault(tokens, TokenFormat::llmc, 300, "x.bin"), "no llm.c header");
  EXPECT_HAS(fault(llmc(20240520, 9, 3, tokens), TokenFormat::automatic, 301, "x"), "version 9, expected 1");
  EXPECT_HAS(fault(llmc(20240520, 1, 4, tokens), TokenFormat::automatic, 301, "x"),
             "promises 4 tokens but the file holds 3");
  EXPECT_HAS(fault(llmc(20240520, 1, -1, tokens), TokenFormat::automatic, 301, "x"), "promises -1");
  EXPECT_HAS(
      fault(llmc(20240801, 1, 1, raw(std::vector<uint32_t>{0xFFFFFFFF})), TokenFormat::automatic, 301, "x"),
      "token 0 is 4294967295");
  EXPECT_HAS(message_of([&] { TokenData({d / "absent"}, TokenFormat::bytes, 256); }), "absent");
  EXPECT_HAS(message_of([&] { TokenData({d.path()}, TokenFormat::bytes, 256); }), "not a regular file");
  EXPECT_HAS(message_of([&] { TokenData({}, TokenFormat::bytes, 256); }), "no data files");
}

TEST(TokenSplit, HoldsBackTheEndOrASecondFile) {
  const TemporaryDirectory d;
  const auto whole = range_of(d, 1000).data;
  const auto parts = split<TokenData>(whole, nullptr, 0.1);
  EXPECT_EQ(parts.train.begin, 0);
  EXPECT_EQ(parts.train.end, 900);
  EXPECT_EQ(parts.held_back.begin, 900);
  EXPECT_EQ(parts.held_back.end, 1000);
  const auto other =
      std::make_shared<const TokenData>(std::vector{d.write("v", "xyz")}, TokenFormat::bytes, 256);
  const auto two = split<TokenData>(whole, other, 0.5);
  EXPECT_EQ(two.train.size(), 1000);
  EXPECT_EQ(two.held_back.size(), 3);
  EXPECT_HAS(message_of([&] { split<TokenData>(whole, nullptr, 1); }), "validation fraction 1");
  EXPECT_HAS(message_of([&] { split<TokenData>(whole, nullptr, -0.1); }), "validation fraction -0.1");
}

TEST(RandomWindows, AreAPureFunctionOfSeedStepAndRow) {
  const TemporaryDirectory d;
  const RandomWindows a(range_of(d, 777), 3, 33, 5), b(range_of(d, 777), 3, 33, 5),
      c(range_of(d, 777), 3, 33, 6);
  std::vector<int32_t> x(99), y(99);
  a.fill(0, 0, x);  // what was asked before must not matter
  a.fill(41, 1, x);
  b.fill(41, 1, y);
  EXPECT_EQ(x, y);
  std::set<int64_t> places;
  for (int64_t step = 0; step < 20; ++step)
    for (int64_t micro = 0; micro < 2; ++micro)
      for (int64_t row = 0; row < 3; ++row) places.insert(a.start(step, micro, row));
  EXPECT_GT(places.size(), 100u);  // 120 draws from 745 places
  c.fill(41, 1, y);
  EXPECT_NE(x, y);
}

TEST(RandomWindows, CoverEveryPlaceAndNoMore) {
  const TemporaryDirectory d;
  TokenRange range = range_of(d, 40);
  range.begin = 10;  // 30 tokens, windows of 3: 28 places
  const RandomWindows windows(range, 1, 3, 1);
  std::map<int64_t, int> counts;
  std::vector<int32_t> tokens(3);
  for (int64_t step = 0; step < 28000; ++step) {
    ++counts[windows.start(step, 0, 0)];
    windows.fill(step, 0, tokens);
    ASSERT_GE(tokens[0], 10);
    ASSERT_EQ(tokens[2], tokens[0] + 2);
  }
  ASSERT_EQ(counts.size(), 28u);
  EXPECT_EQ(counts.rbegin()->first, 27);
  double chi_square = 0;
  for (const auto& [place, count] : counts) chi_square += (count - 1000.0) * (count - 1000.0) / 1000;
  EXPECT_LT(chi_square, 55.5);  // 27 degrees of freedom, one in a thousand
}

TEST(RandomWindows, RefuseDataShorterThanABatch) {
  const TemporaryDirectory d;
  const std::string message = message_of([&] { RandomWindows(range_of(d, 99), 10, 10, 0); });
  EXPECT_HAS(message, "99 tokens");
  EXPECT_HAS(message, "10 windows of 10 tokens");
  EXPECT_NO_THROW(RandomWindows(range_of(d, 100), 10, 10, 0));
  EXPECT_HAS(message_of([&] { RandomWindows(range_of(d, 100), 1, 1, 0); }), "2 tokens");
}

TEST(FixedWindows, CoverShortDataSideBySide) {
  const TemporaryDirectory d;
  const FixedWindows windows(range_of(d, 109), 4, 10, 100);
  EXPECT_EQ(windows.batches(), 3);
  EXPECT_EQ(windows.rows(2), 2);  // 10 windows: 4, 4, 2
  std::vector<int32_t> tokens(40);
  windows.fill(2, tokens);
  EXPECT_EQ(tokens[0], 80);
  EXPECT_EQ(tokens[19], 99);
}

TEST(FixedWindows, SpreadOverLongData) {
  const TemporaryDirectory d;
  const FixedWindows windows(range_of(d, 240), 2, 10, 2);
  EXPECT_EQ(windows.batches(), 2);
  std::vector<int32_t> tokens(20);
  windows.fill(0, tokens);
  EXPECT_EQ(tokens[0], 0);
  EXPECT_EQ(tokens[10], 60);
  windows.fill(1, tokens);
  EXPECT_EQ(tokens[0], 120);
  EXPECT_EQ(tokens[10], 180);
}

TEST(FixedWindows, RefuseLessThanAWindow) {
  const TemporaryDirectory d;
  EXPECT_HAS(message_of([&] { FixedWindows(range_of(d, 9), 4, 10, 1); }), "9 tokens held back");
}

}  // namespace
}  // namespace smelt

#include "runtime/base/packed_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace smelt {
namespace {

constexpr std::array<float, 16> kInt4 = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};

constexpr std::array<float, 16> kNf4 = {-1.0F,
                                        -0.6961928009986877F,
                                        -0.5250730514526367F,
                                        -0.39491748809814453F,
                                        -0.28444138169288635F,
                                        -0.18477343022823334F,
                                        -0.09105003625154495F,
                                        0.0F,
                                        0.07958029955625534F,
                                        0.16093020141124725F,
                                        0.24611230194568634F,
                                        0.33791524171829224F,
                                        0.44070982933044434F,
                                        0.5626170039176941F,
                                        0.7229568362236023F,
                                        1.0F};

/// Four bits of exponent with the bias 7, three of mantissa; all ones are NaN.
constexpr float from_e4m3(uint32_t code) {
  const uint32_t exponent = code >> 3 & 15, mantissa = code & 7;
  if ((code & 127) == 127) return std::numeric_limits<float>::quiet_NaN();
  const uint32_t sign = (code & 128) << 24;
  if (exponent == 0) return (sign ? -1.0F : 1.0F) * static_cast<float>(mantissa) * 0x1p-9F;
  return std::bit_cast<float>(sign | (exponent + 120) << 23 | mantissa << 20);
}

template <typename Value>
constexpr std::array<float, 256> table(Value value) {
  std::array<float, 256> values{};
  for (uint32_t code = 0; code < 256; ++code) values[code] = value(code);
  return values;
}
constexpr auto kInt8 =
    table([](uint32_t code) { return static_cast<float>(static_cast<int32_t>(code ^ 128) - 128); });
constexpr auto kE4m3 = table(from_e4m3);

constexpr PackedFormat kFormats[] = {
    {"int4", 4, kInt4}, {"nf4", 4, kNf4}, {"int8", 8, kInt8}, {"fp8", 8, kE4m3}};

/// The numbers of a format in ascending order, each once, and their codes.
struct SortedNumbers {
  std::vector<float> values;
  std::vector<uint32_t> codes;

  explicit SortedNumbers(const PackedFormat& format) {
    for (uint32_t code = 0; code < format.values.size(); ++code) {
      const float value = format.values[code];
      if (!std::isnan(value) && !(value == 0 && std::signbit(value))) codes.push_back(code);
    }
    std::ranges::sort(codes, {}, [&](uint32_t code) { return format.values[code]; });
    for (const uint32_t code : codes) values.push_back(format.values[code]);
  }
};

const SortedNumbers& sorted(const PackedFormat& format) {
  static const std::vector<SortedNumbers> all(std::begin(kFormats), std::end(kFormats));
  return all[static_cast<size_t>(&format - kFormats)];
}

}  // namespace

uint32_t PackedFormat::nearest(float x) const {
  const auto& [numbers, codes] = sorted(*this);
  const auto above = static_cast<size_t>(std::ranges::lower_bound(numbers, x) - numbers.begin());
  if (above == 0) return codes.front();
  if (above == numbers.size()) return codes.back();
  const double down = double{x} - double{numbers[above - 1]}, up = double{numbers[above]} - double{x};
  if (down == up) return codes[above] % 2 == 0 ? codes[above] : codes[above - 1];
  return down < up ? codes[above - 1] : codes[above];
}

void unpack(const PackedFormat& format, const uint8_t* words, std::span<float> to) {
  const auto per_word = static_cast<size_t>(format.codes_per_word());
  for (size_t i = 0; i < to.size(); i += per_word, words += sizeof(uint32_t)) {
    uint32_t word;
    std::memcpy(&word, words, sizeof(word));
    for (size_t j = 0; j < per_word; ++j) to[i + j] = format.values[format.code(word, static_cast<int>(j))];
  }
}

void pack(const PackedFormat& format, std::span<const uint8_t> codes, uint8_t* words) {
  const auto per_word = static_cast<size_t>(format.codes_per_word());
  for (size_t i = 0; i < codes.size(); i += per_word, words += sizeof(uint32_t)) {
    uint32_t word = 0;
    for (size_t j = 0; j < per_word; ++j) word |= uint32_t{codes[i + j]} << format.shift(static_cast<int>(j));
    std::memcpy(words, &word, sizeof(word));
  }
}

std::span<const PackedFormat> packed_formats() { return kFormats; }

const PackedFormat* find_packed_format(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &PackedFormat::name);
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace smelt

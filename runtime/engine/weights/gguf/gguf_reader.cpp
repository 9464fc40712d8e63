#include "runtime/engine/weights/gguf/gguf_reader.h"

#include <cmath>

#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

constexpr int kMostNested = 4;

/// The format's types of values.
enum GgufValue : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64, end };
constexpr uint64_t kValueBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};  // at least

/// The number with the shortest digits that mean the float.
Json shortest(float value) {
  if (!std::isfinite(value)) return value;
  return std::stod(fmt::format("{}", value));
}

}  // namespace

std::span<const std::byte> GgufReader::take(uint64_t bytes) {
  if (bytes > rest())
    refuse("{} bytes from byte {} on, but {} follow: the file is cut off or damaged", bytes, at_, rest());
  const auto taken = file_.subspan(at_, bytes);
  at_ += bytes;
  return taken;
}

std::string GgufReader::text() {
  const auto bytes = take(number<uint64_t>());
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!is_utf8(text)) refuse("a string before byte {} is not UTF-8", at_);
  return text;
}

uint64_t GgufReader::count(uint64_t least, std::string_view what) {
  const auto count = number<uint64_t>();
  if (count > rest() / least)
    refuse("{} {}, but {} bytes follow: the file is cut off or damaged", count, what, rest());
  return count;
}

Json GgufReader::array(int depth) {
  const auto type = number<uint32_t>();
  if (depth >= kMostNested) refuse("arrays are nested more than {} deep", kMostNested);
  if (type >= GgufValue::end) refuse("elements of type {}: expected one of 0 to 12", type);
  const uint64_t size = count(kValueBytes[type], "elements");
  if (size > kMostElements - elements_)
    refuse("arrays with {} elements: expected at most {} in all (is the file damaged?)", elements_ + size,
           kMostElements);
  elements_ += size;
  Json elements = Json::array();
  for (uint64_t i = 0; i < size; ++i) elements.push_back(value(type, depth + 1));
  return elements;
}

Json GgufReader::value(uint32_t type, int depth) {
  switch (type) {
    case GgufValue::u8:
      return number<uint8_t>();
    case GgufValue::i8:
      return number<int8_t>();
    case GgufValue::u16:
      return number<uint16_t>();
    case GgufValue::i16:
      return number<int16_t>();
    case GgufValue::u32:
      return number<uint32_t>();
    case GgufValue::i32:
      return number<int32_t>();
    case GgufValue::f32:
      return shortest(number<float>());
    case GgufValue::boolean:
      return number<uint8_t>() != 0;
    case GgufValue::string:
      return text();
    case GgufValue::array:
      return array(depth);
    case GgufValue::u64:
      return number<uint64_t>();
    case GgufValue::i64:
      return number<int64_t>();
    case GgufValue::f64:
      return number<double>();
    default:
      refuse("a value of type {}: expected one of 0 to 12", type);
  }
}

}  // namespace smelt

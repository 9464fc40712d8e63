#include "runtime/ranks/message.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt {
namespace {

void append(std::string& bytes, uint64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
}

}  // namespace

std::string encode(FrameKind kind, std::string_view body) {
  std::string bytes;
  bytes.reserve(kFrameHeader + body.size());
  append(bytes, body.size(), 4);
  bytes += static_cast<char>(kind);
  return bytes.append(body);
}

BodyWriter& BodyWriter::number(uint64_t value) {
  append(body_, value, 8);
  return *this;
}

BodyWriter& BodyWriter::text(std::string_view value) {
  number(value.size());
  body_.append(value);
  return *this;
}

BodyWriter& BodyWriter::digest(const Digest& value) {
  body_.append(value.begin(), value.end());
  return *this;
}

std::string_view BodyReader::take(size_t size) {
  if (size > rest_.size()) fail("a message ends early");
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

uint64_t BodyReader::number() {
  uint64_t value = 0;
  int shift = 0;
  for (const char byte : take(8)) {
    value |= uint64_t{static_cast<uint8_t>(byte)} << shift;
    shift += 8;
  }
  return value;
}

std::string BodyReader::text() { return std::string(take(number())); }

Digest BodyReader::digest() {
  Digest digest;
  std::ranges::copy(take(digest.size()), digest.begin());
  return digest;
}

std::string encode_texts(const std::vector<std::string>& texts) {
  BodyWriter writer;
  writer.number(texts.size());
  for (const std::string& text : texts) writer.text(text);
  return writer.body();
}

std::vector<std::string> decode_texts(std::string_view body) {
  BodyReader reader(body);
  const uint64_t count = reader.number();
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < count; ++i) texts.push_back(reader.text());
  return texts;
}

}  // namespace smelt

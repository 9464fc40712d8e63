#include "runtime/tokenizers/sentencepiece/spm_file.h"

#include <cmath>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

/// A field of a protocol buffer: a number, or bytes.
struct Field {
  uint64_t number = 0;
  enum Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 } wire = varint;
  uint64_t value = 0;
  std::string_view content;
};

/// Reads the fields of one message, each of which must be inside it.
class Message {
 public:
  Message(std::string_view bytes, std::string_view file, size_t place)
      : bytes_(bytes), file_(file), place_(place) {}

  bool next(Field& field) {
    if (at_ == bytes_.size()) return false;
    const uint64_t tag = varint();
    field.number = tag >> 3;
    field.wire = static_cast<Field::Wire>(tag & 7);
    switch (field.wire) {
      case Field::varint:
        field.value = varint();
        return true;
      case Field::fixed64:
        field.content = take(8);
        return true;
      case Field::fixed32:
        field.content = take(4);
        return true;
      case Field::bytes:
        field.content = take(varint());
        return true;
    }
    refuse("a field of wire type " + std::to_string(tag & 7));
  }

  Message inner(const Field& field) const {
    if (field.wire != Field::bytes) refuse("a number in place of a message");
    return {field.content, file_, place_ + static_cast<size_t>(field.content.data() - bytes_.data())};
  }

  std::string text(const Field& field) const {
    if (field.wire != Field::bytes) refuse("a number in place of bytes");
    return std::string(field.content);
  }
  uint64_t number(const Field& field) const {
    if (field.wire != Field::varint) refuse("bytes in place of an integer");
    return field.value;
  }
  float real(const Field& field) const {
    float value = 0;
    if (field.wire != Field::fixed32) refuse("a field that is no 32-bit float");
    std::memcpy(&value, field.content.data(), sizeof value);
    return value;
  }

  [[noreturn]] void refuse(std::string_view found) const {
    fail_with(Status::invalid_file, "'{}': {} before byte {}: this is no SentencePiece model", file_, found,
              place_ + at_);
  }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    refuse("an integer of more than 64 bits");
  }

  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - at_) refuse("a field that ends behind its message");
    const std::string_view taken = bytes_.substr(at_, static_cast<size_t>(count));
    at_ += static_cast<size_t>(count);
    return taken;
  }

  std::string_view bytes_, file_;
  size_t place_, at_ = 0;
};

SpmPiece read_piece(Message message) {
  SpmPiece piece;
  for (Field field; message.next(field);) {
    if (field.number == 1) piece.text = message.text(field);
    if (field.number == 2) piece.score = message.real(field);
    if (field.number != 3) continue;
    const uint64_t type = message.number(field);
    if (type < SpmPiece::normal || type > SpmPiece::byte)
      message.refuse("a piece of type " + std::to_string(type));
    piece.type = static_cast<SpmPiece::Type>(type);
  }
  if (piece.text.empty() || !is_utf8(piece.text)) message.refuse("a piece that is empty or not UTF-8");
  if (!std::isfinite(piece.score)) message.refuse("a score that is not finite");
  return piece;
}

void read_trainer(Message message, SpmFile& file) {
  for (Field field; message.next(field);) {
    if (field.number == 3) {
      const uint64_t type = message.number(field);
      if (type < SpmFile::unigram || type > SpmFile::character)
        message.refuse("a model of type " + std::to_string(type));
      file.model_type = static_cast<SpmFile::ModelType>(type);
    }
    if (field.number == 24) file.treat_whitespace_as_suffix = message.number(field) != 0;
    if (field.number == 35) file.byte_fallback = message.number(field) != 0;
  }
}

void read_normalizer(Message message, SpmFile& file) {
  for (Field field; message.next(field);) {
    if (field.number == 2) file.charsmap = message.text(field);
    if (field.number == 3) file.add_dummy_prefix = message.number(field) != 0;
    if (field.number == 4) file.remove_extra_whitespaces = message.number(field) != 0;
    if (field.number == 5) file.escape_whitespaces = message.number(field) != 0;
  }
}

}  // namespace

int32_t SpmFile::first(SpmPiece::Type type) const {
  for (size_t id = 0; id < pieces.size(); ++id)
    if (pieces[id].type == type) return static_cast<int32_t>(id);
  return -1;
}

SpmFile parse_spm(std::string_view bytes, std::string_view file) {
  SpmFile result;
  Message message(bytes, file, 0);
  for (Field field; message.next(field);) {
    if (field.number == 1) result.pieces.push_back(read_piece(message.inner(field)));
    if (field.number == 2) read_trainer(message.inner(field), result);
    if (field.number == 3) read_normalizer(message.inner(field), result);
  }
  if (result.pieces.empty()) message.refuse("no piece");
  if (result.first(SpmPiece::unknown) < 0) message.refuse("no piece for what is unknown");
  return result;
}

}  // namespace smelt

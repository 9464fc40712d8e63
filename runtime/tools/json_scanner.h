// JsonScanner: incremental check of JSON text (RFC 8259), byte by byte, without recursion. It stores one bit
// per open object or array, and no text.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace smelt::tools {

/// Kind of a byte of JSON text. `mark`: a comma or a colon. `key`: a byte of an object's key, with its
/// quotes. `value`: a byte of a string, number or word, or a bracket.
enum class JsonByte : uint8_t { wrong, space, mark, key, value };

/// Scanner for one object or array. Strings may have any bytes from 0x20 on, so UTF-8 is not checked.
class JsonScanner {
 public:
  /// Most objects and arrays that may be open at once. A bracket that opens one more is `wrong`.
  static constexpr size_t kMostDepth = 64;

  /// Reads the next byte and returns its kind: `wrong` if no JSON text begins with the bytes so far.
  /// Requires: no byte was wrong before, and the value is not whole.
  JsonByte push(char byte);
  /// Returns the number of open objects and arrays.
  size_t depth() const { return depth_; }
  /// Returns whether the last byte is inside a string, or its opening quote.
  bool in_string() const { return in_string_; }
  /// Returns whether the object or array is closed.
  bool is_whole() const { return next_ == Next::nothing; }

 private:
  /// The part of the grammar that the next byte must match.
  enum class Next : uint8_t {
    structure,    // the first byte: { or [
    value,        // after a colon, or after a comma in an array
    first_value,  // after [: a value or ]
    key,          // after a comma in an object
    first_key,    // after {: a key or }
    colon,
    more,    // after a value: a comma or a closing bracket
    text,    // inside a string
    escape,  // after a backslash
    hex,     // digits of \u
    word,    // letters of true, false or null
    minus,   // after -
    zero,    // after a leading 0
    digits,  // of a number, before the decimal point
    point,   // after the decimal point
    fraction,
    exponent,  // after e or E
    exponent_sign,
    exponent_digits,
    nothing
  };

  JsonByte begin_value(char byte);
  JsonByte begin_text(bool is_key);
  JsonByte open(bool is_object);
  JsonByte close(char byte);
  JsonByte in_text(char byte);
  JsonByte after_backslash(char byte);
  JsonByte in_hex(char byte);
  JsonByte in_word(char byte);
  JsonByte in_number(char byte);
  JsonByte after_value(char byte);
  JsonByte go(Next next, JsonByte kind);
  JsonByte text_kind() const { return is_key_ ? JsonByte::key : JsonByte::value; }
  bool in_object() const { return depth_ > 0 && objects_[depth_ - 1]; }

  Next next_ = Next::structure;
  std::bitset<kMostDepth> objects_;  // by depth: an object, not an array
  size_t depth_ = 0;
  const char* word_ = "";  // letters that are still to come
  int hex_ = 0;            // digits that are still to come
  bool is_key_ = false, in_string_ = false;
};

}  // namespace smelt::tools

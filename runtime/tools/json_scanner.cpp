#include "runtime/tools/json_scanner.h"

namespace smelt::tools {
namespace {

bool is_json_space(char byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }
bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }
bool is_hex_digit(char byte) {
  return is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

}  // namespace

JsonByte JsonScanner::push(char byte) {
  switch (next_) {
    case Next::text:
      return in_text(byte);
    case Next::escape:
      return after_backslash(byte);
    case Next::hex:
      return in_hex(byte);
    case Next::word:
      return in_word(byte);
    case Next::minus:
    case Next::zero:
    case Next::digits:
    case Next::point:
    case Next::fraction:
    case Next::exponent:
    case Next::exponent_sign:
    case Next::exponent_digits:
      return in_number(byte);
    case Next::nothing:
      return JsonByte::wrong;
    default:
      break;
  }
  if (is_json_space(byte)) return depth_ > 0 ? JsonByte::space : JsonByte::wrong;
  switch (next_) {
    case Next::structure:
      return byte == '{' || byte == '[' ? open(byte == '{') : JsonByte::wrong;
    case Next::first_value:
      return byte == ']' ? close(byte) : begin_value(byte);
    case Next::value:
      return begin_value(byte);
    case Next::first_key:
      if (byte == '}') return close(byte);
      [[fallthrough]];
    case Next::key:
      return byte == '"' ? begin_text(true) : JsonByte::wrong;
    case Next::colon:
      return byte == ':' ? go(Next::value, JsonByte::mark) : JsonByte::wrong;
    default:
      return after_value(byte);
  }
}

JsonByte JsonScanner::go(Next next, JsonByte kind) {
  next_ = next;
  return kind;
}

JsonByte JsonScanner::begin_value(char byte) {
  if (byte == '{' || byte == '[') return open(byte == '{');
  if (byte == '"') return begin_text(false);
  if (byte == '-') return go(Next::minus, JsonByte::value);
  if (is_digit(byte)) return go(byte == '0' ? Next::zero : Next::digits, JsonByte::value);
  if (byte != 't' && byte != 'f' && byte != 'n') return JsonByte::wrong;
  word_ = byte == 't' ? "rue" : byte == 'f' ? "alse" : "ull";
  return go(Next::word, JsonByte::value);
}

JsonByte JsonScanner::begin_text(bool is_key) {
  is_key_ = is_key, in_string_ = true;
  return go(Next::text, text_kind());
}

JsonByte JsonScanner::open(bool is_object) {
  if (depth_ == kMostDepth) return JsonByte::wrong;
  objects_[depth_++] = is_object;
  return go(is_object ? Next::first_key : Next::first_value, JsonByte::value);
}

JsonByte JsonScanner::close(char byte) {
  if (byte != (in_object() ? '}' : ']')) return JsonByte::wrong;
  return go(--depth_ == 0 ? Next::nothing : Next::more, JsonByte::value);
}

JsonByte JsonScanner::in_text(char byte) {
  if (static_cast<unsigned char>(byte) < 0x20) return JsonByte::wrong;
  if (byte == '\\') return go(Next::escape, text_kind());
  if (byte != '"') return text_kind();
  in_string_ = false;
  return go(is_key_ ? Next::colon : Next::more, text_kind());
}

JsonByte JsonScanner::after_backslash(char byte) {
  switch (byte) {
    case 'u':
      hex_ = 4;
      return go(Next::hex, text_kind());
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      return go(Next::text, text_kind());
    default:
      return JsonByte::wrong;
  }
}

JsonByte JsonScanner::in_hex(char byte) {
  if (!is_hex_digit(byte)) return JsonByte::wrong;
  return go(--hex_ == 0 ? Next::text : Next::hex, text_kind());
}

JsonByte JsonScanner::in_word(char byte) {
  if (byte != *word_) return JsonByte::wrong;
  return go(*++word_ == '\0' ? Next::more : Next::word, JsonByte::value);
}

/// Reads a byte of a number, or the first one after it.
JsonByte JsonScanner::in_number(char byte) {
  const bool digit = is_digit(byte), begins_exponent = byte == 'e' || byte == 'E';
  switch (next_) {
    case Next::minus:
      return digit ? go(byte == '0' ? Next::zero : Next::digits, JsonByte::value) : JsonByte::wrong;
    case Next::point:
      return digit ? go(Next::fraction, JsonByte::value) : JsonByte::wrong;
    case Next::exponent:
      if (byte == '+' || byte == '-') return go(Next::exponent_sign, JsonByte::value);
      [[fallthrough]];
    case Next::exponent_sign:
      return digit ? go(Next::exponent_digits, JsonByte::value) : JsonByte::wrong;
    default:
      break;
  }
  if (digit && next_ != Next::zero) return JsonByte::value;
  if (byte == '.' && (next_ == Next::zero || next_ == Next::digits)) return go(Next::point, JsonByte::value);
  if (begins_exponent && next_ != Next::exponent_digits) return go(Next::exponent, JsonByte::value);
  next_ = Next::more;
  return is_json_space(byte) ? JsonByte::space : after_value(byte);
}

JsonByte JsonScanner::after_value(char byte) {
  if (byte == ',') return go(in_object() ? Next::key : Next::value, JsonByte::mark);
  return close(byte);
}

}  // namespace smelt::tools

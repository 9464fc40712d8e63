// Dim::parse: sums of products of numbers, symbols, ceil_div(x, n), floor_div(x, n), round_up(x, n) and
// parentheses.
#include <cctype>

#include "runtime/base/dim.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  Dim parse() {
    const Dim result = sum();
    skip_space();
    if (at_ != text_.size()) expected("'+', '-', '*' or the end");
    return result;
  }

 private:
  static constexpr int kDeepest = 8;

  Dim sum() {
    Dim result = product();
    for (;;) {
      if (accept('+'))
        result = result + product();
      else if (accept('-'))
        result = result - product();
      else
        return result;
    }
  }

  Dim product() {
    Dim result = factor();
    while (accept('*')) result = result * factor();
    return result;
  }

  Dim factor() {
    if (++depth_ > kDeepest) expected("less deep nesting");
    const Dim result = unnested_factor();
    --depth_;
    return result;
  }

  Dim unnested_factor() {
    if (accept('-')) return Dim(-1) * factor();
    if (accept('(')) {
      const Dim inside = sum();
      require(')');
      return inside;
    }
    skip_space();
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) return Dim(number());
    const std::string word = identifier();
    if (word != "ceil_div" && word != "floor_div" && word != "round_up") return Dim::symbol(word);
    require('(');
    const Dim inside = sum();
    require(',');
    skip_space();
    const int64_t constant = number();
    if (constant == 0) expected("a number above 0");
    require(')');
    if (word == "floor_div") return floor_div(inside, constant);
    return word == "ceil_div" ? ceil_div(inside, constant) : round_up(inside, constant);
  }

  int64_t number() {
    if (at_ == text_.size() || !std::isdigit(static_cast<unsigned char>(text_[at_]))) expected("a number");
    int64_t value = 0;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_)
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, int64_t{text_[at_] - '0'}, &value))
        expected("a number below 2^63");
    return value;
  }

  /// A coordinate of a rank has a dot: data.rank.
  std::string identifier() {
    const size_t begin = at_;
    const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
    const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    if (at_ == text_.size() || !letter(text_[at_])) expected("a number, a symbol, '-' or '('");
    const auto dot = [&] { return text_[at_] == '.' && at_ + 1 < text_.size() && letter(text_[at_ + 1]); };
    while (at_ < text_.size() && (letter(text_[at_]) || digit(text_[at_]) || dot())) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void require(char c) {
    if (!accept(c)) expected(fmt::format("'{}'", c));
  }
  [[noreturn]] void expected(std::string_view what) {
    constexpr size_t kShown = 200;
    fail("the size \"{}\", position {}: expected {}", text_.substr(0, kShown), at_ + 1, what);
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Dim Dim::parse(std::string_view text) { return DimParser(text).parse(); }

}  // namespace smelt

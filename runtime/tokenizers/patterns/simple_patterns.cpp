#include "runtime/tokenizers/patterns/pattern.h"
#include "runtime/tokenizers/unicode/classes.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

class LiteralPattern : public Pattern {
 public:
  explicit LiteralPattern(std::string text) : literal_(std::move(text)) {}

  void each_match(std::string_view text, const std::function<void(Span)>& found) const override {
    if (literal_.empty()) return each_boundary(text, found);
    for (size_t at = text.find(literal_); at != std::string_view::npos;
         at = text.find(literal_, at + literal_.size()))
      found({static_cast<uint32_t>(at), static_cast<uint32_t>(at + literal_.size())});
  }

 private:
  /// Calls `found` with empty ranges before, between and after all code points.
  static void each_boundary(std::string_view text, const std::function<void(Span)>& found) {
    for (uint32_t at = 0; at < text.size(); at += code_point_at(text, at).bytes) found({at, at});
    found({static_cast<uint32_t>(text.size()), static_cast<uint32_t>(text.size())});
  }

  std::string literal_;
};

class ClassPattern : public Pattern {
 public:
  explicit ClassPattern(uint16_t classes) : classes_(classes) {}

  void each_match(std::string_view text, const std::function<void(Span)>& found) const override {
    for (uint32_t at = 0; at < text.size();) {
      const CodePoint c = code_point_at(text, at);
      if (is(c.value, classes_)) found({at, at + c.bytes});
      at += c.bytes;
    }
  }

 private:
  uint16_t classes_;
};

class WordsPattern : public Pattern {
 public:
  void each_match(std::string_view text, const std::function<void(Span)>& found) const override {
    for (uint32_t at = 0; at < text.size();) {
      const uint32_t begin = at;
      const Kind kind = kind_at(text, at);
      do at += code_point_at(text, at).bytes;
      while (at < text.size() && kind_at(text, at) == kind);
      if (kind != Kind::space) found({begin, at});
    }
  }

 private:
  enum class Kind { word, space, other };
  static Kind kind_at(std::string_view text, uint32_t at) {
    const uint16_t classes = classes_of(code_point_at(text, at).value);
    return classes & kWord ? Kind::word : classes & kWhitespace ? Kind::space : Kind::other;
  }
};

}  // namespace

std::unique_ptr<Pattern> literal_pattern(std::string text) {
  return std::make_unique<LiteralPattern>(std::move(text));
}
std::unique_ptr<Pattern> class_pattern(uint16_t classes) { return std::make_unique<ClassPattern>(classes); }
std::unique_ptr<Pattern> words_pattern() { return std::make_unique<WordsPattern>(); }

std::unique_ptr<Pattern> regex_pattern(const std::string& expression) {
  auto known = known_pattern(expression);
  return known ? std::move(known) : pcre2_pattern(expression);
}

}  // namespace smelt

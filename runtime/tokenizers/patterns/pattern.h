// Patterns that divide text: a literal, a class of code points, a regular expression or a scanner written for
// one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/tokenizers/aligned_text.h"

namespace smelt {

class Pattern {
 public:
  virtual ~Pattern() = default;
  /// Calls `found` for every match from left to right; matches do not overlap and may be empty. Throws Error
  /// (invalid_argument) if matching costs too much.
  virtual void each_match(std::string_view text, const std::function<void(Span)>& found) const = 0;
};

std::unique_ptr<Pattern> literal_pattern(std::string text);
/// A match is one code point in `classes` (see CharClass).
std::unique_ptr<Pattern> class_pattern(uint16_t classes);
/// Matches runs of word characters, and runs of characters that are neither word characters nor white space.
std::unique_ptr<Pattern> words_pattern();

/// One of the scanners for the patterns of known models, or else PCRE2. Throws Error if the expression is
/// broken.
std::unique_ptr<Pattern> regex_pattern(const std::string& expression);
/// PCRE2 with UTF and UCP. Code points that are newer than its Unicode match as others of their general
/// category.
std::unique_ptr<Pattern> pcre2_pattern(const std::string& expression);

/// GPT-2's own expression, which the byte-level pre-tokenizer splits by.
std::unique_ptr<Pattern> gpt2_pattern();
/// Null if `expression` is not one that a scanner is written for.
std::unique_ptr<Pattern> known_pattern(std::string_view expression);

/// Treatment of a match when text is split by it.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Divides every piece that is no token. With `invert`, the text between matches counts as a match.
void split_pieces(PieceList& list, const Pattern& pattern, SplitBehavior behavior, bool invert = false);

}  // namespace smelt

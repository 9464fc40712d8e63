// Patterns that divide text: literals, classes of code points and regular expressions.
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
  /// Calls `found` with the range of every match, from left to right. Matches do not overlap, and may be
  /// empty. Throws Error (invalid_argument) if the search takes too many steps.
  virtual void each_match(std::string_view text, const std::function<void(Span)>& found) const = 0;
};

std::unique_ptr<Pattern> literal_pattern(std::string text);
/// Matches each code point that is in at least one of `classes` (bits of CharClass in unicode/classes.h).
std::unique_ptr<Pattern> class_pattern(uint16_t classes);
/// Matches runs of word characters, and runs of characters that are neither word characters nor white space.
std::unique_ptr<Pattern> words_pattern();

/// Creates the pattern of a regular expression: known_pattern if there is one, else pcre2_pattern. Throws
/// Error if the expression is invalid.
std::unique_ptr<Pattern> regex_pattern(const std::string& expression);
/// Creates a pattern that uses PCRE2 with the options UTF and UCP. A code point that is newer than PCRE2's
/// version of Unicode matches like an older one of the same general category.
std::unique_ptr<Pattern> pcre2_pattern(const std::string& expression);

/// Creates a hand-written scanner for the regular expression of GPT-2, with which the byte-level
/// pre-tokenizer splits text.
std::unique_ptr<Pattern> gpt2_pattern();
/// Creates a hand-written scanner for `expression`, which is faster than PCRE2. There are scanners for the
/// expressions of some well-known tokenizers; for all others, returns null.
std::unique_ptr<Pattern> known_pattern(std::string_view expression);

/// Treatment of matches when text is split, in the order of the values: a match is removed, becomes a piece,
/// is joined to the text before it, is joined to the text after it, or becomes one piece with adjacent
/// matches.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Splits every piece of the list that is not an added token. With `invert`, the text between matches is
/// treated as matches, and the matches as the text between them.
void split_pieces(PieceList& list, const Pattern& pattern, SplitBehavior behavior, bool invert = false);

}  // namespace smelt

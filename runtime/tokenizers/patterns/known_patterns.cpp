// Scanners for the expressions of known models: each finds what its expression finds, in one sweep, with the
// Unicode classes of Hugging Face's tokenizers.
#include <array>

#include "runtime/tokenizers/patterns/pattern.h"
#include "runtime/tokenizers/unicode/classes.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

enum class Contractions { none, first, first_any_case, behind_letters };
enum class Words {
  spaced,    // ` ?\p{L}+`
  prefixed,  // `[^\r\n\p{L}\p{N}]?\p{L}+`
  cased      // the same prefix, then capitals before small letters
};

/// Differences between the known expressions.
struct Rules {
  std::string_view expression;
  Contractions contractions;
  Words words;
  int most_digits;            // the most digits per number; 0: no limit, and a number may follow a space
  std::string_view trailing;  // what may end a run of other characters
  bool lines;                 // white space up to its last line end is a match: `\s*[\r\n]+`
};

#define SMELT_SPACES R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define SMELT_ANY_CASE R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define SMELT_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define SMELT_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define SMELT_PREFIX R"([^\r\n\p{L}\p{N}]?)"

constexpr Rules kRules[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Contractions::first,
     Words::spaced, 0, "", false},
    {SMELT_ANY_CASE "|" SMELT_PREFIX R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" SMELT_SPACES,
     Contractions::first_any_case, Words::prefixed, 3, "\r\n", true},
    {SMELT_ANY_CASE "|" SMELT_PREFIX R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" SMELT_SPACES,
     Contractions::first_any_case, Words::prefixed, 1, "\r\n", true},
    {SMELT_PREFIX SMELT_UPPER "*" SMELT_LOWER "+|" SMELT_PREFIX SMELT_UPPER "+" SMELT_LOWER
                              R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SMELT_SPACES,
     Contractions::none, Words::cased, 1, "\r\n/", true},
    {SMELT_PREFIX SMELT_UPPER "*" SMELT_LOWER "+" SMELT_ANY_CASE "?|" SMELT_PREFIX SMELT_UPPER "+" SMELT_LOWER
                              "*" SMELT_ANY_CASE R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SMELT_SPACES,
     Contractions::behind_letters, Words::cased, 3, "\r\n/", true},
};

#undef SMELT_SPACES
#undef SMELT_ANY_CASE
#undef SMELT_UPPER
#undef SMELT_LOWER
#undef SMELT_PREFIX

/// Finds one match after another. Every `..._end` gives where a match that begins at `at` ends; `at`: there
/// is none.
class Scanner {
 public:
  Scanner(const Rules& rules, std::string_view text) : rules_(rules), text_(text) {}

  uint32_t match_end(uint32_t at) const {
    using Alternative = uint32_t (Scanner::*)(uint32_t) const;
    constexpr Alternative kAlternatives[] = {&Scanner::leading_contraction_end, &Scanner::word_end,
                                             &Scanner::number_end, &Scanner::other_end, &Scanner::space_end};
    for (const Alternative alternative : kAlternatives)
      if (const uint32_t end = (this->*alternative)(at); end > at) return end;
    return at;
  }

 private:
  bool at_end(uint32_t at) const { return at >= text_.size(); }
  /// 0 at the end, which is in no class.
  uint16_t classes_at(uint32_t at) const {
    return at_end(at) ? 0 : classes_of(code_point_at(text_, at).value);
  }
  uint32_t next(uint32_t at) const { return at + code_point_at(text_, at).bytes; }
  bool any_of(uint32_t at, std::string_view bytes) const {
    return !at_end(at) && bytes.find(text_[at]) != std::string_view::npos;
  }
  uint32_t run_end(uint32_t at, uint16_t classes, int most = 0) const {
    for (int count = 0; classes_at(at) & classes; at = next(at))
      if (most > 0 && count++ == most) break;
    return at;
  }
  uint32_t other_run_end(uint32_t at) const {
    while (!at_end(at) && !(classes_at(at) & (kSpace | kLetter | kNumber))) at = next(at);
    return at;
  }
  uint32_t behind_space(uint32_t at) const { return any_of(at, " ") ? at + 1 : at; }

  uint32_t leading_contraction_end(uint32_t at) const {
    const bool first = rules_.contractions == Contractions::first;
    return first || rules_.contractions == Contractions::first_any_case ? contraction_end(at, !first) : at;
  }

  /// 's 't 're 've 'm 'll 'd; in any case, the long s is an s too.
  uint32_t contraction_end(uint32_t at, bool any_case) const {
    if (!any_of(at, "'")) return at;
    const auto letter = [&](uint32_t place) {
      const char c = at_end(place) ? '\0' : text_[place];
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    constexpr std::array<std::string_view, 7> kEndings = {"s", "t", "re", "ve", "m", "ll", "d"};
    for (const std::string_view ending : kEndings)
      if (letter(at + 1) == ending[0] && (ending.size() == 1 || letter(at + 2) == ending[1]))
        return at + 1 + static_cast<uint32_t>(ending.size());
    return any_case && text_.substr(at + 1).starts_with("\u017F") ? at + 3 : at;
  }

  uint32_t word_end(uint32_t at) const {
    if (rules_.words == Words::spaced) {
      const uint32_t begin = behind_space(at), end = run_end(begin, kLetter);
      return end > begin ? end : at;
    }
    const bool prefix = !at_end(at) && !any_of(at, "\r\n") && !(classes_at(at) & (kLetter | kNumber));
    const uint32_t begin = prefix ? next(at) : at;
    if (rules_.words == Words::cased) return cased_end(at, begin);
    const uint32_t end = run_end(begin, kLetter);
    return end > begin ? end : at;
  }

  /// A mark may be the prefix or belong to the word, so each form is tried with the prefix and without.
  uint32_t cased_end(uint32_t at, uint32_t behind_prefix) const {
    using Form = uint32_t (Scanner::*)(uint32_t) const;
    for (const Form form : {&Scanner::small_end, &Scanner::capital_end})
      for (const uint32_t begin : {behind_prefix, at})
        if (const uint32_t end = (this->*form)(begin); end > begin)
          return rules_.contractions == Contractions::behind_letters ? contraction_end(end, true) : end;
    return at;
  }

  /// `[capitals]*[small]+`: where no small letter follows, it ends with the last one that is both.
  uint32_t small_end(uint32_t begin) const {
    uint32_t last = begin, at = begin;
    for (uint16_t classes = classes_at(at); classes & kUpperLike; classes = classes_at(at)) {
      at = next(at);
      if (classes & kLowerLike) last = at;
    }
    const uint32_t end = run_end(at, kLowerLike);
    return end > at ? end : last;
  }

  /// `[capitals]+[small]*`
  uint32_t capital_end(uint32_t begin) const {
    const uint32_t end = run_end(begin, kUpperLike);
    return end > begin ? run_end(end, kLowerLike) : begin;
  }

  uint32_t number_end(uint32_t at) const {
    if (rules_.most_digits > 0) return run_end(at, kNumber, rules_.most_digits);
    const uint32_t begin = behind_space(at), end = run_end(begin, kNumber);
    return end > begin ? end : at;
  }

  uint32_t other_end(uint32_t at) const {
    const uint32_t begin = behind_space(at);
    uint32_t end = other_run_end(begin);
    if (end == begin) return at;
    while (any_of(end, rules_.trailing)) ++end;
    return end;
  }

  /// Up to the last line end; or all but the last where something follows; or all.
  uint32_t space_end(uint32_t at) const {
    uint32_t end = at, last = at, lines = at;
    while (classes_at(end) & kSpace) {
      last = end;
      end = next(end);
      if (rules_.lines && any_of(last, "\r\n")) lines = end;
    }
    if (lines > at) return lines;
    return at_end(end) || last == at ? end : last;
  }

  const Rules& rules_;
  std::string_view text_;
};

class KnownPattern : public Pattern {
 public:
  explicit KnownPattern(const Rules& rules) : rules_(rules) {}

  void each_match(std::string_view text, const std::function<void(Span)>& found) const override {
    const Scanner scanner(rules_, text);
    for (uint32_t at = 0; at < text.size();) {
      const uint32_t end = scanner.match_end(at);
      found({at, end});
      at = end;
    }
  }

 private:
  const Rules& rules_;
};

}  // namespace

std::unique_ptr<Pattern> gpt2_pattern() { return std::make_unique<KnownPattern>(kRules[0]); }

std::unique_ptr<Pattern> known_pattern(std::string_view expression) {
  for (const Rules& rules : kRules)
    if (rules.expression == expression) return std::make_unique<KnownPattern>(rules);
  return nullptr;
}

}  // namespace smelt

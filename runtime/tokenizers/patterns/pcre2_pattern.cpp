#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/tokenizers/patterns/pattern.h"
#include "runtime/tokenizers/unicode/classes.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

constexpr uint32_t kMostSteps = 10'000'000;

struct Release {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

std::string message_of(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

/// Replaces code points that are too new for PCRE2 by older ones of equally many bytes.
std::string without_recent(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const auto [c, bytes] = code_point_at(text, at);
    append_utf8(result, bytes < 3 ? c : known_code_point(c));
    at += bytes;
  }
  return result;
}

/// Members of Oniguruma's \\w and \\s, the expressions of Hugging Face, which are not those of PCRE2.
constexpr std::string_view kWordSet =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be}\x{24b6}-\x{24e9})"
    R"(\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
constexpr std::string_view kSpaceSet = R"(\p{Z}\t-\r\x{85})";

/// Returns the escape as PCRE2 has to read it; empty if it means the same.
std::string translated(char escape, bool in_class) {
  const auto word = [](std::string_view form) {
    return replace_all(form, "W", fmt::format("[{}]", kWordSet));
  };
  const std::string_view set = escape == 'w' || escape == 'W' ? kWordSet : kSpaceSet;
  if (escape == 'w' || escape == 's') return in_class ? std::string(set) : fmt::format("[{}]", set);
  if (in_class) return {};
  if (escape == 'W' || escape == 'S') return fmt::format("[^{}]", set);
  if (escape == 'b') return word("(?:(?<=W)(?!W)|(?<!W)(?=W))");
  if (escape == 'B') return word("(?:(?<=W)(?=W)|(?<!W)(?!W))");
  return {};
}

/// Returns the end of a POSIX class, as "[:alpha:]", that begins there; the place itself where none does.
size_t bracket_part_end(std::string_view expression, size_t at) {
  if (!expression.substr(at).starts_with("[:")) return at;
  const size_t end = expression.find(":]", at);
  return end == std::string_view::npos ? at : end + 2;
}

/// Returns where the members of a class begin whose bracket is at `at`: a first "]" is one of them.
size_t members_begin(std::string_view expression, size_t at) {
  at += expression.substr(at + 1).starts_with('^') ? 2 : 1;
  return at + (expression.substr(at).starts_with(']') ? 1 : 0);
}

/// Writes the classes of Oniguruma out; negated ones within brackets stay PCRE2's.
std::string translated(std::string_view expression) {
  std::string result;
  bool in_class = false;
  for (size_t i = 0, end = 0; i < expression.size(); i = end) {
    end = i + 1;
    std::string other;
    if (expression[i] == '\\' && end < expression.size())
      other = translated(expression[end++], in_class);
    else if (in_class)
      end = std::max(end, bracket_part_end(expression, i)), in_class = expression[i] != ']';
    else if (expression[i] == '[')
      end = members_begin(expression, i), in_class = true;
    result += other.empty() ? expression.substr(i, end - i) : other;
  }
  return result;
}

class Pcre2Pattern : public Pattern {
 public:
  explicit Pcre2Pattern(const std::string& expression) : expression_(expression) {
    int fault = 0;
    PCRE2_SIZE at = 0;
    const std::string text = translated(expression);
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &fault, &at, nullptr));
    if (!code_)
      fail_with(Status::invalid_file, "regular expression '{}': {} at byte {}", expression, message_of(fault),
                at);
    context_.reset(pcre2_match_context_create(nullptr));
    pcre2_set_match_limit(context_.get(), kMostSteps);
  }

  void each_match(std::string_view asked, const std::function<void(Span)>& found) const override {
    const std::string text = without_recent(asked);
    const std::unique_ptr<pcre2_match_data, Release> data(
        pcre2_match_data_create_from_pattern(code_.get(), nullptr));
    size_t at = 0, last_end = PCRE2_UNSET;
    while (at <= text.size() && match(text, at, data.get())) {
      const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data.get());
      const size_t begin = range[0], end = range[1];
      if (begin > end) break;  // \K in a lookahead
      at = end;
      if (begin == end) {
        at = end < text.size() ? end + code_point_at(text, end).bytes : end + 1;
        if (end == last_end) continue;  // empty, directly after a match
      }
      found({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
      last_end = end;
    }
  }

 private:
  bool match(std::string_view text, size_t at, pcre2_match_data* data) const {
    const int result = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                                   PCRE2_NO_UTF_CHECK, data, context_.get());
    if (result < 0 && result != PCRE2_ERROR_NOMATCH)
      fail("regular expression '{}' at byte {} of the text: {}", expression_, at, message_of(result));
    return result >= 0;
  }

  std::string expression_;
  std::unique_ptr<pcre2_code, Release> code_;
  std::unique_ptr<pcre2_match_context, Release> context_;
};

}  // namespace

std::unique_ptr<Pattern> pcre2_pattern(const std::string& expression) {
  return std::make_unique<Pcre2Pattern>(expression);
}

}  // namespace smelt

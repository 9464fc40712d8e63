#include "runtime/engine/training/bleu.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

namespace smelt {
namespace {

using Tokens = std::vector<std::string>;

constexpr std::string_view kSpaces = " \t\r\v\f\n";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// Replaces the spaces of Unicode, and the separators of ASCII, by ordinary spaces.
std::string with_plain_spaces(std::string_view raw) {
  std::string text(raw);
  for (const std::string_view space :
       {"\x1c",   "\x1d",   "\x1e",   "\x1f",   "\u0085", "\u00a0", "\u1680", "\u2000",
        "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008",
        "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"})
    replace_all(text, space, " ");
  return text;
}

/// In the order of mteval: a hyphen at the end of a line joins the lines.
std::string normalized(std::string_view raw) {
  std::string text = with_plain_spaces(raw);
  text.erase(text.find_last_not_of(kSpaces) + 1);
  constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
      {"<skipped>", ""}, {"-\n", ""}, {"\n", " "}};
  for (const auto& [from, to] : kPairs) replace_all(text, from, to);
  if (text.find('&') == text.npos) return text;
  constexpr std::pair<std::string_view, std::string_view> kEntities[] = {
      {"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}};
  for (const auto& [entity, character] : kEntities) replace_all(text, entity, character);
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns whether a character of ASCII is always a token: all but letters, digits, spaces and ' , - .
bool is_separate(char c) {
  const auto in = [&](char first, char last) { return c >= first && c <= last; };
  return in('{', '~') || in('[', '`') || in('!', '&') || in('(', '+') || in(':', '@') || c == '/';
}

/// Returns the text with spaces around each separate character.
std::string with_separated(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (is_separate(c))
      result.append({' ', c, ' '});
    else
      result += c;
  return result;
}

/// Replaces each pair of neighbours that `matches` by what `replace` appends, from left to right; pairs do
/// not overlap. Neighbours of a character of ASCII can be bytes of other characters.
template <typename Matches, typename Append>
std::string with_pairs(const std::string& text, Matches matches, Append append) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && matches(text[i], text[i + 1]))
      append(result, text[i], text[i + 1]), ++i;
    else
      result += text[i];
  }
  return result;
}

bool is_point(char c) { return c == '.' || c == ','; }

Tokens split_at_spaces(std::string_view text) {
  Tokens tokens;
  for (size_t begin = 0; begin < text.size();) {
    const size_t first = text.find_first_not_of(kSpaces, begin);
    if (first == text.npos) break;
    const size_t end = std::min(text.find_first_of(kSpaces, first), text.size());
    tokens.emplace_back(text.substr(first, end - first));
    begin = end;
  }
  return tokens;
}

using NgramCounts =
    std::map<std::span<const std::string>, int64_t,
             decltype([](auto a, auto b) { return std::ranges::lexicographical_compare(a, b); })>;

NgramCounts ngrams(const Tokens& tokens, size_t length) {
  NgramCounts counts;
  for (size_t i = 0; i + length <= tokens.size(); ++i) ++counts[std::span(tokens).subspan(i, length)];
  return counts;
}

}  // namespace

std::vector<std::string> tokenize_13a(std::string_view raw) {
  std::string text = with_separated(" " + normalized(raw) + " ");
  text = with_pairs(
      text, [](char a, char b) { return !is_digit(a) && is_point(b); },
      [](std::string& out, char a, char b) { out.append({a, ' ', b, ' '}); });
  text = with_pairs(
      text, [](char a, char b) { return is_point(a) && !is_digit(b); },
      [](std::string& out, char a, char b) { out.append({' ', a, ' ', b}); });
  text = with_pairs(
      text, [](char a, char b) { return is_digit(a) && b == '-'; },
      [](std::string& out, char a, char b) { out.append({a, ' ', b, ' '}); });
  return split_at_spaces(text);
}

void Bleu::add(std::string_view translation, std::string_view reference) {
  const Tokens tokens = tokenize_13a(translation), expected = tokenize_13a(reference);
  counts_.tokens += std::ssize(tokens), counts_.reference_tokens += std::ssize(expected);
  for (size_t n = 0; n < kLongest; ++n) {
    const NgramCounts own = ngrams(tokens, n + 1), most = ngrams(expected, n + 1);
    for (const auto& [ngram, count] : own) {
      counts_.all[n] += count;
      if (const auto found = most.find(ngram); found != most.end())
        counts_.matched[n] += std::min(count, found->second);
    }
  }
}

/// An order without a match has half the precision of the one before it without a match. Orders that are
/// longer than all translations make the score 0.
double Bleu::score() const {
  double smoothing = 1, logarithms = 0;
  if (counts_.matched[0] == 0) return 0;
  for (size_t n = 0; n < kLongest; ++n) {
    if (counts_.all[n] == 0) return 0;
    const auto all = static_cast<double>(counts_.all[n]);
    const double precision =
        counts_.matched[n] > 0 ? static_cast<double>(counts_.matched[n]) / all : 1 / ((smoothing *= 2) * all);
    logarithms += std::log(precision) / kLongest;
  }
  const double ratio = static_cast<double>(counts_.reference_tokens) / static_cast<double>(counts_.tokens);
  return 100 * std::exp(logarithms + std::min(0.0, 1 - ratio));
}

}  // namespace smelt

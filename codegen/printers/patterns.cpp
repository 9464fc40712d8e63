#include <cctype>
#include <cstring>
#include <ranges>

#include "codegen/printers/print_expression.h"

namespace smelt {

std::string operand_text(const std::string& expression) {
  int depth = 0;
  for (size_t i = 0; i < expression.size(); ++i) {
    const auto c = static_cast<unsigned char>(expression[i]);
    if (c == ')' || c == ']') --depth;
    const bool exponent = c == '-' && i > 0 && expression[i - 1] == 'e' && std::isdigit(expression[0]) != 0;
    const bool simple = std::isalnum(c) != 0 || std::strchr("_.()[]", c) != nullptr || exponent;
    if (depth == 0 && !simple) return "(" + expression + ")";
    if (c == '(' || c == '[') ++depth;
  }
  return expression;
}

std::string fill_pattern(std::string_view pattern, std::span<const std::string> operands,
                         std::initializer_list<std::pair<std::string_view, std::string>> words) {
  std::string text;
  for (size_t at = 0; at < pattern.size();) {
    const size_t end = pattern[at] == '{' ? pattern.find('}', at) : std::string_view::npos;
    if (end == std::string_view::npos) {
      text += pattern[at++];
      continue;
    }
    const std::string_view key = pattern.substr(at + 1, end - at - 1);
    const auto* word = std::ranges::find(words, key, &std::pair<std::string_view, std::string>::first);
    text += word != words.end() ? word->second : operands[static_cast<size_t>(key[0] - '0')];
    at = end + 1;
  }
  return text;
}

}  // namespace smelt

#include "codegen/cuda/expressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <vector>

namespace smelt {
namespace {

std::string float_text(double number) {
  const auto x = static_cast<float>(number);
  if (std::isnan(x)) return "__uint_as_float(0x7FC00000u)";
  if (std::isinf(x)) return x > 0 ? "sm_infinity()" : "-sm_infinity()";
  std::string text = fmt::format("{}", x);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

std::string int_text(double number) {
  const auto x = static_cast<int32_t>(static_cast<int64_t>(number));
  return x == INT32_MIN ? "-2147483647 - 1" : fmt::format("{}", x);
}

std::string wide_text(double number) {
  const auto x = static_cast<int64_t>(number);
  return x == INT64_MIN ? "-9223372036854775807ll - 1" : fmt::format("{}ll", x);
}

CudaKind common_kind(Domain domain, std::span<const CudaValue> operands) {
  if (domain == Domain::flags) return CudaKind::flag;
  if (domain == Domain::reals) return CudaKind::real;
  CudaKind kind = domain == Domain::numbers ? CudaKind::integer : CudaKind::flag;
  for (const CudaValue& value : operands) kind = std::max(kind, value.kind);
  return kind;
}

std::string_view pattern_of(const ScalarOpInfo& row, CudaKind kind, bool fast) {
  const std::string_view own = kind == CudaKind::flag   ? row.cuda_flag
                               : kind != CudaKind::real ? row.cuda_integer
                               : fast                   ? row.cuda_fast
                                                        : "";
  return own.empty() ? row.cuda : own;
}

/// sm_max becomes sm_wide_max: the helper for integers of 64 bits.
std::string with_wide_helper(std::string_view pattern) {
  std::string text(pattern);
  if (text.starts_with("sm_")) text.insert(3, "wide_");
  return text;
}

}  // namespace

CudaKind cuda_kind(DType type) {
  if (type == DType::boolean) return CudaKind::flag;
  if (type == DType::i64) return CudaKind::wide;
  return is_float(type) ? CudaKind::real : CudaKind::integer;
}

std::string_view cuda_type(CudaKind kind) {
  constexpr std::string_view kTypes[] = {"bool", "int", "long long", "float"};
  return kTypes[static_cast<size_t>(kind)];
}

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

std::string coerce(const CudaValue& value, CudaKind kind) {
  if (value.kind == kind) return value.text;
  if (kind == CudaKind::flag) return operand_text(value.text) + " != 0";
  if (kind == CudaKind::integer && value.kind == CudaKind::real)
    return fmt::format("__float2int_rz({})", value.text);
  if (kind == CudaKind::wide && value.kind == CudaKind::real)
    return fmt::format("__float2ll_rz({})", value.text);
  return fmt::format("({}){}", cuda_type(kind), operand_text(value.text));
}

CudaValue cuda_number(double number, DType type) {
  const CudaKind kind = cuda_kind(type);
  if (kind == CudaKind::flag) return {number != 0 ? "true" : "false", kind};
  if (kind == CudaKind::wide) return {wide_text(number), kind};
  return {kind == CudaKind::real ? float_text(number) : int_text(number), kind};
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

std::string bits_text(uint32_t bits) {
  return bits > 9 ? fmt::format("{:#x}u", bits) : fmt::format("{}u", bits);
}

CudaValue cuda_apply(ScalarOp op, std::span<const CudaValue> operands, bool fast) {
  const ScalarOpInfo& row = info(op);
  const size_t conditions = row.domain == Domain::choice ? 1 : 0;
  const CudaKind kind = common_kind(row.domain, operands.subspan(conditions));
  std::vector<std::string> texts;
  for (size_t i = 0; i < operands.size(); ++i)
    texts.push_back(operand_text(coerce(operands[i], i < conditions ? CudaKind::flag : kind)));
  std::string pattern(pattern_of(row, kind, fast));
  if (kind == CudaKind::wide) pattern = with_wide_helper(pattern);
  return {fill_pattern(pattern, texts), row.flag ? CudaKind::flag : kind};
}

}  // namespace smelt

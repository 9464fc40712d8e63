#include "codegen/cuda/expressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace smelt {
namespace {

std::string float_text(double number) {
  const auto x = static_cast<float>(number);
  if (std::isnan(x)) return "__uint_as_float(0x7FC00000u)";
  if (std::isinf(x)) return x > 0 ? "sm_infinity()" : "(-sm_infinity())";
  std::string text = fmt::format("{}", x);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return x < 0 || std::signbit(x) ? "(" + text + "f)" : text + "f";
}

std::string int_text(double number) {
  const auto x = static_cast<int32_t>(static_cast<int64_t>(number));
  if (x == INT32_MIN) return "(-2147483647 - 1)";
  return x < 0 ? fmt::format("({})", x) : fmt::format("{}", x);
}

std::string filled(std::string_view pattern, const std::vector<std::string>& operands) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      text += pattern[i];
      continue;
    }
    text += operands[static_cast<size_t>(pattern[i + 1] - '0')];
    i += 2;
  }
  return text;
}

/// Functions of real numbers alone.
bool wants_real(ScalarOp op) {
  return is_dear(op) || op == ScalarOp::sqrt || op == ScalarOp::rsqrt || op == ScalarOp::reciprocal;
}

bool is_logical(ScalarOp op) {
  return op == ScalarOp::logical_and || op == ScalarOp::logical_or || op == ScalarOp::logical_not;
}

/// The text of an operation on whole numbers where it is not that on real ones.
std::string_view integer_pattern(ScalarOp op) {
  switch (op) {
    case ScalarOp::div:
      return "sm_div({0}, {1})";
    case ScalarOp::abs:
      return "sm_abs({0})";
    case ScalarOp::floor:
      return "{0}";
    default:
      return info(op).cuda;
  }
}

std::string_view flag_pattern(ScalarOp op) {
  if (op == ScalarOp::max) return "{0} || {1}";
  if (op == ScalarOp::min) return "{0} && {1}";
  return info(op).cuda;
}

/// A few ulp of f32 off, of exp 2 + 1.16 |x| by the tables of CUDA, of erf 7e-7: for kernels that read or
/// write bf16 or f16. Others as they are.
std::string_view fast_pattern(ScalarOp op) {
  switch (op) {
    case ScalarOp::exp:
      return "sm_fast_exp({0})";
    case ScalarOp::div:
      return "__fdividef({0}, {1})";
    case ScalarOp::reciprocal:
      return "__fdividef(1.0f, {0})";
    case ScalarOp::tanh:
      return "sm_fast_tanh({0})";
    case ScalarOp::sigmoid:
      return "sm_fast_sigmoid({0})";
    case ScalarOp::erf:
      return "sm_fast_erf({0})";
    default:
      return info(op).cuda;
  }
}

CudaKind common_kind(ScalarOp op, const std::vector<CudaValue>& operands) {
  if (is_logical(op)) return CudaKind::flag;
  if (wants_real(op)) return CudaKind::real;
  CudaKind kind = CudaKind::flag;
  for (const CudaValue& value : operands) kind = std::max(kind, value.kind);
  const bool keeps_flags = op == ScalarOp::max || op == ScalarOp::min || info(op).flag;
  return kind == CudaKind::flag && !keeps_flags && op != ScalarOp::select ? CudaKind::integer : kind;
}

}  // namespace

CudaKind cuda_kind(DType type) {
  if (type == DType::boolean) return CudaKind::flag;
  return is_float(type) ? CudaKind::real : CudaKind::integer;
}

std::string_view cuda_type(CudaKind kind) {
  constexpr std::string_view kTypes[] = {"bool", "int", "float"};
  return kTypes[static_cast<size_t>(kind)];
}

std::string coerce(const CudaValue& value, CudaKind kind) {
  if (value.kind == kind) return value.text;
  if (kind == CudaKind::flag) return fmt::format("({} != 0)", value.text);
  if (kind == CudaKind::integer && value.kind == CudaKind::real)
    return fmt::format("__float2int_rz({})", value.text);
  return fmt::format("({}){}", cuda_type(kind), value.text);
}

CudaValue cuda_number(double number, DType type) {
  const CudaKind kind = cuda_kind(type);
  if (kind == CudaKind::flag) return {number != 0 ? "true" : "false", kind};
  return {kind == CudaKind::real ? float_text(number) : int_text(number), kind};
}

CudaValue cuda_apply(ScalarOp op, std::vector<CudaValue> operands, bool fast) {
  std::vector<std::string> texts;
  if (op == ScalarOp::select) {
    const CudaKind kind = std::max(operands[1].kind, operands[2].kind);
    texts = {coerce(operands[0], CudaKind::flag), coerce(operands[1], kind), coerce(operands[2], kind)};
    return {filled(info(op).cuda, texts), kind};
  }
  const CudaKind kind = common_kind(op, operands);
  for (const CudaValue& value : operands) texts.push_back(coerce(value, kind));
  const std::string_view pattern = kind == CudaKind::real      ? fast ? fast_pattern(op) : info(op).cuda
                                   : kind == CudaKind::integer ? integer_pattern(op)
                                                               : flag_pattern(op);
  return {filled(pattern, texts), info(op).flag ? CudaKind::flag : kind};
}

}  // namespace smelt

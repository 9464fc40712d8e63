// Scalar operations as CUDA text. Values are computed as bool, int, long long or float; the CPU's code uses
// the same types.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "ir/ops/op.h"
#include "runtime/base/dtype.h"

namespace smelt {

/// The C++ type that a value is computed in: bool, int, long long or float, in this order.
enum class CudaKind : uint8_t { flag, integer, wide, real };

/// A value in the CUDA text, and the kind of its C++ type.
struct CudaValue {
  std::string text;
  CudaKind kind = CudaKind::real;
};

/// Returns the kind that elements of this type are computed in.
CudaKind cuda_kind(DType type);
/// Returns the kind's C++ type, such as "float".
std::string_view cuda_type(CudaKind kind);
/// Returns an expression as an operand: in parentheses, unless it is a name, a number, an element or a call.
std::string operand_text(const std::string& expression);
/// Returns an expression for the value converted to another kind: (float)v3, v3 != 0, ...
std::string coerce(const CudaValue& value, CudaKind kind);
/// Returns a literal of the kind of `type`.
CudaValue cuda_number(double number, DType type);
/// Returns `pattern` with {0}, {1}, ... replaced by the operands. Each other name in braces is replaced by
/// the text that `words` pairs with it. A pattern, such as "{0} / {1}", is the CUDA text of an operation in a
/// table such as scalar_ops.def.
std::string fill_pattern(std::string_view pattern, std::span<const std::string> operands,
                         std::initializer_list<std::pair<std::string_view, std::string>> words = {});
/// Returns a number of 32 bits, such as a mask of lanes, in hexadecimal if it has several digits.
std::string bits_text(uint32_t bits);
/// Returns op(operands), not in parentheses. The operands are first converted to a common kind. If `fast` and
/// the operation has an approximation, the approximation is used; its error is a few ulp. Callers set `fast`
/// for results that are rounded to fewer bits when they are stored.
CudaValue cuda_apply(ScalarOp op, std::span<const CudaValue> operands, bool fast);

}  // namespace smelt

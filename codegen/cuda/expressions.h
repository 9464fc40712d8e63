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

enum class CudaKind : uint8_t { flag, integer, wide, real };  // wide: an integer of 64 bits

struct CudaValue {
  std::string text;  // a name, a literal or an expression in parentheses
  CudaKind kind = CudaKind::real;
};

CudaKind cuda_kind(DType type);
std::string_view cuda_type(CudaKind kind);
/// Returns an expression for the value converted to another kind: (float)v3, (v3 != 0), ...
std::string coerce(const CudaValue& value, CudaKind kind);
/// Returns a literal of the kind of `type`.
CudaValue cuda_number(double number, DType type);
/// Returns `pattern`, the CUDA text of a row of a table such as scalar_ops.def, with {0}, {1}, ... replaced
/// by the operands. Each other name in braces is replaced by the text that `words` pairs with it.
std::string fill_pattern(std::string_view pattern, std::span<const std::string> operands,
                         std::initializer_list<std::pair<std::string_view, std::string>> words = {});
/// Returns op(operands), not in parentheses. The operands are first converted to a common kind. `fast`: uses
/// a shorter form with an error of some ulp, which is allowed if the result is rounded to fewer digits in
/// memory.
CudaValue cuda_apply(ScalarOp op, std::span<const CudaValue> operands, bool fast);

}  // namespace smelt

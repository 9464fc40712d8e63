// Scalar operations as CUDA text. Values are computed as bool, int, long long or float, as on the CPU.
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
  std::string text;  // a name, a literal or something in parentheses
  CudaKind kind = CudaKind::real;
};

CudaKind cuda_kind(DType type);
std::string_view cuda_type(CudaKind kind);
/// The value as another kind: (float)v3, v3 != 0, ...
std::string coerce(const CudaValue& value, CudaKind kind);
CudaValue cuda_number(double number, DType type);
/// A CUDA text of a table with its {0} {1} ... replaced by operands and its {words} by theirs.
std::string fill_pattern(std::string_view pattern, std::span<const std::string> operands,
                         std::initializer_list<std::pair<std::string_view, std::string>> words = {});
/// op(operands), after the operands are brought to one kind; not yet in parentheses. `fast` where an error of
/// some ulp is far below what memory keeps.
CudaValue cuda_apply(ScalarOp op, std::span<const CudaValue> operands, bool fast);

}  // namespace smelt

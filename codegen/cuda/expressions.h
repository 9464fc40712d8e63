// Scalar operations as CUDA text. Values are computed as bool, int or float, as on the CPU.
#pragma once

#include <string>
#include <vector>

#include "ir/op.h"
#include "runtime/dtype.h"

namespace smelt {

enum class CudaKind : uint8_t { flag, integer, real };

struct CudaValue {
  std::string text;  // a name, a literal or something in parentheses
  CudaKind kind = CudaKind::real;
};

CudaKind cuda_kind(DType type);
std::string_view cuda_type(CudaKind kind);
/// The value as another kind: (float)v3, v3 != 0, ...
std::string coerce(const CudaValue& value, CudaKind kind);
CudaValue cuda_number(double number, DType type);
/// op(operands), after the operands are brought to one kind; not yet in parentheses. `fast` where an error of
/// some ulp is far below what memory keeps.
CudaValue cuda_apply(ScalarOp op, std::vector<CudaValue> operands, bool fast);

}  // namespace smelt

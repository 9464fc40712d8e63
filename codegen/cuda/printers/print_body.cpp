#include "codegen/cuda/printers/print_body.h"

#include "codegen/cuda/printers/print_expression.h"
#include "codegen/cuda/printers/print_statements.h"

namespace smelt {

CudaBody print_body(const Kernel& kernel, const gpu::Expr& block) {
  const gpu::LoweredBody body = gpu::lower_body(kernel, block);
  std::vector<std::string> conditions;
  for (const gpu::Expr& condition : body.alignment_conditions) conditions.push_back(print(condition));
  return {&kernel, body.names, print(body.code, 1), conditions, body.shared_floats, body.shared_ints};
}

}  // namespace smelt

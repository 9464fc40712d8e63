// Thread IR -> CUDA C++: types and expressions.
#pragma once

#include "codegen/cuda/printers/cuda_language.h"
#include "codegen/printers/print_expression.h"

namespace smelt {

inline std::string cuda_type(const gpu::Type& type) { return type_text(type); }
inline std::string print(const gpu::Expr& expression) { return print(kCuda, expression); }
inline std::string print_list(std::span<const gpu::Expr> expressions) {
  return print_list(kCuda, expressions);
}
inline std::vector<std::string> operand_texts(std::span<const gpu::Expr> expressions) {
  return operand_texts(kCuda, expressions);
}

}  // namespace smelt

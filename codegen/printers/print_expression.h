// Thread IR -> C++ of GPUs: types and expressions. Operations have the text of their row in scalar_ops.def.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/gpu/thread_ir/expression.h"
#include "codegen/printers/language.h"

namespace smelt {

/// Returns the C++ type of an element in memory. A type that C++ does not have, such as bf16, is also the
/// name of the piece of the prelude that defines it.
std::string_view memory_type(DType type);
/// Returns the C++ type, such as "const float*"; of an array, that of its elements.
std::string type_text(const gpu::Type& type);
/// Returns the expression as C++.
std::string print(const Language& language, const gpu::Expr& expression);
/// Returns the expressions, separated by commas.
std::string print_list(const Language& language, std::span<const gpu::Expr> expressions);
/// Returns an expression as an operand: in parentheses, unless it is a name, a number, an element or a call.
std::string operand_text(const std::string& expression);
/// Returns the texts of the expressions as operands.
std::vector<std::string> operand_texts(const Language& language, std::span<const gpu::Expr> expressions);
/// Returns `pattern` with {0}, {1}, ... replaced by the operands. Each other name in braces is replaced by
/// the text that `words` pairs with it. A pattern, such as "{0} / {1}", is the text of an operation in a
/// table such as scalar_ops.def.
std::string fill_pattern(std::string_view pattern, std::span<const std::string> operands,
                         std::initializer_list<std::pair<std::string_view, std::string>> words = {});

}  // namespace smelt

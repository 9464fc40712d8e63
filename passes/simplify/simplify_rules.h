// The algebra of simplify: rules by op. A rule looks at one node and returns what stands for its (only)
// result, an operand or something newly built before the node; null where it does not apply.
#pragma once

#include "ir/analysis/uses.h"
#include "ir/builder.h"

namespace smelt {

using SimplifyRule = Value* (*)(GraphBuilder&, const Node&);

/// All rules for an op, in the order in which they are tried.
llvm::ArrayRef<SimplifyRule> simplify_rules(Op op);
llvm::ArrayRef<SimplifyRule> pointwise_rules();
llvm::ArrayRef<SimplifyRule> slice_rules();
llvm::ArrayRef<SimplifyRule> concat_rules();
llvm::ArrayRef<SimplifyRule> insert_rules();
llvm::ArrayRef<SimplifyRule> gather_rules();

/// The value of a constant that is one number everywhere.
std::optional<double> number_of(const Value* value);
inline bool is_number(const Value* value, double number) {
  const auto known = number_of(value);
  return known && *known == number;
}

}  // namespace smelt

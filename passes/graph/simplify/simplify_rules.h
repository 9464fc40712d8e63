// Algebraic rules of simplify, by op. A rule looks at one node and returns the replacement of its only
// result: an operand, or a value newly built before the node; null if the rule does not apply.
#pragma once

#include "ir/analysis/uses.h"
#include "ir/graph/builder.h"

namespace smelt {

using SimplifyRule = Value* (*)(GraphBuilder&, const Node&);

/// Returns all rules for an op, in the order in which they are tried.
llvm::ArrayRef<SimplifyRule> simplify_rules(Op op);
llvm::ArrayRef<SimplifyRule> pointwise_rules();
llvm::ArrayRef<SimplifyRule> slice_rules();
llvm::ArrayRef<SimplifyRule> concat_rules();
llvm::ArrayRef<SimplifyRule> insert_rules();
llvm::ArrayRef<SimplifyRule> gather_rules();

/// Returns the number of a constant whose elements are all equal.
std::optional<double> number_of(const Value* value);
inline bool is_number(const Value* value, double number) {
  const auto known = number_of(value);
  return known && *known == number;
}

}  // namespace smelt

// Algebraic rules of the pass simplify (simplify.h), by op. A rule examines one node and returns the value
// that replaces the node's only result: an existing value, or one that the rule builds before the node. It
// returns null if it does not apply.
#pragma once

#include "ir/analysis/uses.h"
#include "ir/graph/builder.h"

namespace smelt {

using SimplifyRule = Value* (*)(GraphBuilder&, const Node&);

/// Returns all rules for an op, in the order in which they are tried.
llvm::ArrayRef<SimplifyRule> simplify_rules(Op op);
/// Return the rules for pointwise ops, for slice, for concat, for insert and for gather. simplify_rules
/// collects them.
llvm::ArrayRef<SimplifyRule> pointwise_rules();
llvm::ArrayRef<SimplifyRule> slice_rules();
llvm::ArrayRef<SimplifyRule> concat_rules();
llvm::ArrayRef<SimplifyRule> insert_rules();
llvm::ArrayRef<SimplifyRule> gather_rules();

/// Returns the common value of all elements if the value is a constant whose elements are equal, else
/// nothing.
std::optional<double> number_of(const Value* value);
/// Returns whether the value is a constant whose elements are all `number`.
inline bool is_number(const Value* value, double number) {
  const auto known = number_of(value);
  return known && *known == number;
}

}  // namespace smelt

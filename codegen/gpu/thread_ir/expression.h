// Expressions of the thread IR: what one thread of a GPU computes without changing anything. An expression is
// an immutable tree with typed nodes; copies share it. The operators below build trees and fold nothing.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/gpu/thread_ir/type.h"
#include "ir/ops/op.h"

namespace smelt::gpu {

enum class BinaryOp : uint8_t {
  multiply,
  divide,
  remainder,
  add,
  subtract,
  shift_left,
  shift_right,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  unequal,
  bit_and,
  logical_and,
  logical_or,
};

/// Implementation of a scalar operation: exact, with an error of a few ulp, or the latter except near 0,
/// where the tangent at 0 is computed (Form::fast_tangent in ir/kernel/kernel.h).
enum class Precision : uint8_t { exact, fast, fast_tangent };

struct ExprNode;

/// A tree, or nothing.
class Expr {
 public:
  Expr() = default;
  /// A number of type int32.
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  Expr(Number number)  // NOLINT(google-explicit-constructor): i + 1 is the sum of two expressions
      : Expr(int32_number(static_cast<int64_t>(number))) {}
  explicit Expr(ExprNode node);

  explicit operator bool() const { return node_ != nullptr; }
  bool is_nothing() const { return node_ == nullptr; }
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode& operator*() const { return *node_; }
  const Type& type() const;
  Scalar scalar() const { return type().scalar; }
  /// Returns whether this is the number 0.
  bool is_zero() const;

 private:
  static Expr int32_number(int64_t number);

  std::shared_ptr<const ExprNode> node_;
};

struct ExprNode {
  enum class Kind : uint8_t {
    number,      // `real` if the type is real, otherwise `integer`
    variable,    // `name`
    thread,      // the number of the thread in its thread block
    block,       // the number of the thread block
    binary,      // `binary` of two operands
    negation,    // whether the operand is false
    difference,  // of two reals, rounded: never a part of a fused multiply-add
    choice,      // the second operand if the first is true, otherwise the third
    cast,        // the operand as `type`
    operation,   // `op` of scalar_ops.def; all operands have the type that it is computed in
    result,      // result `slot` of `reduce` of reduce_ops.def, from its state: the operands
    element,     // operands: an array or pointer, and an index
    load,        // the operand, an element in memory, as a number
    rounded,     // the operand rounded to the type `element` in memory, and widened again
    shuffled,    // operands: mask, value, distance; the value of the lane whose number differs in these bits
    argument,    // pointer `name` of the set that the thread block's row in the grid selects (Launch::copies)
    call,        // a device function `name` of the operands; `constants` are known at compile time
  };
  Kind kind = Kind::number;
  Type type = Scalar::int32;
  std::vector<Expr> operands = {};
  int64_t integer = 0;
  double real = 0;
  std::string name = {};
  BinaryOp binary{};
  ScalarOp op{};
  Precision precision = Precision::exact;
  ReduceOp reduce{};
  int slot = 0;
  DType element{};
  std::vector<Expr> constants = {};
};

// ---- leaves
Expr number(int64_t value, Scalar type);
Expr real_number(double value);
Expr bits(uint32_t value);
Expr variable(std::string name, Type type);
Expr thread_number();
Expr block_number();

// ---- trees
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator%(const Expr& a, const Expr& b);
Expr operator<<(const Expr& a, const Expr& b);
Expr operator>>(const Expr& a, const Expr& b);
Expr operator&(const Expr& a, const Expr& b);
Expr operator<(const Expr& a, const Expr& b);
Expr operator<=(const Expr& a, const Expr& b);
Expr operator>(const Expr& a, const Expr& b);
Expr operator>=(const Expr& a, const Expr& b);
Expr operator==(const Expr& a, const Expr& b);
Expr operator!=(const Expr& a, const Expr& b);
Expr operator!(const Expr& a);
/// Returns the conjunction of the conditions; a condition that is nothing always holds. Returns nothing if
/// both are.
Expr operator&&(const Expr& a, const Expr& b);
Expr operator||(const Expr& a, const Expr& b);
Expr rounded_difference(const Expr& a, const Expr& b);
Expr choice(const Expr& condition, const Expr& then, const Expr& otherwise);
Expr cast(const Expr& value, const Type& type);
/// Returns the same expression with another type of the same representation.
Expr retyped(const Expr& value, const Type& type);
Expr element(const Expr& array, const Expr& index);
Expr load(const Expr& element);
Expr rounded(const Expr& value, DType element);
Expr shuffled(const Expr& mask, const Expr& value, const Expr& distance);
Expr argument_of_copy(std::string name, const Type& type);
Expr call(std::string name, std::vector<Expr> operands, const Type& type, std::vector<Expr> constants = {});

/// Returns whether two trees compute the same from the same variables, by the same operations.
bool same_tree(const Expr& a, const Expr& b);

/// Calls visit(node) for the nodes of a tree, operands first.
template <typename Visit>
void visit_nodes(const Expr& tree, const Visit& visit) {
  if (tree.is_nothing()) return;
  for (const Expr& constant : tree->constants) visit_nodes(constant, visit);
  for (const Expr& operand : tree->operands) visit_nodes(operand, visit);
  visit(*tree);
}

}  // namespace smelt::gpu

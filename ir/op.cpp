#include "ir/op.h"

#include <array>

namespace smelt {
namespace {

constexpr unsigned none = Trait::none, leaf = Trait::leaf, view = Trait::view, fusable = Trait::fusable,
                   effect = Trait::effect, composite = Trait::composite, declared = Trait::declared,
                   region = Trait::region;

constexpr OpInfo kOps[] = {
#define SMELT_OP(name, fewest, most, traits, rule) {#name, fewest, most, traits},
#include "ir/ops.def"
};

constexpr bool same = false, flag = true;
constexpr bool has_derivatives(std::string_view text) { return text != "none"; }
constexpr ScalarOpInfo kScalarOps[] = {
#define SMELT_SCALAR_OP(name, arity, result, reference, cuda, ...) \
  {#name, arity, result, cuda, has_derivatives(#__VA_ARGS__)},
#include "ir/scalar_ops.def"
};

constexpr ReduceOpInfo kReduceOps[] = {
#define SMELT_REDUCE_OP(name, results, types, text) {#name, results, types},
#include "ir/reduce_ops.def"
};

template <typename E, typename Table>
std::optional<E> find(const Table& table, std::string_view name) {
  for (size_t i = 0; i < std::size(table); ++i)
    if (table[i].name == name) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace

const OpInfo& info(Op op) { return kOps[static_cast<size_t>(op)]; }
const ScalarOpInfo& info(ScalarOp op) { return kScalarOps[static_cast<size_t>(op)]; }
const ReduceOpInfo& info(ReduceOp op) { return kReduceOps[static_cast<size_t>(op)]; }
std::optional<Op> parse_op(std::string_view name) { return find<Op>(kOps, name); }
std::optional<ScalarOp> parse_scalar_op(std::string_view name) { return find<ScalarOp>(kScalarOps, name); }
std::optional<ReduceOp> parse_reduce_op(std::string_view name) { return find<ReduceOp>(kReduceOps, name); }

bool is_dear(ScalarOp op) {
  switch (op) {
    case ScalarOp::exp:
    case ScalarOp::expm1:
    case ScalarOp::log:
    case ScalarOp::log1p:
    case ScalarOp::tanh:
    case ScalarOp::sigmoid:
    case ScalarOp::erf:
    case ScalarOp::sin:
    case ScalarOp::cos:
      return true;
    default:
      return false;
  }
}

}  // namespace smelt

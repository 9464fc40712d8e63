#include "ir/ops/op.h"

#include <algorithm>

namespace smelt {
namespace {

constexpr unsigned none = Trait::none, leaf = Trait::leaf, view = Trait::view, fusable = Trait::fusable,
                   effect = Trait::effect, composite = Trait::composite, declared = Trait::declared,
                   region = Trait::region;

constexpr OpInfo kOps[] = {
#define SMELT_OP(name, fewest, most, traits, rule, description, ...) \
  {#name, fewest, most, traits, description},
#include "ir/ops/ops.def"
};

// ---- scalar operations

#define SMELT_ARITY(name, arity) constexpr int arity_of_##name = arity;
SMELT_SCALAR_OPS(SMELT_ARITY)
#undef SMELT_ARITY

constexpr bool has_derivatives(std::string_view text) { return text != "none"; }

constexpr std::array kScalarOps = [] {
  using enum Domain;
  using enum NonNegative;
  return std::array{
#define SMELT_SCALAR_OP(row, reference, derivatives, ...) \
  ScalarOpInfo{                                           \
      .name = #row, .arity = arity_of_##row, .differentiable = has_derivatives(#derivatives), __VA_ARGS__},
#include "ir/ops/scalar_ops.def"
  };
}();

// ---- reductions

constexpr std::array kReduceOps = [] {
  using enum Domain;
  using enum ReduceType;
  return std::array{
#define SMELT_REDUCE_OP(row, identity, lift, combine, finish, ...) ReduceOpInfo{.name = #row, __VA_ARGS__},
#include "ir/ops/reduce_ops.def"
  };
}();

// ---- names

#define SMELT_TEXT(name, ...) #name,
constexpr std::string_view kScalarNames[] = {SMELT_SCALAR_OPS(SMELT_TEXT)};
constexpr std::string_view kReduceNames[] = {SMELT_REDUCE_OPS(SMELT_TEXT)};
#undef SMELT_TEXT

constexpr std::string_view name_of(const auto& row) { return row.name; }
static_assert(std::ranges::equal(kScalarOps, kScalarNames, {}, name_of<ScalarOpInfo>),
              "rows of ir/ops/scalar_ops.def stand in the order of SMELT_SCALAR_OPS in ir/ops/op_names.h");
static_assert(std::ranges::equal(kReduceOps, kReduceNames, {}, name_of<ReduceOpInfo>),
              "rows of ir/ops/reduce_ops.def stand in the order of SMELT_REDUCE_OPS in ir/ops/op_names.h");

constexpr bool is_well_formed(const ReduceOpInfo& row) {
  return row.state[0] == ReduceType::element && row.results.size() <= row.state.size() &&
         std::ranges::equal(row.results.begin(), row.results.end(), row.state.begin(),
                            row.state.begin() + row.results.size());
}
static_assert(std::ranges::all_of(kReduceOps, is_well_formed),
              "the types of a reduction's results are the first of its state, which begins with an element");

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

}  // namespace smelt

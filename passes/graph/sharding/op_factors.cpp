#include "passes/graph/sharding/op_factors.h"

#include "llvm/ADT/STLExtras.h"
#include "passes/graph/sharding/body_factors.h"

namespace smelt {

int OpFactors::leading(llvm::ArrayRef<int> dim) const {
  for (const int factor : dim)
    if (!factors[static_cast<size_t>(factor)].size.is_one()) return factor;
  return -1;
}

bool OpFactors::can_cut(int factor, int64_t parts) const {
  const Factor& f = factors[static_cast<size_t>(factor)];
  if (f.kind == Factor::Kind::whole || !smelt::can_cut(f.size, parts)) return false;
  const auto fits = [&](llvm::ArrayRef<int> dim) {
    return !llvm::is_contained(dim, factor) || leading(dim) == factor;
  };
  const auto all = [&](const DimFactors& dims) { return llvm::all_of(dims, fits); };
  return llvm::all_of(operands, all) && llvm::all_of(results, all) &&
         llvm::all_of(inside, [&](const auto& value) { return all(value.second); });
}

namespace {

using Kind = Factor::Kind;

/// Nodes that partition builds by the shardings of states and ports, and composites that ranks cannot compute
/// from parts alone (channel groups, draws): all have to be decomposed or built before.
bool is_never_cut(const Node& node) {
  const OpInfo& row = info(node.op());
  if (row.has(Trait::effect) || (row.has(Trait::leaf) && !row.has(Trait::fusable))) return true;
  return llvm::is_contained({Op::pack, Op::collective, Op::einsum, Op::strided_slice, Op::pad, Op::conv,
                             Op::sort, Op::dropout, Op::custom_vjp},
                            node.op());
}

/// Results that ranks can combine, though no sums.
bool can_join(const Node& node) {
  return node.is(ReduceOp::max) || node.is(ReduceOp::min) || node.is(ReduceOp::max_sumexp);
}

Kind kind_of(const Node& node, DimRelation relation) {
  switch (relation) {
    case DimRelation::carried:
      return Kind::carried;
    case DimRelation::counted:
      return Kind::placed;
    case DimRelation::summed:  // every rank would add a bias
      return node.is(Op::linear) && node.operands().size() == 3 ? Kind::whole : Kind::summed;
    case DimRelation::reduced:
      return can_join(node) ? Kind::joined : Kind::whole;
    case DimRelation::looked_up:
      return Kind::looked_up;
    case DimRelation::placed:  // ranks leave out the indices of others' rows; offsets would need neighbours
      return node.is(Op::scatter) || node.is(Op::scatter_add) ? Kind::looked_up : Kind::whole;
    case DimRelation::whole:
      return Kind::whole;
  }
  llvm_unreachable("every relation has a case");
}

/// Factors that ranks treat otherwise in this operation than its dims alone say.
void adjust(const Node& node, OpFactors& made) {
  const auto set = [&](const auto& dim, Kind kind) {
    for (const int factor : dim) made.factors[static_cast<size_t>(factor)].kind = kind;
  };
  // A kernel of attention goes over all keys, and computes whole heads.
  if (node.is(Op::attention) || node.is(Op::attention_grad))
    for (const size_t dim : {1, 3}) set(made.operands[2][dim], Kind::whole);
  // Parts of the indices would be those of other parts of the value.
  if (node.is(Op::insert))
    for (const DimFactors& index : llvm::drop_begin(made.operands, 2))
      for (const auto& dim : index) set(dim, Kind::whole);
  // A slice of all of an axis moves nothing.
  if (node.is(Op::slice))
    for (const auto& [i, dim] : llvm::enumerate(made.operands[0]))
      if (node.operand(0)->shape()[i] == node.result()->shape()[i]) set(dim, Kind::carried);
}

}  // namespace

OpFactors factors_of(const Node& node) {
  OpDims dims = op_dims(node);
  OpFactors made;
  for (const DimFactor& factor : dims.factors)
    made.factors.push_back({is_never_cut(node) ? Kind::whole : kind_of(node, factor.relation), factor.size});
  made.operands = std::move(dims.operands), made.results = std::move(dims.results);
  adjust(node, made);
  if (node.body) add_body(node, dims.handed, made);
  return made;
}

}  // namespace smelt

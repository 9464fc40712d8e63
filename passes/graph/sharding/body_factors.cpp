#include "passes/graph/sharding/body_factors.h"

#include "ir/graph/body.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using Kind = Factor::Kind;

/// Factors that turn out to be one are joined; each has a representative.
class JoinedFactors {
 public:
  explicit JoinedFactors(OpFactors& made) : made_(made) {}

  /// Adds the factors of a node in the body, as its part of a kernel can compute them, to the list.
  OpFactors import(const Node& inner) {
    OpFactors own = factors_of(inner);
    const auto first = static_cast<int>(made_.factors.size());
    for (Factor factor : own.factors) {
      factor.kind = kind_in_body(inner, factor.kind);
      made_.factors.push_back(std::move(factor));
    }
    const auto renumber = [&](DimFactors& dims) {
      for (auto& dim : dims)
        for (int& factor : dim) factor += first;
    };
    llvm::for_each(own.operands, renumber), llvm::for_each(own.results, renumber);
    return own;
  }

  DimFactors fresh(const Shape& shape) {
    DimFactors dims;
    for (const Dim& size : shape) {
      made_.factors.push_back({Kind::carried, size});
      dims.push_back({static_cast<int>(made_.factors.size()) - 1});
    }
    return dims;
  }

  /// Two descriptions of one value: they can be cut where both can.
  void join(const DimFactors& a, const DimFactors& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      const int x = made_.leading(a[i]), y = made_.leading(b[i]);
      for (const auto* dim : {&a[i], &b[i]})
        for (const int factor : *dim)
          if (factor != x && factor != y) at(factor).kind = Kind::whole;
      if (x >= 0 && y >= 0) join(x, y);
    }
  }

  /// Every factor by its representative.
  void resolve() {
    const auto all = [&](DimFactors& dims) {
      for (auto& dim : dims)
        for (int& factor : dim) factor = find(factor);
    };
    for (DimFactors& dims : made_.operands) all(dims);
    for (DimFactors& dims : made_.results) all(dims);
    for (auto& value : made_.inside) all(value.second);
  }

 private:
  int find(int factor) {
    const auto it = parent_.find(factor);
    return it == parent_.end() ? factor : it->second = find(it->second);
  }
  Factor& at(int factor) { return made_.factors[static_cast<size_t>(find(factor))]; }

  void join(int a, int b) {
    a = find(a), b = find(b);
    if (a == b) return;
    Factor joined = at(a);
    const Factor& other = at(b);
    // Blocks of the larger are blocks of the smaller where that divides it.
    if (joined.size.divide(other.size))
      joined.size = other.size;
    else if (!other.size.divide(joined.size))
      joined.kind = Kind::whole;
    if (other.kind != Kind::carried && joined.kind != Kind::whole) joined.kind = other.kind;
    at(a) = joined;
    parent_[b] = a;
  }

  /// A kernel has its own part alone: rows of tables, places and reductions that others take part in are
  /// whole, but for a sum that the node returns.
  static Kind kind_in_body(const Node& inner, Kind kind) {
    if (inner.body) return Kind::whole;
    if (kind == Kind::summed) {
      const bool returned = inner.is(Op::reduce) && inner.result()->users().empty();
      return returned ? Kind::summed : Kind::whole;
    }
    if (kind == Kind::placed && inner.is(Op::random)) return Kind::carried;
    return kind == Kind::carried ? Kind::carried : Kind::whole;
  }

  OpFactors& made_;
  llvm::DenseMap<int, int> parent_;
};

bool has_factor(const DimFactors& dims, int factor) {
  return llvm::any_of(dims, [&](const auto& dim) { return llvm::is_contained(dim, factor); });
}

/// A returned value without a summed factor is a sum over it, or all ranks need the factor whole.
void require_sums(const Value& returned, OpFactors& made) {
  const Node& node = *returned.node();
  const auto runs_through = [&](const Value& value, int factor) {
    return has_factor(made.inside.find(&value)->second, factor);
  };
  for (size_t f = 0; f < made.factors.size(); ++f) {
    const auto factor = static_cast<int>(f);
    if (made.factors[f].kind != Kind::summed || runs_through(returned, factor)) continue;
    if (!node.is(ReduceOp::add) || !runs_through(*node.operand(0), factor))
      made.factors[f].kind = Kind::whole;
  }
}

}  // namespace

void add_body(const Node& node, llvm::ArrayRef<DimFactors> handed, OpFactors& made) {
  JoinedFactors joined(made);
  const auto inputs = node.body->inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value* input = inputs[i]->result();
    made.inside[input] = i < handed.size() ? handed[i] : joined.fresh(input->shape());
  }
  for (const auto& inner : node.body->nodes()) {
    if (inner->is(Op::input)) continue;
    const OpFactors own = joined.import(*inner);
    for (unsigned i = 0; i < inner->operands().size(); ++i)
      joined.join(made.inside.find(inner->operand(i))->second, own.operands[i]);
    for (unsigned i = 0; i < inner->result_count(); ++i) made.inside[inner->result(i)] = own.results[i];
  }
  const size_t first = own_operands(node).size(), arguments = inputs.size() - handed.size();
  for (size_t i = 0; i < arguments; ++i)
    made.operands[first + i] = made.inside.find(inputs[handed.size() + i]->result())->second;
  // Results are the last outputs; values that an operation takes back from its body have the factors of those
  // that it passed to it.
  const auto& outputs = node.body->outputs;
  const bool returns = returns_its_body(node.op());
  const size_t taken = returns ? 0 : node.is(Op::attention_grad) ? 2 : outputs.size();
  for (size_t i = 0; i < taken; ++i) joined.join(handed[0], made.inside.find(outputs[i].value)->second);
  const size_t result = made.results.size() - (outputs.size() - taken);
  for (size_t i = taken; i < outputs.size(); ++i)
    made.results[result + i - taken] = made.inside.find(outputs[i].value)->second;
  joined.resolve();
  for (size_t i = taken; i < outputs.size(); ++i) require_sums(*outputs[i].value, made);
}

}  // namespace smelt

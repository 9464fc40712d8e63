// Assignment of mesh axes to the factors of an operation, given the shardings of its operands and results.
#pragma once

#include <memory>

#include "passes/graph/sharding/op_factors.h"

namespace smelt {

/// Known shardings of the operands and results of a node; null: unknown.
struct KnownShardings {
  llvm::SmallVector<const Sharding*, 4> operands;
  llvm::SmallVector<const Sharding*, 2> results;
};

/// Assignment of one node: how its ranks compute it.
struct Assignment {
  std::shared_ptr<const OpFactors> factors;
  std::vector<std::vector<size_t>> axes;  // per factor the mesh axes that cut it, outermost first

  /// Return the required sharding of an operand (no partial sums) and the resulting sharding of a result.
  Sharding operand(unsigned i) const;
  Sharding result(unsigned i) const;
  bool uses(size_t axis) const;
  /// Returns the sharding of a value in the node's body.
  Sharding inside(const Value& value) const { return sharding(factors->inside.find(&value)->second); }

 private:
  Sharding sharding(const DimFactors& dims) const;
};

using Assignments = llvm::DenseMap<const Node*, Assignment>;

/// Assigns axes node by node, and caches factors and sizes in between.
class AxisAssigner {
 public:
  /// Assigns every axis that cuts an operand or result to the factor that moves the fewest bytes between
  /// ranks. An axis is omitted if it cuts none of the factors that can be cut. `cost`, if given, receives the
  /// number of bytes that move.
  Assignment assign(const Node& node, const KnownShardings& known, double* cost = nullptr);
  /// Records that the value also has the sharding `to` from now on, at no cost for nodes of this phase except
  /// `by`, which moves it.
  void add_move(const Value& value, Sharding to, Phase phase, const Node* by = nullptr);
  void drop_move(const Value& value) { moves_[&value].pop_back(); }
  bool is_there(const Node& node, const Value& value, const Sharding& sharding) const;
  double bytes(const Value& value);

 private:
  struct Move {
    Sharding to;
    Phase phase;
    const Node* by;
  };
  llvm::DenseMap<const Value*, std::vector<Move>> moves_;
  llvm::DenseMap<const Node*, std::shared_ptr<const OpFactors>> factors_;
  llvm::DenseMap<const Value*, double> bytes_;
};

Sharding replicated(int64_t rank);
/// Returns the bytes of the whole value at the symbols' bounds.
double whole_bytes(const Value& value);
/// Bytes whose transfer takes as long as the latency of a message (between GPUs of a host, messages up to 4
/// MiB are equally slow).
inline constexpr double kLatencyBytes = 4 << 20;
/// Returns the approximate number of bytes that one rank receives when a value of `bytes` bytes goes from one
/// sharding to another, plus its copies within its memory, converted to bytes that take as long over a link.
double moved_bytes(double bytes, const Sharding& from, const Sharding& to, const Mesh& mesh);

}  // namespace smelt

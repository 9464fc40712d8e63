// Which axes of the mesh cut which factors of an operation, given how its operands and results lie on the
// ranks.
#pragma once

#include <memory>

#include "passes/sharding/op_factors.h"

namespace smelt {

/// What is known of the operands and results of a node; null: nothing is.
struct KnownShardings {
  llvm::SmallVector<const Sharding*, 4> operands;
  llvm::SmallVector<const Sharding*, 2> results;
};

/// One node as its ranks compute it.
struct Assignment {
  std::shared_ptr<const OpFactors> factors;
  std::vector<std::vector<size_t>> axes;  // that cut each factor, the outermost first

  /// How operands must lie (no partial sums), and how results then do.
  Sharding operand(unsigned i) const;
  Sharding result(unsigned i) const;
  bool uses(size_t axis) const;
  /// Of a value in the node's body.
  Sharding inside(const Value& value) const { return sharding(factors->inside.find(&value)->second); }

 private:
  Sharding sharding(const DimFactors& dims) const;
};

using Assignments = llvm::DenseMap<const Node*, Assignment>;

/// Assigns axes node by node, and remembers what does not change meanwhile.
class AxisAssigner {
 public:
  /// Every axis that cuts a value here goes to the factor that moves the fewest bytes between ranks; one that
  /// cuts none of the factors that can be cut is left out. `cost`, if given, gets how many bytes move.
  Assignment assign(const Node& node, const KnownShardings& known, double* cost = nullptr);
  /// From now on the value lies like this, too, for nodes of this phase but `by`, which moves it: for
  /// nothing.
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
/// Bytes of the whole value at the symbols' bounds.
double whole_bytes(const Value& value);
/// A short message takes as long as one of so many bytes (between GPUs of a host up to 4 MiB are as slow).
inline constexpr double kLatencyBytes = 4 << 20;
/// About how many bytes a rank receives when a value of so many bytes goes from one sharding to another, and
/// what it copies for that within its memory, as the bytes that take as long over a link.
double moved_bytes(double bytes, const Sharding& from, const Sharding& to, const Mesh& mesh);

}  // namespace smelt

// Storage classes: sets of f32 values that must have one type in memory, such as a view and its operand, a
// concat and its operands, or a matmul's result and the matrix that its epilogue adds. All values of a class
// are stored either narrow (as bf16 or f16) or wide (as f32):
//
//   narrow   operands of matmuls, activations and their gradients, parameters that are multiplied or gathered
//   wide     statistics (sums over rows, and functions of such sums alone), scalars, values of the update
//            phase, operands of sorts and scans, states and inputs in f32, outputs that no computation reads
#pragma once

#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// Storage classes of the values of one graph.
class StorageClasses {
 public:
  /// Finds the classes. Runs after fuse. The classes of inputs in `narrow_inputs` are narrow. An output that
  /// a pipeline stage retains (runtime/plan/retained_ports.h) does not make its class wide.
  /// `same_bits`: see AssignPrecisionOptions.
  explicit StorageClasses(const Graph& graph, const llvm::DenseSet<const Value*>& narrow_inputs = {},
                          bool same_bits = false);
  /// Returns whether the value is f32 and should be stored narrow.
  bool is_narrow(const Value* value) const;

 private:
  /// Constraints of one class. `must_be_narrow` has priority over `must_be_wide`, which has priority over
  /// `narrow`.
  struct Constraints {
    bool must_be_narrow = false, must_be_wide = false;  // for example, a state fixes the type
    bool narrow = false;                                // contains an activation or an operand of a matmul
    bool read = false, shown = false;                   // a computation reads it; an output returns it
  };
  /// Returns whether the value has a class: only f32 values do.
  bool takes_part(const Value* value) const { return numbers_.contains(value); }
  int find(int number) const;
  void unite(const Value* a, const Value* b);
  Constraints& constraints(const Value* value) { return constraints_[find(numbers_.lookup(value))]; }
  void number_values();
  void join(const Node& node);
  /// Adds the constraints of the node on its operands and results.
  void add(const Node& node);
  void add_body(const Node& node);
  void add_parameter(const Node& parameter);
  void add_attention(const Node& attention);
  void add_update(const Node& update);
  /// Makes the class of an operand of a sort or scan wide, and the classes of the values that fusions compute
  /// it from.
  void keep_exact(const Value* value);

  const Graph& graph_;
  const llvm::DenseSet<const Value*> narrow_inputs_;
  const bool same_bits_;
  llvm::DenseSet<const Value*> forward_;  // forward_values of the graph, if same_bits_
  llvm::DenseMap<const Value*, int> numbers_;
  mutable std::vector<int> parent_;       // union-find of values' numbers
  std::vector<Constraints> constraints_;  // by the number of the class
  llvm::DenseSet<const Value*> exact_;    // values that keep_exact has visited
  /// Whether a value depends on inputs or parameters, other than through reductions.
  llvm::DenseMap<const Value*, bool> activation_;
};

}  // namespace smelt

// Storage classes: sets of values in memory that must have one type (a view and its operand, a concat and its
// parts, a matmul's result and the matrix it is added to). A class is narrow or wide as a whole.
//
//   narrow   operands of matmuls, activations and their gradients, parameters that are multiplied or gathered
//   wide     statistics (sums over rows and functions of these alone), scalars, values of the update, states
//            and inputs in f32, outputs without another reader
#pragma once

#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

class StorageClasses {
 public:
  /// Finds the classes. Runs after fuse. Inputs in `narrow_inputs` are narrow, which determines their
  /// classes. Outputs that a pipeline stage retains (retained_ports.h) have the type that their readers see.
  explicit StorageClasses(const Graph& graph, const llvm::DenseSet<const Value*>& narrow_inputs = {});
  /// Returns whether an f32 value is to be stored narrow.
  bool is_narrow(const Value* value) const;

 private:
  struct Constraints {
    bool must_be_narrow = false, must_be_wide = false;  // a state of that type
    bool narrow = false;                                // an activation, or multiplied
    bool read = false, shown = false;                   // by a computation; as an output
  };
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
  void keep_exact(const Value* value);

  const Graph& graph_;
  const llvm::DenseSet<const Value*> narrow_inputs_;
  llvm::DenseMap<const Value*, int> numbers_;
  mutable std::vector<int> parent_;
  std::vector<Constraints> constraints_;
  llvm::DenseSet<const Value*> exact_;
  llvm::DenseMap<const Value*, bool> activation_;  // depends on data other than by statistics
};

}  // namespace smelt

// Which of the values in memory are stored narrow. Values that must have one type (a view and its operand, a
// concat and its parts, a matmul's result and the matrix it is added to) form a class, and a class is stored
// in one way.
//
//   narrow   what is multiplied, activations and their gradients, parameters that are multiplied or gathered
//   wide     statistics (sums over rows and what is computed of them alone), scalars, values of the update,
//            states and inputs in f32, outputs that nobody else reads
#pragma once

#include "ir/graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

class StorageClasses {
 public:
  /// Runs after fuse. `narrow_inputs` come narrow, which decides on their classes; outputs that a stage of a
  /// pipeline keeps (kept_ports.h) are as others see them.
  explicit StorageClasses(const Graph& graph, const llvm::DenseSet<const Value*>& narrow_inputs = {});
  /// An f32 value that is to be stored narrow.
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
  /// Adds what the node requires of its operands and results.
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

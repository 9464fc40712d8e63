// Builder of nodes with inferred types, for writing graphs in C++ and for passes.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns the result types of an op on operands, from ops.def's type rule; throws Error with the expected
/// types. `declared` is the written type of ops with the declared trait (checked against the rule), empty for
/// others. `scalar` and `reduce` matter only to pointwise and reduce. `body`: the node's body, if it has one,
/// whose inputs are checked and whose outputs are the results.
std::vector<Type> infer_types(Op op, ScalarOp scalar, ReduceOp reduce, llvm::ArrayRef<Value*> operands,
                              const Attributes& attributes, llvm::ArrayRef<Type> declared,
                              const Graph* body = nullptr);
/// Returns the input types of a body on an op of the trait `region`: the values that the op computes from its
/// own operands, then the arguments. Throws Error as infer_types does.
std::vector<Type> infer_body_inputs(Op op, llvm::ArrayRef<Value*> own, llvm::ArrayRef<Value*> arguments,
                                    const Attributes& attributes);

class GraphBuilder {
 public:
  /// Inserts before `before`; at the end when it is null.
  explicit GraphBuilder(Graph& graph, Node* before = nullptr) : graph_(&graph), before_(before) {}

  Graph& graph() const { return *graph_; }
  Module& module() const { return graph_->module(); }
  void insert_before(Node* node) { before_ = node; }
  /// Returns the node before which new nodes are inserted; null: at the end.
  Node* place() const { return before_; }
  /// Sets the source name of following nodes.
  void set_source(std::string source) { source_ = std::move(source); }
  const std::string& source() const { return source_; }

  /// Creates a node of any op; `declared` is needed for ops with the declared trait.
  Node* create(Op op, llvm::ArrayRef<Value*> operands, Attributes attributes = {},
               llvm::ArrayRef<Type> declared = {});
  /// Creates a node with a body: `operands` are the op's own, then the body's arguments (ir/graph/body.h).
  Node* create(Op op, llvm::ArrayRef<Value*> operands, Attributes attributes, std::unique_ptr<Graph> body);

  // ---- leaves
  Value* input(std::string name, Type type);
  /// Declares the parameter in the module on first use; later uses must agree.
  Value* parameter(const Module::Parameter& parameter);
  Value* parameter(std::string_view name);
  Value* state(std::string_view name);
  Value* constant(double value, Type type);
  Value* scalar(double value, DType dtype = DType::f32) { return constant(value, {dtype, {}}); }
  Value* table(std::vector<double> values, Type type);
  Value* iota(Type type, int64_t axis);
  Value* random(Shape shape, uint32_t id);
  /// Returns an extent as a scalar: a constant, or a sum of ones along it if it is known only at launch.
  Value* extent(const Dim& extent, DType dtype);

  // ---- pointwise; operands of unequal shape are not broadcast: see `broadcast` and `like`
  Value* pointwise(ScalarOp op, llvm::ArrayRef<Value*> operands);
#define SMELT_MEMBER(name, arity)                                       \
  template <typename... V>                                              \
  Value* name(V*... values) {                                           \
    static_assert(sizeof...(V) == arity);                               \
    return pointwise(ScalarOp::name, {static_cast<Value*>(values)...}); \
  }
  SMELT_SCALAR_OPS(SMELT_MEMBER)
#undef SMELT_MEMBER
  /// Returns a constant of the type (element type and shape) of `of`.
  Value* like(Value* of, double value) { return constant(value, of->type); }
  Value* convert(Value* value, DType dtype);

  // ---- shape
  Value* broadcast(Value* value, std::vector<int64_t> axes, Shape shape);
  /// Inserts dims of size `shape[axis]` at the given axes of the result, to `shape`.
  Value* broadcast_over(Value* value, std::vector<int64_t> new_axes, const Shape& shape);
  /// Broadcasts over leading dims to `shape` (numpy's rule without size-1 dims).
  Value* broadcast_leading(Value* value, const Shape& shape);
  Value* reshape(Value* value, Shape shape);
  Value* transpose(Value* value, std::vector<int64_t> permutation);
  Value* slice(Value* value, int64_t axis, Dim begin, Dim length);
  /// Returns every step-th element along the axis from `begin` on.
  Value* strided_slice(Value* value, int64_t axis, Dim begin, int64_t step, Dim length);
  /// Returns windows of `size` elements each, `dilation` apart, one every `step` (ir/ops/windows.h).
  Value* windows(Value* value, int64_t axis, int64_t size, int64_t step = 1, int64_t dilation = 1);
  Value* concat(llvm::ArrayRef<Value*> values, int64_t axis);
  /// Adds `low` elements of `number` before and `high` after the axis.
  Value* pad(Value* value, int64_t axis, Dim low, Dim high, double number = 0);

  // ---- reductions and the rest
  Value* reduce(ReduceOp op, Value* value, std::vector<int64_t> axes);
  Node* reduce_node(ReduceOp op, Value* value, std::vector<int64_t> axes);
  Value* sum(Value* value, std::vector<int64_t> axes) {
    return reduce(ReduceOp::add, value, std::move(axes));
  }
  Value* gather(Value* table, Value* indices, int64_t axis = 0);
  Value* scatter_add(Value* init, Value* indices, Value* updates, int64_t axis = 0);
  Value* scatter(Value* init, Value* indices, Value* updates, int64_t axis = 0);
  Value* matmul(Value* a, Value* b, std::string spec);
  /// Function that writes a body: it receives the inputs and returns the result.
  using MakeBody = llvm::function_ref<Value*(GraphBuilder&, llvm::ArrayRef<Value*> inputs)>;
  /// Creates a matmul with a body: its inputs are the accumulator in f32 and a value for each argument.
  Value* matmul(Value* a, Value* b, std::string spec, llvm::ArrayRef<Value*> arguments, MakeBody make);
  /// Builds an einsum of one or two operands, "abc->ca" or "iikz,kml->mi": letters may repeat, or be summed
  /// alone.
  Value* einsum(llvm::ArrayRef<Value*> operands, std::string spec);
  Value* scan(std::string kind, Value* value, int64_t axis, bool exclusive = false);
  /// Creates a top_k: values and, as result 1, indices.
  Node* top_k(Value* value, int64_t k);
  Node* sort(Value* value, bool descending = false);
  /// Creates a sample: a token of each row of scores and, as result 1, its log-probability.
  Node* sample(Value* scores, Value* numbers, Value* integers);
  /// Inserts `value` into x at index operands, one per axis (ir/graph/insertion.h).
  Value* insert(Value* x, Value* value, llvm::ArrayRef<Value*> indices, std::vector<int64_t> axes);
  Node* update(std::string_view state, Value* value);
  Node* update_at(std::string_view state, Value* value, llvm::ArrayRef<Value*> indices,
                  std::vector<int64_t> axes);
  Value* stop_gradient(Value* value);

  void output(std::string name, Value* value) { graph_->outputs.push_back({std::move(name), value}); }

 private:
  Graph* graph_;
  Node* before_;
  std::string source_;
};

}  // namespace smelt

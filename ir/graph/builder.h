// Builder of nodes with inferred types, for frontends and passes that write graphs in C++. ir/ops/ops.def
// defines the operations.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns the result types of an op on operands, by the op's type rule in ops.def. Throws Error, with the
/// expected types, if operands, attributes or types do not fit. `declared` has the result type for ops with
/// the trait `declared`, and is empty for other ops. This function checks the declared type. `scalar` is read
/// only for Op::pointwise, and `reduce` only for Op::reduce. `body`: the node's body, whose inputs are
/// checked and whose outputs are the results; null: none.
std::vector<Type> infer_types(Op op, ScalarOp scalar, ReduceOp reduce, llvm::ArrayRef<Value*> operands,
                              const Attributes& attributes, llvm::ArrayRef<Type> declared,
                              const Graph* body = nullptr);
/// Returns the input types of a body for an op with the trait `region`. The types of the block arguments come
/// first; the op computes these values from its own operands `own`. The types of the body's `arguments`
/// follow (ir/graph/body.h). Throws the Errors of infer_types.
std::vector<Type> infer_body_inputs(Op op, llvm::ArrayRef<Value*> own, llvm::ArrayRef<Value*> arguments,
                                    const Attributes& attributes);

/// Inserts nodes into a graph at one position. Functions that return a Value add a node and return its first
/// result. A function that would only return its operand, such as a broadcast to the operand's shape, adds no
/// node and returns the operand. Functions throw Error if operands do not fit.
class GraphBuilder {
 public:
  /// Inserts nodes before `before`, or at the end of the graph if it is null.
  explicit GraphBuilder(Graph& graph, Node* before = nullptr) : graph_(&graph), before_(before) {}

  Graph& graph() const { return *graph_; }
  Module& module() const { return graph_->module(); }
  void insert_before(Node* node) { before_ = node; }
  /// Returns the node before which new nodes are inserted; null: the end of the graph.
  Node* place() const { return before_; }
  /// Sets the source name (Node::source) of the nodes that are added next.
  void set_source(std::string source) { source_ = std::move(source); }
  const std::string& source() const { return source_; }

  /// Creates a node of any op except pointwise and reduce. `declared`: as for infer_types.
  Node* create(Op op, llvm::ArrayRef<Value*> operands, Attributes attributes = {},
               llvm::ArrayRef<Type> declared = {});
  /// Creates a node with a body. `operands` are the op's own operands, then the body's arguments
  /// (ir/graph/body.h).
  Node* create(Op op, llvm::ArrayRef<Value*> operands, Attributes attributes, std::unique_ptr<Graph> body);

  // ---- leaves
  Value* input(std::string name, Type type);
  /// Reads a parameter. Declares it in the module if it is not declared yet; otherwise throws Error if its
  /// type differs.
  Value* parameter(const Module::Parameter& parameter);
  Value* parameter(std::string_view name);
  Value* state(std::string_view name);
  Value* constant(double value, Type type);
  Value* scalar(double value, DType dtype = DType::f32) { return constant(value, {dtype, {}}); }
  /// Returns a constant tensor with these elements, in row-major order.
  Value* table(std::vector<double> values, Type type);
  Value* iota(Type type, int64_t axis);
  /// Returns uniform random integers of 16 bits, as i32.
  Value* random(Shape shape, uint32_t id);
  /// Returns a size as a scalar value. A size that is known only at launch is computed as the sum of a vector
  /// of ones of that length.
  Value* extent(const Dim& extent, DType dtype);

  // ---- pointwise: operands must have equal shapes (see `broadcast` and `like`)
  Value* pointwise(ScalarOp op, llvm::ArrayRef<Value*> operands);
#define SMELT_MEMBER(name, arity)                                       \
  template <typename... V>                                              \
  Value* name(V*... values) {                                           \
    static_assert(sizeof...(V) == arity);                               \
    return pointwise(ScalarOp::name, {static_cast<Value*>(values)...}); \
  }
  SMELT_SCALAR_OPS(SMELT_MEMBER)
#undef SMELT_MEMBER
  /// Returns a constant with the element type and shape of `of`, all of whose elements are `value`.
  Value* like(Value* of, double value) { return constant(value, of->type); }
  /// Returns `value` itself if it has this type already.
  Value* convert(Value* value, DType dtype);

  // ---- shape
  /// Broadcasts to `shape`: dim i of `value` becomes dim axes[i] of the result.
  Value* broadcast(Value* value, std::vector<int64_t> axes, Shape shape);
  /// Broadcasts to `shape` along the dims `new_axes` of the result, which `value` does not have.
  Value* broadcast_over(Value* value, std::vector<int64_t> new_axes, const Shape& shape);
  /// Broadcasts to `shape` along leading dims: the dims of `value` are the last dims of the result.
  Value* broadcast_leading(Value* value, const Shape& shape);
  Value* reshape(Value* value, Shape shape);
  Value* transpose(Value* value, std::vector<int64_t> permutation);
  Value* slice(Value* value, int64_t axis, Dim begin, Dim length);
  /// Returns `length` elements along the axis: every step-th element from `begin` on.
  Value* strided_slice(Value* value, int64_t axis, Dim begin, int64_t step, Dim length);
  /// Replaces the axis by two dims: the windows, and the `size` elements of a window. Windows begin `step`
  /// elements apart, and elements of a window are `dilation` elements apart (ir/ops/windows.h).
  Value* windows(Value* value, int64_t axis, int64_t size, int64_t step = 1, int64_t dilation = 1);
  Value* concat(llvm::ArrayRef<Value*> values, int64_t axis);
  /// Extends the axis by `low` elements at its beginning and by `high` elements at its end. The new elements
  /// have the value `number`.
  Value* pad(Value* value, int64_t axis, Dim low, Dim high, double number = 0);

  // ---- reductions and all other operations
  /// Reduces over the axes, which the result does not have. reduce_node returns the node, for reductions with
  /// several results.
  Value* reduce(ReduceOp op, Value* value, std::vector<int64_t> axes);
  Node* reduce_node(ReduceOp op, Value* value, std::vector<int64_t> axes);
  Value* sum(Value* value, std::vector<int64_t> axes) {
    return reduce(ReduceOp::add, value, std::move(axes));
  }
  /// Returns slices of `table`: those at the indices `indices` along the axis.
  Value* gather(Value* table, Value* indices, int64_t axis = 0);
  /// Return `init` with `updates` at the rows (along the axis) that `indices` name: scatter_add adds them to
  /// the rows, and scatter replaces each row by its last update.
  Value* scatter_add(Value* init, Value* indices, Value* updates, int64_t axis = 0);
  Value* scatter(Value* init, Value* indices, Value* updates, int64_t axis = 0);
  Value* matmul(Value* a, Value* b, std::string spec);
  /// Function that adds the nodes of a body: it gets the body's builder and inputs, and returns the body's
  /// result.
  using MakeBody = llvm::function_ref<Value*(GraphBuilder&, llvm::ArrayRef<Value*> inputs)>;
  /// Creates a matmul with a body. The inputs of the body are the f32 accumulator, then one value per
  /// argument.
  Value* matmul(Value* a, Value* b, std::string spec, llvm::ArrayRef<Value*> arguments, MakeBody make);
  /// Creates an einsum of one or two operands, such as "abc->ca" or "iikz,kml->mi". A letter may repeat
  /// within an operand (a diagonal), and may be summed over even if only one operand has it.
  Value* einsum(llvm::ArrayRef<Value*> operands, std::string spec);
  /// Returns the prefix sums, maxima or products along the axis; `kind` is "add", "max" or "mul". If
  /// `exclusive`, the prefix of an element does not include the element itself.
  Value* scan(std::string kind, Value* value, int64_t axis, bool exclusive = false);
  /// Creates the numbers of packed codes: (value of the code - zero) * scale, by groups of the last dim.
  /// `zeros` may be null.
  Value* dequantize(Value* codes, Value* scales, Value* zeros, std::string format);
  /// Creates a top_k of each row: the k largest values, largest first, and, as result 1, their indices.
  Node* top_k(Value* value, int64_t k);
  Node* sort(Value* value, bool descending = false);
  /// Creates a sample: a randomly drawn token of each row of scores and, as result 1, its log-probability.
  /// Each row of `numbers` has a temperature, top_p and min_p, and each row of `integers` a top_k, seed,
  /// position and index (runtime/plan/steps/sample.h).
  Node* sample(Value* scores, Value* numbers, Value* integers);
  /// Returns x with `value` inserted at the positions `indices`, one operand per axis in `axes`
  /// (ir/graph/insertion.h).
  Value* insert(Value* x, Value* value, llvm::ArrayRef<Value*> indices, std::vector<int64_t> axes);
  /// Creates an update: `value` becomes the new value of the state.
  Node* update(std::string_view state, Value* value);
  /// Creates an update of a part of the state, at indices as for insert().
  Node* update_at(std::string_view state, Value* value, llvm::ArrayRef<Value*> indices,
                  std::vector<int64_t> axes);
  /// Returns `value`, treated as a constant by differentiation.
  Value* stop_gradient(Value* value);

  void output(std::string name, Value* value) { graph_->outputs.push_back({std::move(name), value}); }

 private:
  Graph* graph_;
  Node* before_;
  std::string source_;
};

}  // namespace smelt

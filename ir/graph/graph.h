// The Graph IR: SSA form over tensors. Values get memory locations only in the pass assign_layout. A Module
// owns states, and named graphs that read and update them. A Graph owns nodes. A Node has an op, operands,
// attributes and results, and may have a body (ir/graph/body.h).
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/sharding.h"
#include "ir/ops/attributes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "runtime/base/dim.h"
#include "runtime/base/dtype.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// Type of a value: element type and shape.
struct Type {
  DType dtype = DType::f32;
  Shape shape;
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  bool operator==(const Type&) const = default;
};
std::string str(const Type& type);  // "f32[B,T,768]"
/// The reduction `pivot` is the mean of the first kPivotElements elements along the last of the reduced axes.
/// Returns whether it is legal: whether that axis has at least kPivotElements elements for all values of the
/// symbols.
bool has_pivot(const Shape& shape, llvm::ArrayRef<int64_t> axes);

/// Memory location of a value, set by assign_layout. Element (i, j, ...) of the value is element
/// offset + i * strides[0] + j * strides[1] + ... of the buffer.
struct Layout {
  int buffer = -1;  // index into Module::buffers
  Dim offset;
  std::vector<Dim> strides;
  bool operator==(const Layout&) const = default;
};

/// Phase of a node. Values of a later phase may be computed from values of an earlier phase.
enum class Phase : uint8_t {
  forward,   // the model itself
  backward,  // gradients, made by differentiate
  update,    // the optimizer's step
  tangent,   // derivatives along given directions, made by differentiate_forward
};
std::string_view name(Phase phase);
std::optional<Phase> parse_phase(std::string_view name);

class Node;
class Graph;
class Module;

/// One result of a node.
class Value {
 public:
  Value(Node* node, unsigned index, Type type) : type(std::move(type)), node_(node), index_(index) {}
  Node* node() const { return node_; }
  unsigned index() const { return index_; }
  const Shape& shape() const { return type.shape; }
  DType dtype() const { return type.dtype; }
  int64_t rank() const { return type.rank(); }
  /// Returns the nodes that read the value, in no particular order: one entry per operand, so a node may
  /// occur twice.
  llvm::ArrayRef<Node*> users() const { return users_; }

  Type type;
  std::string name;  // in the text form, without %; may be empty
  std::optional<Layout> layout;
  /// Sharding over the ranks of Module::mesh. Absent: the passes in passes/graph/sharding decide it; after
  /// `partition`, absent means that every rank has the whole value.
  std::optional<Sharding> sharding;

 private:
  friend class Node;
  friend class Graph;
  Node* node_;
  unsigned index_;
  llvm::SmallVector<Node*, 4> users_;
};

/// One operation of a graph.
class Node {
 public:
  Op op() const { return op_; }
  bool is(Op op) const { return op_ == op; }
  bool is(ScalarOp op) const { return op_ == Op::pointwise && scalar_op == op; }
  bool is(ReduceOp op) const { return op_ == Op::reduce && reduce_op == op; }
  llvm::ArrayRef<Value*> operands() const { return operands_; }
  Value* operand(unsigned i) const { return operands_[i]; }
  llvm::ArrayRef<std::unique_ptr<Value>> results() const { return results_; }
  Value* result(unsigned i = 0) const { return results_[i].get(); }
  unsigned result_count() const { return static_cast<unsigned>(results_.size()); }
  Graph& graph() const { return *graph_; }

  /// Sets an operand and updates the users of the old and the new one.
  void set_operand(unsigned i, Value* value);
  void add_operand(Value* value);

  bool has(AttributeKey key) const { return attributes.has(key); }
  /// Returns the value of an attribute, as in node.get(attr::axis), or its default. Throws Error if it has
  /// neither.
  template <typename T>
  decltype(auto) get(AttributeName<T> name) const {
    return read(attributes, op_, name);
  }
  template <typename T>
  decltype(auto) get(const NumberedName<T>& name) const {
    return read(attributes, op_, AttributeName<T>(name));
  }
  template <typename T>
  void set(AttributeName<T> name, std::type_identity_t<T> value) {
    attributes.set(name, std::move(value));
  }

  /// Returns mnemonic and source as text for messages, such as: layer_norm "h.0.ln_1".
  std::string describe() const;
  /// Returns the name in the text form: the name of the scalar op for pointwise, else the name of the op.
  std::string_view mnemonic() const;

  ScalarOp scalar_op{};  // only of Op::pointwise
  ReduceOp reduce_op{};  // only of Op::reduce
  Attributes attributes;
  std::string source;  // origin in the model, for messages, such as "h.0.ln_1"; may be empty
  Phase phase = Phase::forward;
  /// True for a copy of another node that recomputes its result in a later phase, so that the result need not
  /// be stored. No pass may merge the copy with the original node.
  bool anchored = false;
  std::unique_ptr<Graph> body;  // only of ops with the trait `region` (ir/graph/body.h); null: none

 private:
  friend class Graph;
  Node(Graph* graph, Op op) : graph_(graph), op_(op) {}
  Graph* graph_;
  Op op_;
  llvm::SmallVector<Value*, 3> operands_;
  llvm::SmallVector<std::unique_ptr<Value>, 1> results_;
  std::list<std::unique_ptr<Node>>::iterator position_;
};

/// Return the names of attributes of a `random` node whose result is a part of a larger tensor of random
/// numbers: the begin of the part along a dim, and the extent of the larger tensor.
NumberedName<Dim> draw_begin(size_t dim);   // "begin.1"
NumberedName<Dim> draw_extent(size_t dim);  // "extent.1"
/// Returns the mesh axis along which a collective node communicates.
const MeshAxis& mesh_axis(const Node& collective);
/// Returns the sharding of a state. The state names mesh axes (State::cut, State::partial); the result has
/// their indices in the mesh. Throws Error if the mesh lacks one of the axes.
Sharding sharding_of(const State& state, const Mesh& mesh);
/// Returns the shape of a value over all ranks, given the shape `part` of the part that one rank has.
Shape whole_shape(const Module& module, const Shape& part, const Sharding& sharding);
/// Returns the shape of a value over all ranks.
Shape whole_shape(const Value& value);

/// Returns the range that an integer input declares by its attributes, such as {below = 50257, ignored =
/// -100, least = 0}: numbers are in [least, below) or equal to `ignored`. Returns nothing if all integers are
/// allowed.
std::optional<IdRange> id_range(const Node& input);
void set_id_range(Node& input, const IdRange& range);

/// One entry of a model: nodes in program order, and named outputs.
class Graph {
 public:
  explicit Graph(Module& module, std::string name = "") : name(std::move(name)), module_(&module) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  struct Output {
    std::string name;
    Value* value;
  };

  Module& module() const { return *module_; }
  /// Returns the nodes in program order: every operand comes before its users.
  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  size_t size() const { return nodes_.size(); }

  /// Creates a node before `before` (null: at the end) with results of the given types.
  Node* create(Op op, llvm::ArrayRef<Value*> operands, llvm::ArrayRef<Type> results, Node* before = nullptr);
  /// Creates a copy of `node`, with all its properties and a copy of its body, that reads `operands`.
  Node* clone(const Node& node, llvm::ArrayRef<Value*> operands, Node* before = nullptr);
  /// Replaces `from` by `to` in all operands and outputs. If `to` has no sharding, it gets that of `from`.
  void replace_all_uses(Value* from, Value* to);
  /// Replaces `from` by `to` in the operands of the users for which `accept` returns true. Outputs are not
  /// changed.
  void replace_uses_if(Value* from, Value* to, llvm::function_ref<bool(Node&)> accept);
  /// Erases the node. Throws Error if a result has users or is an output.
  void erase(Node* node);
  /// Moves the node before `before` (null: to the end).
  void move_before(Node* node, Node* before);
  /// Erases all nodes without effects whose results have no users and are no outputs, except inputs. Returns
  /// whether it erased any.
  bool prune();
  bool is_output(const Value* value) const;
  /// Returns the input of this name; null if there is none.
  Node* find_input(std::string_view name) const;
  std::vector<Node*> inputs() const;
  /// Returns the node after `node`; null if it is the last one.
  Node* next(const Node* node) const;
  /// Returns the node before `node`; null if it is the first one. If `node` is null, returns the last node.
  Node* previous(const Node* node) const;
  /// Returns an independent copy of the graph in `module`.
  std::unique_ptr<Graph> clone_into(Module& module, std::string name) const;
  /// Sorts the nodes so that operands come before their users, and otherwise keeps their order. Throws Error
  /// if nodes depend on each other in a cycle.
  void sort();

  std::string name;
  std::vector<Output> outputs;

 private:
  Module* module_;
  std::list<std::unique_ptr<Node>> nodes_;
};

/// Names of the flat states of trained parameters and of frozen parameters. A flat state is a vector with all
/// parameters, one after the other. Frozen parameters have no f32 master copy: they are stored only in the
/// type that forward reads, such as bf16.
inline constexpr std::string_view kParameters = "parameters", kFrozenParameters = "parameters.frozen";
/// Names of the flat i8 state of the weights that the pass quantize_weights has quantized, and of the state
/// of their scales.
/// The last three: codes of the weights that the pass pack_weights has packed, their scales and their zeros.
inline constexpr std::string_view kQuantizedParameters = "parameters.i8",
                                  kQuantizedScales = "parameters.i8.scales",
                                  kPackedParameters = "parameters.packed",
                                  kPackedScales = "parameters.packed.scales",
                                  kPackedZeros = "parameters.packed.zeros";

/// Returns the segment (part) of a flat state by its name; null if there is none.
const Segment* find_segment(const State& state, std::string_view name);

/// A model: its states and parameters, and the graphs of its entries.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Adds an empty graph. Throws Error if a graph has this name.
  Graph& add_graph(std::string name);
  /// Returns the graph of this name; null if there is none.
  Graph* find_graph(std::string_view name) const;
  /// Returns an independent copy.
  std::unique_ptr<Module> clone() const;

  /// Declaration of a parameter. It stays after flatten_parameters has made the parameter a segment of a flat
  /// state.
  struct Parameter {
    std::string name;
    Type type;
    Initializer init;
    bool decay = true;                          // weight decay applies
    std::vector<std::string> checkpoint_names;  // all accepted names; the first is written; empty: `name`
    bool transposed = false;                    // the checkpoint has [in,out] for [out,in] here
    bool stacked = false;                       // the checkpoint has [2*m,n] for [2,m,n] here
    bool frozen = false;                        // not trained: no gradient, moments, f32 master copy or decay
    std::optional<Sharding> sharding = {};      // absent: every rank has all of it
    std::vector<int64_t> stages = {};  // pipeline stages, each with a copy of it; empty: one stage has it
    bool operator==(const Parameter&) const = default;
  };
  /// Return the parameter or state of this name; null if there is none.
  Parameter* find_parameter(std::string_view name);
  State* find_state(std::string_view name);
  /// Returns the index of the buffer that is the state's memory; -1 if it has none.
  int buffer_of(std::string_view state) const;
  /// Returns the flat state of element type `dtype` that has the parameter as a segment. It is "parameters",
  /// a rounded copy of "parameters", or the state of frozen or quantized parameters. Null if there is none.
  const State* find_parameter_state(std::string_view parameter, DType dtype) const;
  /// Returns the flat state that has the parameter as a segment, of any element type, but not a rounded copy.
  /// Null if flatten_parameters has not run.
  const State* state_of_parameter(std::string_view parameter) const;
  /// Returns a new id for a `random` node.
  uint32_t next_random_id() { return random_ids++; }

  /// Sets the mesh of ranks, and declares the symbols of a rank's coordinates (`data.rank`, see sharding.h).
  void set_mesh(Mesh mesh);
  const Mesh& mesh() const { return mesh_; }

  Symbols symbols;
  /// Set by the pass `partition`: for each symbol, the mesh axes that divide it. All types are then those of
  /// one rank's parts, and the value of a symbol is the size of one rank's part.
  std::optional<SymbolCuts> partitioned;
  /// Set by the pass `cut_stages`: the number of the pipeline stage that runs the graphs.
  std::optional<int64_t> stage;
  std::vector<Parameter> parameters;
  /// Groups of names of parameters that should be adjacent in the flat state, so that their concat is a view.
  std::vector<std::vector<std::string>> adjacent;
  std::vector<State> states;  // includes parameters only after flatten_parameters
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<Buffer> buffers;  // after assign_layout
  uint32_t random_ids = 0;      // number of random ids in use: 0 ... random_ids - 1
  std::string description;      // description of the model as JSON text, which becomes Plan::model

 private:
  Mesh mesh_;  // empty: one rank
};

}  // namespace smelt

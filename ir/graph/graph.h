// The Graph IR: SSA over tensors, no memory. A Module owns states and named graphs over them; a Graph owns
// nodes; a Node has an op, operands, attributes and results, and some have a body (ir/graph/body.h).
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

struct Type {
  DType dtype = DType::f32;
  Shape shape;
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  bool operator==(const Type&) const = default;
};
std::string str(const Type& type);  // "f32[B,T,768]"
/// Returns whether rows along these axes of a shape certainly have as many elements as reduce `pivot` needs.
bool has_pivot(const Shape& shape, llvm::ArrayRef<int64_t> axes);

/// Memory location of a value, set by assign_layout: element (i, j, ...) is at offset + i strides[0] + j
/// strides[1] + ...
struct Layout {
  int buffer = -1;  // index into Module::buffers
  Dim offset;
  std::vector<Dim> strides;
  bool operator==(const Layout&) const = default;
};

/// Phase of a node. Values of a later phase may be computed from those of an earlier one.
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
  /// One entry for every operand that uses the value, in no particular order.
  llvm::ArrayRef<Node*> users() const { return users_; }

  Type type;
  std::string name;  // of the text form, without %; may be empty
  std::optional<Layout> layout;
  /// Sharding over the ranks of Module::mesh; absent: passes/graph/sharding decides, and after partition
  /// every rank has the whole value.
  std::optional<Sharding> sharding;

 private:
  friend class Node;
  friend class Graph;
  Node* node_;
  unsigned index_;
  llvm::SmallVector<Node*, 4> users_;
};

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
  /// Returns the value of an attribute, node.get(attr::axis), or its default; throws Error if there is
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

  /// Returns text for messages: "layer_norm \"h.0.ln_1\"".
  std::string describe() const;
  /// Returns the mnemonic of the text form: the scalar op's name for pointwise, otherwise the op's.
  std::string_view mnemonic() const;

  ScalarOp scalar_op{};  // of pointwise
  ReduceOp reduce_op{};  // of reduce
  Attributes attributes;
  std::string source;  // "h.0.ln_1": its origin in the model, for messages
  Phase phase = Phase::forward;
  /// True: the node recomputes, for its own phase, the result of another node, to save memory. No equal node
  /// may replace it.
  bool anchored = false;
  std::unique_ptr<Graph> body;  // of ops with the trait `region`; see ir/graph/body.h

 private:
  friend class Graph;
  Node(Graph* graph, Op op) : graph_(graph), op_(op) {}
  Graph* graph_;
  Op op_;
  llvm::SmallVector<Value*, 3> operands_;
  llvm::SmallVector<std::unique_ptr<Value>, 1> results_;
  std::list<std::unique_ptr<Node>>::iterator position_;
};

/// Attributes of a random node: the begin of its part of a larger draw along a dim, and the extent of that
/// draw.
NumberedName<Dim> draw_begin(size_t dim);   // "begin.1"
NumberedName<Dim> draw_extent(size_t dim);  // "extent.1"
/// Returns the mesh axis of a collective.
const MeshAxis& mesh_axis(const Node& collective);
/// Returns the sharding of a state, with axes by name. Throws Error if the mesh has no such axis.
Sharding sharding_of(const State& state, const Mesh& mesh);
/// Returns the shape over all ranks, given the shape of one rank's part.
Shape whole_shape(const Module& module, const Shape& part, const Sharding& sharding);
Shape whole_shape(const Value& value);

/// Returns the range that an input declares for its integers, {below = 50257, ignored = -100, least = 0};
/// empty if any are allowed.
std::optional<IdRange> id_range(const Node& input);
void set_id_range(Node& input, const IdRange& range);

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
  /// Creates a copy of `node` (attributes, source, phase and body) that reads `operands`.
  Node* clone(const Node& node, llvm::ArrayRef<Value*> operands, Node* before = nullptr);
  void replace_all_uses(Value* from, Value* to);
  void replace_uses_if(Value* from, Value* to, llvm::function_ref<bool(Node&)> accept);
  /// Erases the node. Requires: its results have no users and are no outputs.
  void erase(Node* node);
  void move_before(Node* node, Node* before);
  /// Erases nodes without users, effects or outputs; inputs stay. Returns whether it erased any.
  bool prune();
  bool is_output(const Value* value) const;
  Node* find_input(std::string_view name) const;
  std::vector<Node*> inputs() const;
  /// Returns the following node; null at the end.
  Node* next(const Node* node) const;
  /// Returns the node before `node`; null at the start. For null, the last node.
  Node* previous(const Node* node) const;
  /// Returns an independent copy of the graph in `module`.
  std::unique_ptr<Graph> clone_into(Module& module, std::string name) const;
  /// Sorts the nodes so that operands come before their users, and otherwise keeps their order.
  void sort();

  std::string name;
  std::vector<Output> outputs;

 private:
  Module* module_;
  std::list<std::unique_ptr<Node>> nodes_;
};

/// Flat state of trained parameters, and that of frozen ones, which have the storage type alone.
inline constexpr std::string_view kParameters = "parameters", kFrozenParameters = "parameters.frozen";
/// Flat i8 state of the weights that quantize_weights quantized, and its scales.
inline constexpr std::string_view kQuantizedParameters = "parameters.i8",
                                  kQuantizedScales = "parameters.i8.scales";

/// Returns the segment of this name; null if the state has none.
const Segment* find_segment(const State& state, std::string_view name);

class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Adds a graph. Requires: the name is not used.
  Graph& add_graph(std::string name);
  Graph* find_graph(std::string_view name) const;
  std::unique_ptr<Module> clone() const;

  /// Parameters as declared, before and after they become segments of the flat states.
  struct Parameter {
    std::string name;
    Type type;
    Initializer init;
    bool decay = true;
    std::vector<std::string> checkpoint_names;  // empty: the name itself
    bool transposed = false;
    bool stacked = false;  // the checkpoint holds [2*m,n] for our [2,m,n]
    bool frozen = false;   // not trained (a buffer, a base of adapters): no gradient, moments, master, decay
    std::optional<Sharding> sharding = {};  // absent: every rank holds all of it
    std::vector<int64_t> stages = {};       // of a pipeline that hold a copy each; empty: one alone
    bool operator==(const Parameter&) const = default;
  };
  Parameter* find_parameter(std::string_view name);
  State* find_state(std::string_view name);
  /// Returns the index of the buffer that is the state's memory; -1: none.
  int buffer_of(std::string_view state) const;
  /// Returns the flat state that holds this parameter in this type: "parameters", a copy of it, or that of
  /// frozen or quantized ones. Null if there is none.
  const State* find_parameter_state(std::string_view parameter, DType dtype) const;
  /// Returns the flat state, of any type, that the parameter is a segment of; not a copy. Null before
  /// flatten_parameters.
  const State* state_of_parameter(std::string_view parameter) const;
  uint32_t next_random_id() { return random_ids++; }

  /// Sets the mesh and declares the coordinates of a rank: symbols from 0 up.
  void set_mesh(Mesh mesh);
  const Mesh& mesh() const { return mesh_; }

  Symbols symbols;
  /// Set by partition: types are then those of one rank, and a symbol, like its bounds, means this rank's
  /// part of the dims that are cut over these axes.
  std::optional<SymbolCuts> partitioned;
  /// Set by cut_stages: the pipeline stage of the graphs.
  std::optional<int64_t> stage;
  std::vector<Parameter> parameters;
  /// Groups of parameters that should be adjacent in the flat state, so that a concat of them is a view.
  std::vector<std::vector<std::string>> adjacent;
  std::vector<State> states;  // other than parameters, until flatten_parameters makes one of them
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<Buffer> buffers;  // after assign_layout
  uint32_t random_ids = 0;      // ids below it are taken
  std::string description;      // JSON of the model's description, handed on to the plan

 private:
  Mesh mesh_;  // empty: one rank
};

}  // namespace smelt

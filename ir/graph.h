// The Graph IR: SSA over tensors, no memory. A Module owns states and named graphs over them; a Graph owns
// nodes; a Node has an op, operands, attributes and results, and some have a body (ir/body.h).
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attributes.h"
#include "ir/sharding.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "runtime/dim.h"
#include "runtime/dtype.h"
#include "runtime/plan/plan.h"

namespace smelt {

struct Type {
  DType dtype = DType::f32;
  Shape shape;
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  bool operator==(const Type&) const = default;
};
std::string str(const Type& type);  // "f32[B,T,768]"
/// Whether rows along these axes of a shape are certain to have as many elements as reduce `pivot` needs.
bool has_pivot(const Shape& shape, llvm::ArrayRef<int64_t> axes);

/// Where a value lives, set by assign_layout: an element (i, j, ...) is at offset + i strides[0] + j
/// strides[1] + ...
struct Layout {
  int buffer = -1;  // index into Module::buffers
  Dim offset;
  std::vector<Dim> strides;
  bool operator==(const Layout&) const = default;
};

/// What a node is part of. Values of a later phase may be computed from those of an earlier one.
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
  /// How ranks of Module::mesh share it; absent: as passes/sharding decides, and behind partition all hold
  /// all of it.
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

  /// Also updates the users of the old and the new operand.
  void set_operand(unsigned i, Value* value);
  void add_operand(Value* value);

  bool has(AttributeKey key) const { return attributes.has(key); }
  /// The value of an attribute, node.get(attr::axis), or its default; throws Error where there is neither.
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

  /// "layer_norm \"h.0.ln_1\"": for messages.
  std::string describe() const;
  /// The mnemonic of the text form: the scalar op's name for pointwise, else the op's.
  std::string_view mnemonic() const;

  ScalarOp scalar_op{};  // of pointwise
  ReduceOp reduce_op{};  // of reduce
  Attributes attributes;
  std::string source;  // "h.0.ln_1": where it comes from, for people
  Phase phase = Phase::forward;
  /// The node computes again, for its own phase, what another has computed, to save memory: no equal node may
  /// take its place.
  bool anchored = false;
  std::unique_ptr<Graph> body;  // of ops with the trait `region`; see ir/body.h

 private:
  friend class Graph;
  Node(Graph* graph, Op op) : graph_(graph), op_(op) {}
  Graph* graph_;
  Op op_;
  llvm::SmallVector<Value*, 3> operands_;
  llvm::SmallVector<std::unique_ptr<Value>, 1> results_;
  std::list<std::unique_ptr<Node>>::iterator position_;
};

/// Attributes of a random node: where along a dim its part of a larger draw begins, and how much that draws.
NumberedName<Dim> draw_begin(size_t dim);   // "begin.1"
NumberedName<Dim> draw_extent(size_t dim);  // "extent.1"
/// The axis of the mesh that a collective is along.
const MeshAxis& mesh_axis(const Node& collective);
/// How ranks share a state, by its axes' names. Throws Error where the mesh has no such axis.
Sharding sharding_of(const State& state, const Mesh& mesh);
/// The shape over all ranks of what is this shape on one of them.
Shape whole_shape(const Module& module, const Shape& part, const Sharding& sharding);
Shape whole_shape(const Value& value);

/// The range that an input declares for its integers, {below = 50257, ignored = -100, least = 0}; empty where
/// any are allowed.
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
  /// In program order: every operand stands before its users.
  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  size_t size() const { return nodes_.size(); }

  /// Creates a node before `before` (null: at the end) with results of the given types.
  Node* create(Op op, llvm::ArrayRef<Value*> operands, llvm::ArrayRef<Type> results, Node* before = nullptr);
  /// A copy of `node` (attributes, source, phase, body too) reading `operands`.
  Node* clone(const Node& node, llvm::ArrayRef<Value*> operands, Node* before = nullptr);
  void replace_all_uses(Value* from, Value* to);
  void replace_uses_if(Value* from, Value* to, llvm::function_ref<bool(Node&)> accept);
  /// The node's results must have no users and be no outputs.
  void erase(Node* node);
  void move_before(Node* node, Node* before);
  /// Erases nodes without users, effects or outputs; inputs stay. Returns whether it erased any.
  bool prune();
  bool is_output(const Value* value) const;
  Node* find_input(std::string_view name) const;
  std::vector<Node*> inputs() const;
  /// The node that follows; null at the end.
  Node* next(const Node* node) const;
  /// The node before it; null at the start. The last node for null.
  Node* previous(const Node* node) const;
  /// An independent copy of the whole graph into `module`.
  std::unique_ptr<Graph> clone_into(Module& module, std::string name) const;
  /// Sorts the nodes so that operands stand before their users, and otherwise keeps their order.
  void sort();

  std::string name;
  std::vector<Output> outputs;

 private:
  Module* module_;
  std::list<std::unique_ptr<Node>> nodes_;
};

/// The flat state of parameters that are trained, and of those that are not: these have the storage type
/// alone.
inline constexpr std::string_view kParameters = "parameters", kFrozenParameters = "parameters.frozen";
/// The flat i8 state of weights that quantize_weights has made narrow, and its scales.
inline constexpr std::string_view kQuantizedParameters = "parameters.i8",
                                  kQuantizedScales = "parameters.i8.scales";

/// The segment of this name; null where the state has none.
const Segment* find_segment(const State& state, std::string_view name);

class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// A new graph; the name must be free.
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
  /// The index of the buffer that is the state's memory; -1 where it has none.
  int buffer_of(std::string_view state) const;
  /// The flat state that holds this parameter in this type: "parameters", a copy of it, or that of frozen or
  /// quantized ones. Null where there is none.
  const State* find_parameter_state(std::string_view parameter, DType dtype) const;
  /// The flat state that the parameter is a segment of, whatever its type; not a copy. Null before
  /// flatten_parameters.
  const State* state_of_parameter(std::string_view parameter) const;
  uint32_t next_random_id() { return random_ids++; }

  /// Declares the coordinates of a rank, too: symbols from 0 up.
  void set_mesh(Mesh mesh);
  const Mesh& mesh() const { return mesh_; }

  Symbols symbols;
  /// Set by partition: types are one rank's from then on, and a symbol in it means this rank's part of what
  /// is cut over these axes, as do its bounds.
  std::optional<SymbolCuts> partitioned;
  /// Set by cut_stages: which stage of a pipeline the graphs are of.
  std::optional<int64_t> stage;
  std::vector<Parameter> parameters;
  /// Parameters that should lie one after another in the flat state, so that a concat of them is a view.
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

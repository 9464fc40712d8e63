// Recursive-descent parser of the text form of modules (ir/text/text.h), with one function per construct.
#pragma once

#include "ir/graph/builder.h"
#include "ir/text/text_parser.h"
#include "llvm/ADT/StringMap.h"

namespace smelt {

/// Parser of one text. A private function is named after a construct of the text form, and parses that
/// construct, which begins at the next token. A parameter or member `at` is a token: errors are reported at
/// its position.
class ModuleParser : TextParser {
 public:
  ModuleParser(std::string_view text, std::string_view file);
  /// Parses the whole text. Throws Error with the file, line and column of a fault.
  std::unique_ptr<Module> parse();

 private:
  /// Values that a node of one graph or body can read, by name.
  using Scope = llvm::StringMap<Value*>;

  /// Input of a body: %inside "its name" = %outside. `outside` is null if the op itself computes the input,
  /// such as the accumulator of a matmul.
  struct BodyInput {
    Token at;
    std::string name;
    Value* outside = nullptr;
  };
  /// Node that is being parsed.
  struct Draft {
    Token at;                  // the name of the op
    std::vector<Token> names;  // the names of the results
    Op op{};
    ScalarOp scalar{};  // if op is pointwise
    ReduceOp reduce{};  // if op is reduce
    llvm::SmallVector<Value*, 4> operands;
    Attributes attributes;
    std::optional<Phase> phase;
    std::optional<bool> anchored;  // Node::anchored; nothing if the text does not set it
    std::string source;            // Node::source
    std::vector<Type> types;       // types, layouts and shardings: one per result
    std::vector<std::optional<Layout>> layouts;
    std::vector<std::optional<Sharding>> shardings;
    /// Inputs of the body: first those that the op itself computes, then one for each value of the
    /// surrounding graph that the body reads (ir/graph/body.h).
    std::vector<BodyInput> body_inputs;
    bool has_body = false;
    std::unique_ptr<Graph> body;
  };

  // ---- module level
  void item();  // one declaration or graph
  void mesh();  // mesh {data = 2, model = 4}
  /// Parses partitioned {B = data}. It means that the mesh axis data divides the symbol B, and that all sizes
  /// in the text are those of one rank.
  void partitioned();
  /// Returns the index of the mesh axis of this name.
  size_t axis_named(const Token& at, const std::string& name) const;
  std::optional<Sharding> sharding();
  void random_ids();  // random_ids COUNT: number of ids of random nodes
  /// Sets Module::random_ids to `count`, if `count` is larger than Module::random_ids.
  void take_random_ids(const Token& at, int64_t count);
  /// Parses a field of a parameter. Returns false if `key` is none of its fields.
  bool parameter_field(const Token& key, Module::Parameter& parameter);
  void declare_parameter(const Token& at);
  void adjacent();  // adjacent ["a", "b", ...]: names of parameters
  void check_adjacent(const std::vector<std::string>& group) const;
  void declare_state(const Token& at);
  void declare_buffer();

  // ---- graphs
  void graph(const Token& at);
  void argument(Graph& graph, Scope& scope);
  void body(Graph& graph, Scope& scope);
  void outputs(Graph& graph, Scope& scope);
  void define(const Token& at, Value* value, Scope& scope);
  Value* use(const Scope& scope);  // %name of a value that is defined above

  // ---- nodes
  void node(Graph& graph, Scope& scope);
  void operation(Draft& draft);
  void operands(Draft& draft, const Scope& scope);
  bool starts_results() const;
  bool starts_body(const Draft& draft) const;
  void node_attributes(Draft& draft, Module::Parameter* parameter = nullptr, State* state = nullptr);
  bool node_field(const Token& key, Draft& draft);
  Phase phase();
  void types(Draft& draft);
  /// Declares the parameter or state that the node reads, unless an earlier line has declared it.
  void declare_inline(Draft& draft, Module::Parameter& parameter, State& state);

  // ---- bodies
  void body_inputs(Draft& draft, const Scope& scope);
  /// `handed`: true if the op itself computes the input, so that the text has no "= %outside".
  BodyInput body_input(bool handed, const Scope& scope);
  void node_body(Draft& draft);

  // ---- from draft to node
  std::vector<Type> infer(Draft& draft);
  void finish(Graph& graph, Scope& scope, Draft& draft);

  std::unique_ptr<Module> module_;
  int depth_ = 0;  // number of bodies that contain the current position
};

}  // namespace smelt

// The text form of modules: a recursive descent over the tokens of ir/lexer.h, one function a construct.
#include <algorithm>
#include <limits>

#include "ir/builder.h"
#include "ir/text.h"
#include "ir/text_parser.h"
#include "llvm/ADT/StringMap.h"

namespace smelt {
namespace {

constexpr int kDeepestFusion = 4;

/// Values by their names in one graph or fusion body.
using Scope = llvm::StringMap<Value*>;

/// A node as far as it has been read.
struct Draft {
  Token at;  // the op
  std::vector<Token> names;
  Op op{};
  ScalarOp scalar{};
  ReduceOp reduce{};
  llvm::SmallVector<Value*, 4> operands;
  Attributes attributes;
  std::string source;
  std::vector<Type> types;
  std::vector<std::optional<Layout>> layouts;
  std::unique_ptr<Graph> body;
  Scope body_scope;
};

/// ", did you mean 'add'?" for a word within a letter in three of an operation's name.
std::string likely(std::string_view word) {
  std::string_view best;
  unsigned least = 3;
  const auto consider = [&](std::string_view name) {
    const unsigned distance = llvm::StringRef(word).edit_distance(name, true, least);
    if (distance < least && distance <= std::max<size_t>(1, name.size() / 3)) least = distance, best = name;
  };
#define SMELT_OP(name, ...) consider(#name);
#include "ir/ops.def"
#define SMELT_SCALAR_OP(name, ...) consider(#name);
#include "ir/scalar_ops.def"
  return best.empty() ? "" : fmt::format(", did you mean '{}'?", best);
}

class ModuleParser : TextParser {
 public:
  ModuleParser(std::string_view text, std::string_view file)
      : TextParser(text, file), module_(std::make_unique<Module>()) {
    known_symbols = &module_->symbols;
  }

  std::unique_ptr<Module> parse() {
    while (lexer.peek().kind != Token::Kind::end) item();
    return std::move(module_);
  }

 private:
  // ---- module level

  void item() {
    const Token at = lexer.peek();
    if (lexer.accept_word("symbols"))
      symbols(module_->symbols);
    else if (lexer.accept_word("description"))
      module_->description = string("the description in quotes");
    else if (lexer.accept_word("random_ids"))
      random_ids();
    else if (lexer.accept_word("parameter"))
      declare_parameter(at);
    else if (lexer.accept_word("state"))
      declare_state(at);
    else if (lexer.accept_word("buffer"))
      declare_buffer();
    else if (lexer.accept_word("graph"))
      graph(at);
    else
      lexer.expected("symbols, parameter, state, buffer, description, random_ids or graph");
  }

  void random_ids() {
    const Token at = lexer.peek();
    take_random_ids(at, integer("how many random ids are taken"));
  }

  void take_random_ids(const Token& at, int64_t count) {
    if (count < 0 || count > std::numeric_limits<uint32_t>::max())
      lexer.fail_at(at.offset, fmt::format("expected random ids in [0, 2^32), found {}", count));
    module_->random_ids = std::max(module_->random_ids, static_cast<uint32_t>(count));
  }

  /// Reads one field of a parameter's declaration; false: it is none.
  bool parameter_field(const Token& key, Module::Parameter& parameter) {
    if (key.text == "init")
      parameter.init = initializer();
    else if (key.text == "decay")
      parameter.decay = boolean();
    else if (key.text == "checkpoint")
      parameter.checkpoint_names = strings();
    else if (key.text == "transposed")
      parameter.transposed = boolean();
    else
      return false;
    return true;
  }

  void declare_parameter(const Token& at) {
    Module::Parameter parameter;
    parameter.name = string("the parameter's name in quotes");
    if (lexer.accept("{"))
      fields([&](const Token& key) {
        if (!parameter_field(key, parameter)) unknown_field(key, "init, decay, checkpoint, transposed");
      });
    lexer.expect(":");
    parameter.type = type();
    if (module_->find_parameter(parameter.name))
      lexer.fail_at(at.offset, fmt::format("parameter \"{}\" is declared twice", parameter.name));
    module_->parameters.push_back(std::move(parameter));
  }

  void declare_state(const Token& at) {
    State declared = state();
    if (module_->find_state(declared.name))
      lexer.fail_at(at.offset, fmt::format("state \"{}\" is declared twice", declared.name));
    module_->states.push_back(std::move(declared));
  }

  void declare_buffer() {
    const Token at = lexer.peek();
    const int64_t number = integer("the buffer's number");
    if (number != static_cast<int64_t>(module_->buffers.size()))
      lexer.fail_at(at.offset,
                    fmt::format("expected buffer {}: buffers are numbered from 0 in order, found {}",
                                module_->buffers.size(), number));
    module_->buffers.push_back(buffer(module_->states));
  }

  // ---- graphs

  void graph(const Token& at) {
    const std::string name = graph_name();
    Graph& graph = *lexer.at(at, [&] { return &module_->add_graph(name); });
    Scope scope;
    lexer.expect("(");
    list(")", [&] { argument(graph, scope); });
    lexer.expect("{");
    body(graph, scope);
  }

  /// %name ["its name"] : type @layout ["source"] {attributes}
  void argument(Graph& graph, Scope& scope) {
    const Token at = lexer.expect(Token::Kind::value, "an argument (%name: type) or ')'");
    Attributes attributes{
        {"name", lexer.peek().kind == Token::Kind::string ? string() : std::string(at.text)}};
    lexer.expect(":");
    const Type written = type();
    const auto place = layout();
    std::string source = lexer.peek().kind == Token::Kind::string ? string() : "";
    if (lexer.accept("{")) node_attributes(attributes);
    Node* node = graph.create(Op::input, {}, written);
    node->attributes = std::move(attributes);
    node->source = std::move(source);
    node->result()->layout = place;
    define(at, node->result(), scope);
  }

  /// Nodes and `return` up to the closing brace.
  void body(Graph& graph, Scope& scope) {
    while (!lexer.accept("}")) {
      if (lexer.accept(";")) continue;
      if (lexer.accept_word("return")) {
        outputs(graph, scope);
        lexer.accept(";");
        if (!lexer.accept("}")) lexer.expected("',' or '}' after the results");
        return;
      }
      node(graph, scope);
    }
  }

  void outputs(Graph& graph, Scope& scope) {
    if (lexer.peek().is("}")) return;
    do {
      std::string name = fmt::format("r{}", graph.outputs.size());
      if (lexer.peek().kind != Token::Kind::value) {
        name = this->name("a result: NAME = %value");
        lexer.expect("=");
      }
      graph.outputs.push_back({std::move(name), use(scope)});
    } while (lexer.accept(","));
  }

  void define(const Token& at, Value* value, Scope& scope) {
    if (!scope.insert({llvm::StringRef(at.text.data(), at.text.size()), value}).second)
      lexer.fail_at(at.offset, fmt::format("%{} is defined twice", at.text));
    if (at.text.find_first_not_of("0123456789") != std::string_view::npos) value->name = std::string(at.text);
  }

  Value* use(const Scope& scope) {
    const Token token = lexer.expect(Token::Kind::value, "a value (%name)");
    auto it = scope.find(llvm::StringRef(token.text.data(), token.text.size()));
    if (it == scope.end()) lexer.fail_at(token.offset, fmt::format("%{} is not defined above", token.text));
    return it->second;
  }

  // ---- nodes

  /// %a, %b = op operands "source" {attributes} { body } : types
  void node(Graph& graph, Scope& scope) {
    Draft draft;
    if (lexer.peek().kind == Token::Kind::value) {
      do draft.names.push_back(lexer.expect(Token::Kind::value, "a name (%name)"));
      while (lexer.accept(","));
      lexer.expect("=");
    }
    draft.at = lexer.expect(Token::Kind::identifier, "an operation");
    operation(draft);
    operands(draft, scope);
    const bool named = draft.op == Op::parameter || draft.op == Op::state;
    if (named) draft.attributes["name"] = string("its name in quotes");
    if (lexer.peek().kind == Token::Kind::string) draft.source = string();
    // What a leaf declares where it stands, when nothing above has.
    Module::Parameter parameter;
    State state;
    if (lexer.peek().is("{") && !starts_body(draft)) {
      lexer.next();
      node_attributes(draft.attributes, draft.op, &parameter, &state);
    }
    if (draft.op == Op::fusion) fusion_body(draft);
    if (lexer.accept(":")) types(draft);
    if (named) declare_inline(draft, parameter, state);
    finish(graph, scope, draft);
  }

  void operation(Draft& draft) {
    const std::string_view word = draft.at.text;
    if (const auto op = parse_op(word); op && *op != Op::pointwise && *op != Op::input) {
      draft.op = *op;
    } else if (const auto scalar = parse_scalar_op(word)) {
      draft.op = Op::pointwise;
      draft.scalar = *scalar;
    } else {
      lexer.fail_at(draft.at.offset,
                    fmt::format("there is no operation {}{}", describe(draft.at), likely(word)));
    }
    if (draft.op != Op::reduce) return;
    const Token kind = lexer.expect(Token::Kind::identifier, "a reduction (add, max, ...)");
    const auto reduce = parse_reduce_op(kind.text);
    if (!reduce) lexer.fail_at(kind.offset, fmt::format("there is no reduction {}", describe(kind)));
    draft.reduce = *reduce;
  }

  void operands(Draft& draft, const Scope& scope) {
    if (draft.op == Op::fusion) return fusion_operands(draft, scope);
    if (lexer.peek().kind != Token::Kind::value || lexer.peek(1).is("=") || starts_results()) return;
    do draft.operands.push_back(use(scope));
    while (lexer.accept(","));
  }

  /// Whether the values here are the results of the next node: %a, %b = ...
  bool starts_results() const {
    size_t i = 0;
    while (lexer.peek(i).kind == Token::Kind::value && lexer.peek(i + 1).is(",")) i += 2;
    return lexer.peek(i).kind == Token::Kind::value && lexer.peek(i + 1).is("=");
  }

  /// A brace that opens a fusion's body rather than its attributes.
  bool starts_body(const Draft& draft) const {
    if (draft.op != Op::fusion) return false;
    return !(lexer.peek(1).kind == Token::Kind::identifier && lexer.peek(2).is("="));
  }

  void node_attributes(Attributes& attributes, Op op = Op::input, Module::Parameter* parameter = nullptr,
                       State* state = nullptr) {
    fields([&](const Token& key) {
      if (op == Op::parameter && parameter_field(key, *parameter)) return;
      if (op == Op::state && key.text == "init") return void(state->init = initializer());
      if (op == Op::state && key.text == "role") return role(*state);
      const Token at = lexer.peek();
      if (!attributes.emplace(std::string(key.text), attribute()).second)
        lexer.fail_at(key.offset, fmt::format("attribute {} is given twice", describe(key)));
      if (key.text != "id") return;
      if (const auto* id = std::get_if<int64_t>(&attributes.at("id")); id && *id >= 0 && *id < kMostIds)
        take_random_ids(at, *id + 1);
    });
  }

  void role(State& state) {
    const Token word = lexer.expect(Token::Kind::identifier, "a role");
    const auto role = parse_role(word.text);
    if (!role) lexer.fail_at(word.offset, fmt::format("expected a role, found {}", describe(word)));
    state.role = *role;
  }

  void types(Draft& draft) {
    do {
      draft.types.push_back(type());
      draft.layouts.push_back(layout());
    } while (lexer.accept(","));
  }

  /// A `parameter` or `state` node takes its type from the declaration, or declares.
  void declare_inline(Draft& draft, Module::Parameter& parameter, State& state) {
    const std::string name = std::get<std::string>(draft.attributes.at("name"));
    const Module::Parameter* known = module_->find_parameter(name);
    const State* known_state = module_->find_state(name);
    if (draft.types.empty()) {
      if (draft.op == Op::parameter && known) draft.types.push_back(known->type);
      if (draft.op == Op::state && known_state)
        draft.types.push_back({known_state->dtype, known_state->shape});
      if (draft.types.empty())
        lexer.expected(fmt::format("the type of \"{}\", which is not declared above", name));
    }
    if (draft.op == Op::parameter && !known) {
      parameter.name = name;
      parameter.type = draft.types[0];
      module_->parameters.push_back(std::move(parameter));
    }
    if (draft.op == Op::state && !known_state) {
      state.name = name;
      state.dtype = draft.types[0].dtype;
      state.shape = draft.types[0].shape;
      module_->states.push_back(std::move(state));
    }
  }

  // ---- fusions

  /// (%inside = %outside, ...): arguments of the body, whose types are those of the operands.
  void fusion_operands(Draft& draft, const Scope& scope) {
    if (++depth_ > kDeepestFusion) lexer.fail_at(draft.at.offset, "fusions nested too deeply");
    draft.body = std::make_unique<Graph>(*module_);
    lexer.expect("(");
    list(")", [&] {
      const Token at =
          lexer.expect(Token::Kind::value, "an argument of the body (%inside = %outside) or ')'");
      std::string name = lexer.peek().kind == Token::Kind::string ? string() : std::string(at.text);
      lexer.expect("=");
      draft.operands.push_back(use(scope));
      Node* input = draft.body->create(Op::input, {}, draft.operands.back()->type);
      input->attributes["name"] = std::move(name);
      define(at, input->result(), draft.body_scope);
      if (at.text == std::get<std::string>(input->attributes["name"])) input->result()->name.clear();
    });
  }

  void fusion_body(Draft& draft) {
    lexer.expect("{");
    body(*draft.body, draft.body_scope);
    --depth_;
  }

  void check_fusion(Draft& draft) {
    const auto& outputs = draft.body->outputs;
    if (draft.types.empty())
      for (const Graph::Output& output : outputs) draft.types.push_back(output.value->type);
    if (draft.types.size() != outputs.size())
      lexer.fail_at(draft.at.offset, fmt::format("the body returns {} values, {} types are written",
                                                 outputs.size(), draft.types.size()));
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].value->type != draft.types[i])
        lexer.fail_at(draft.at.offset, fmt::format("result {} of the body is {}, written is {}", i,
                                                   str(outputs[i].value->type), str(draft.types[i])));
  }

  // ---- from draft to node

  /// Lists of whole numbers are fine as a table's values.
  static void widen_values(Draft& draft) {
    auto it = draft.attributes.find("values");
    if (draft.op != Op::constant || it == draft.attributes.end()) return;
    if (const auto* whole = std::get_if<std::vector<int64_t>>(&it->second))
      it->second = std::vector<double>(whole->begin(), whole->end());
  }

  std::vector<Type> infer(Draft& draft) {
    const bool declared = info(draft.op).has(Trait::declared);
    const std::vector<Type> written = declared ? draft.types : std::vector<Type>{};
    std::vector<Type> types = lexer.at(draft.at, [&] {
      return infer_types(draft.op, draft.scalar, draft.reduce, draft.operands, draft.attributes, written);
    });
    if (!draft.types.empty() && types != draft.types) {
      std::string inferred;
      for (const Type& type : types) inferred += (inferred.empty() ? "" : ", ") + str(type);
      lexer.fail_at(draft.at.offset, fmt::format("{} gives {}, which is not the type written", draft.at.text,
                                                 inferred.empty() ? "no result" : inferred));
    }
    for (const Type& type : types) check_size(draft.at, type);
    return types;
  }

  void finish(Graph& graph, Scope& scope, Draft& draft) {
    widen_values(draft);
    if (draft.op == Op::fusion) check_fusion(draft);
    const std::vector<Type> types = infer(draft);
    if (types.size() != draft.names.size())
      lexer.fail_at(draft.at.offset, fmt::format("{} has {} results, {} names are written", draft.at.text,
                                                 types.size(), draft.names.size()));
    Node* node = graph.create(draft.op, draft.operands, types);
    node->scalar_op = draft.scalar;
    node->reduce_op = draft.reduce;
    node->attributes = std::move(draft.attributes);
    node->source = std::move(draft.source);
    node->body = std::move(draft.body);
    for (unsigned i = 0; i < types.size(); ++i) {
      define(draft.names[i], node->result(i), scope);
      if (i < draft.layouts.size()) node->result(i)->layout = draft.layouts[i];
    }
  }

  static constexpr int64_t kMostIds = std::numeric_limits<uint32_t>::max();
  std::unique_ptr<Module> module_;
  int depth_ = 0;
};

}  // namespace

std::unique_ptr<Module> parse_module(std::string_view text, std::string_view file) {
  return ModuleParser(text, file).parse();
}

}  // namespace smelt

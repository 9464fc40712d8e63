// The text form of modules: declarations, and graphs down to their values' names. Nodes are in
// parse_nodes.cpp.
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "ir/text/module_parser.h"
#include "ir/text/text.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {

ModuleParser::ModuleParser(std::string_view text, std::string_view file)
    : TextParser(text, file), module_(std::make_unique<Module>()) {
  known_symbols = &module_->symbols;
}

std::unique_ptr<Module> ModuleParser::parse() {
  while (lexer.peek().kind != Token::Kind::end) item();
  return std::move(module_);
}

// ---- module level

void ModuleParser::item() {
  const Token at = lexer.peek();
  if (lexer.accept_word("mesh"))
    mesh();
  else if (lexer.accept_word("partitioned"))
    partitioned();
  else if (lexer.accept_word("symbols"))
    symbols(module_->symbols);
  else if (lexer.accept_word("description"))
    module_->description = string("the description in quotes");
  else if (lexer.accept_word("random_ids"))
    random_ids();
  else if (lexer.accept_word("parameter"))
    declare_parameter(at);
  else if (lexer.accept_word("adjacent"))
    adjacent();
  else if (lexer.accept_word("state"))
    declare_state(at);
  else if (lexer.accept_word("buffer"))
    declare_buffer();
  else if (lexer.accept_word("graph"))
    graph(at);
  else
    lexer.expected("mesh, symbols, parameter, adjacent, state, buffer, description, random_ids or graph");
}

/// mesh {data = 2, model = 4}
void ModuleParser::mesh() {
  const Token at = lexer.peek();
  if (!module_->mesh().empty()) lexer.fail_at(at.offset, "a second mesh");
  std::vector<std::string> axes;
  lexer.expect("{");
  fields([&](const Token& key) {
    axes.push_back(fmt::format("{}={}", key.text, integer("the number of ranks along the axis")));
  });
  lexer.at(at, [&] { module_->set_mesh(parse_mesh(fmt::format("{}", fmt::join(axes, ",")))); });
}

/// partitioned {B = data}: types are one rank's, and so is a B in them.
void ModuleParser::partitioned() {
  const Token at = lexer.peek();
  if (module_->mesh().empty()) lexer.fail_at(at.offset, "expected a mesh above what is partitioned");
  SymbolCuts& cuts = module_->partitioned.emplace();
  lexer.expect("{");
  fields([&](const Token& key) {
    const Token value = lexer.peek();
    for (const std::string& name : axes()) cuts[std::string(key.text)].push_back(axis_named(value, name));
  });
}

size_t ModuleParser::axis_named(const Token& at, const std::string& name) const {
  if (const auto axis = module_->mesh().find(name)) return *axis;
  lexer.fail_at(at.offset, module_->mesh().empty()
                               ? fmt::format("a sharding over {}, and no `mesh {{{} = 2}}` above", name, name)
                               : fmt::format("the mesh {{{}}} has no axis {}", str(module_->mesh()), name));
}

std::optional<Sharding> ModuleParser::sharding() {
  const Token at = lexer.peek();
  const auto names = sharding_names();
  if (!names) return std::nullopt;
  Sharding result;
  for (const auto& axes : names->dims) {
    result.dims.emplace_back();
    for (const std::string& name : axes) result.dims.back().push_back(axis_named(at, name));
  }
  for (const std::string& name : names->partial) result.partial.push_back(axis_named(at, name));
  std::sort(result.partial.begin(), result.partial.end());
  return result;
}

void ModuleParser::random_ids() {
  const Token at = lexer.peek();
  take_random_ids(at, integer("how many random ids are taken"));
}

void ModuleParser::take_random_ids(const Token& at, int64_t count) {
  if (count < 0 || count > std::numeric_limits<uint32_t>::max())
    lexer.fail_at(at.offset, fmt::format("expected random ids in [0, 2^32), found {}", count));
  module_->random_ids = std::max(module_->random_ids, static_cast<uint32_t>(count));
}

/// Reads one field of a parameter's declaration; false: it is none.
bool ModuleParser::parameter_field(const Token& key, Module::Parameter& parameter) {
  if (key.text == "init")
    parameter.init = initializer();
  else if (key.text == "decay")
    parameter.decay = boolean();
  else if (key.text == "checkpoint")
    parameter.checkpoint_names = strings();
  else if (key.text == "transposed")
    parameter.transposed = boolean();
  else if (key.text == "stacked")
    parameter.stacked = boolean();
  else if (key.text == "frozen")
    parameter.frozen = boolean();
  else
    return false;
  return true;
}

void ModuleParser::declare_parameter(const Token& at) {
  Module::Parameter parameter;
  parameter.name = string("the parameter's name in quotes");
  if (lexer.accept("{"))
    fields([&](const Token& key) {
      if (!parameter_field(key, parameter))
        unknown_field(key, "init, decay, checkpoint, transposed, frozen, stacked");
    });
  lexer.expect(":");
  parameter.type = type();
  parameter.sharding = sharding();
  if (module_->find_parameter(parameter.name))
    lexer.fail_at(at.offset, fmt::format("parameter \"{}\" is declared twice", parameter.name));
  module_->parameters.push_back(std::move(parameter));
}

/// adjacent ["a", "b", ...]: parameters declared above, each in one group.
void ModuleParser::adjacent() {
  const Token at = lexer.peek();
  std::vector<std::string> group;
  lexer.expect("[");
  list("]", [&] {
    const Token name = lexer.peek();
    group.push_back(string("a parameter's name in quotes"));
    lexer.at(name, [&] { check_adjacent(group); });
  });
  if (group.size() < 2)
    lexer.fail_at(at.offset, fmt::format("expected at least 2 parameters, found {}", group.size()));
  module_->adjacent.push_back(std::move(group));
}

/// Checks the last name of a group: it must be a parameter that is in no group yet.
void ModuleParser::check_adjacent(const std::vector<std::string>& group) const {
  const std::string& name = group.back();
  if (!module_->find_parameter(name)) fail("parameter \"{}\" is not declared above", name);
  const auto has = [&](const std::vector<std::string>& other) { return llvm::is_contained(other, name); };
  if (std::count(group.begin(), group.end(), name) > 1 || llvm::any_of(module_->adjacent, has))
    fail("parameter \"{}\" stands in an adjacent group already", name);
}

void ModuleParser::declare_state(const Token& at) {
  State declared = state();
  if (module_->find_state(declared.name))
    lexer.fail_at(at.offset, fmt::format("state \"{}\" is declared twice", declared.name));
  module_->states.push_back(std::move(declared));
}

void ModuleParser::declare_buffer() {
  const Token at = lexer.peek();
  const int64_t number = integer("the buffer's number");
  if (number != static_cast<int64_t>(module_->buffers.size()))
    lexer.fail_at(at.offset, fmt::format("expected buffer {}: buffers are numbered from 0 in order, found {}",
                                         module_->buffers.size(), number));
  module_->buffers.push_back(buffer(module_->states));
}

// ---- graphs

void ModuleParser::graph(const Token& at) {
  const std::string name = graph_name();
  Graph& graph = *lexer.at(at, [&] { return &module_->add_graph(name); });
  Scope scope;
  lexer.expect("(");
  list(")", [&] { argument(graph, scope); });
  lexer.expect("{");
  body(graph, scope);
}

/// %name ["its name"] : type @layout ["source"] {attributes}
void ModuleParser::argument(Graph& graph, Scope& scope) {
  const Token at = lexer.expect(Token::Kind::value, "an argument (%name: type) or ')'");
  Draft draft;
  draft.op = Op::input;
  draft.attributes.set(attr::name,
                       lexer.peek().kind == Token::Kind::string ? string() : std::string(at.text));
  lexer.expect(":");
  const Type written = type();
  const auto place = layout();
  const auto shared = sharding();
  std::string source = lexer.peek().kind == Token::Kind::string ? string() : "";
  if (lexer.accept("{")) node_attributes(draft);
  Node* node = graph.create(Op::input, {}, written);
  node->attributes = std::move(draft.attributes);
  node->phase = draft.phase.value_or(Phase::forward);
  node->anchored = draft.anchored.value_or(false);
  node->source = std::move(source);
  node->result()->layout = place;
  node->result()->sharding = shared;
  define(at, node->result(), scope);
}

/// Nodes and `return` up to the closing brace.
void ModuleParser::body(Graph& graph, Scope& scope) {
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

void ModuleParser::outputs(Graph& graph, Scope& scope) {
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

void ModuleParser::define(const Token& at, Value* value, Scope& scope) {
  if (!scope.insert({llvm::StringRef(at.text.data(), at.text.size()), value}).second)
    lexer.fail_at(at.offset, fmt::format("%{} is defined twice", at.text));
  if (at.text.find_first_not_of("0123456789") != std::string_view::npos) value->name = std::string(at.text);
}

Value* ModuleParser::use(const Scope& scope) {
  const Token token = lexer.expect(Token::Kind::value, "a value (%name)");
  auto it = scope.find(llvm::StringRef(token.text.data(), token.text.size()));
  if (it == scope.end()) lexer.fail_at(token.offset, fmt::format("%{} is not defined above", token.text));
  return it->second;
}

std::unique_ptr<Module> parse_module(std::string_view text, std::string_view file) {
  return ModuleParser(text, file).parse();
}

}  // namespace smelt

// Nodes of the text form: what is written becomes a draft, whose types the rules of type_rules.cpp give or
// check.
#include <algorithm>

#include "ir/graph/body.h"
#include "ir/ops/op_attributes.h"
#include "ir/text/module_parser.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

constexpr int kDeepestBody = 4;

/// ", did you mean 'add'?" for a word within a letter in three of an operation's name.
std::string likely(std::string_view word) {
  std::string_view best;
  unsigned least = 3;
  const auto consider = [&](std::string_view name) {
    const unsigned distance = llvm::StringRef(word).edit_distance(name, true, least);
    if (distance < least && distance <= std::max<size_t>(1, name.size() / 3)) least = distance, best = name;
  };
#define SMELT_OP(name, ...) consider(#name);
#include "ir/ops/ops.def"
#define SMELT_CONSIDER(name, ...) consider(#name);
  SMELT_SCALAR_OPS(SMELT_CONSIDER)
#undef SMELT_CONSIDER
  return best.empty() ? "" : fmt::format(", did you mean '{}'?", best);
}

}  // namespace

// ---- nodes

/// %a, %b = op operands (body inputs) "source" {attributes} { body } : types
void ModuleParser::node(Graph& graph, Scope& scope) {
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
  if (named) draft.attributes.set(attr::name, string("its name in quotes"));
  if (lexer.peek().kind == Token::Kind::string) draft.source = string();
  // The leaf itself declares its parameter if no earlier line does.
  Module::Parameter parameter;
  State state;
  if (lexer.peek().is("{") && !starts_body(draft)) {
    lexer.next();
    node_attributes(draft, &parameter, &state);
  }
  if (draft.has_body) node_body(draft);
  if (lexer.accept(":")) types(draft);
  if (named) declare_inline(draft, parameter, state);
  finish(graph, scope, draft);
}

void ModuleParser::operation(Draft& draft) {
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

void ModuleParser::operands(Draft& draft, const Scope& scope) {
  if (lexer.peek().kind == Token::Kind::value && !lexer.peek(1).is("=") && !starts_results()) {
    do draft.operands.push_back(use(scope));
    while (lexer.accept(","));
  }
  if (info(draft.op).has(Trait::region) && lexer.accept("(")) body_inputs(draft, scope);
}

/// Returns whether the values here are the results of the next node: %a, %b = ...
bool ModuleParser::starts_results() const {
  size_t i = 0;
  while (lexer.peek(i).kind == Token::Kind::value && lexer.peek(i + 1).is(",")) i += 2;
  return lexer.peek(i).kind == Token::Kind::value && lexer.peek(i + 1).is("=");
}

/// A brace that opens a body rather than attributes.
bool ModuleParser::starts_body(const Draft& draft) const {
  if (!draft.has_body) return false;
  return !(lexer.peek(1).kind == Token::Kind::identifier && lexer.peek(2).is("="));
}

void ModuleParser::node_attributes(Draft& draft, Module::Parameter* parameter, State* state) {
  fields([&](const Token& key) {
    if (draft.op == Op::parameter && parameter_field(key, *parameter)) return;
    if (draft.op == Op::state && key.text == "init") return void(state->init = initializer());
    if (draft.op == Op::state && key.text == "role") return void(state->role = role());
    const Token at = lexer.peek();
    if (!node_field(key, draft))
      lexer.fail_at(key.offset, fmt::format("attribute {} is given twice", describe(key)));
    if (key.text != "id" || draft.op == Op::cotangent) return;  // its id is not that of a draw
    if (const auto* id = draft.attributes.find_as(attr::id)) take_random_ids(at, *id + 1);
  });
}

/// False: the draft has the field already.
bool ModuleParser::node_field(const Token& key, Draft& draft) {
  if (key.text == "phase") return !std::exchange(draft.phase, phase());
  if (key.text == "anchored") return !std::exchange(draft.anchored, boolean());
  const AttributeColumn& column = *lexer.at(key, [&] { return &find_attribute(draft.op, key.text); });
  const Token at = lexer.peek();
  Attribute value = attribute();
  widen(column, value);
  lexer.at(at, [&] { check_attribute(draft.op, key.text, column, value); });
  const AttributeKey name(key.text);
  if (draft.attributes.has(name)) return false;
  draft.attributes[name] = std::move(value);
  return true;
}

Phase ModuleParser::phase() {
  const Token word = lexer.expect(Token::Kind::identifier, "a phase");
  const auto phase = parse_phase(word.text);
  if (!phase)
    lexer.fail_at(word.offset, fmt::format("expected a phase (forward, backward, update, tangent), found {}",
                                           describe(word)));
  return *phase;
}

void ModuleParser::types(Draft& draft) {
  do {
    draft.types.push_back(type());
    draft.layouts.push_back(layout());
    draft.shardings.push_back(sharding());
  } while (lexer.accept(","));
}

/// A `parameter` or `state` node takes its type from the declaration, or declares.
void ModuleParser::declare_inline(Draft& draft, Module::Parameter& parameter, State& state) {
  const std::string name = *draft.attributes.find_as(attr::name);
  const Module::Parameter* known = module_->find_parameter(name);
  const State* known_state = module_->find_state(name);
  if (draft.types.empty()) {
    if (draft.op == Op::parameter && known) draft.types.push_back(known->type);
    if (draft.op == Op::state && known_state) draft.types.push_back({known_state->dtype, known_state->shape});
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

// ---- bodies

/// Behind the opening parenthesis: what the op computes, by name, then %inside = %outside for each argument.
void ModuleParser::body_inputs(Draft& draft, const Scope& scope) {
  if (++depth_ > kDeepestBody) lexer.fail_at(draft.at.offset, "bodies nested too deeply");
  draft.has_body = true;
  const size_t handed = handed_to_body(draft.op).size();
  list(")", [&] { draft.body_inputs.push_back(body_input(draft.body_inputs.size() < handed, scope)); });
}

ModuleParser::BodyInput ModuleParser::body_input(bool handed, const Scope& scope) {
  BodyInput input{lexer.expect(Token::Kind::value, "an input of the body (%name) or ')'"), {}};
  input.name = lexer.peek().kind == Token::Kind::string ? string() : std::string(input.at.text);
  if (handed) return input;
  lexer.expect("=");
  input.outside = use(scope);
  return input;
}

/// The body of a node whose operands and attributes are known, which give its inputs their types.
void ModuleParser::node_body(Draft& draft) {
  const llvm::SmallVector<Value*, 4> own = draft.operands;
  llvm::SmallVector<Value*, 4> arguments;
  for (const BodyInput& input : draft.body_inputs)
    if (input.outside) arguments.push_back(input.outside);
  const std::vector<Type> types =
      lexer.at(draft.at, [&] { return infer_body_inputs(draft.op, own, arguments, draft.attributes); });
  if (types.size() != draft.body_inputs.size())
    lexer.fail_at(
        draft.at.offset,
        fmt::format("the body has {} inputs, expected {}: (%{}, %inside = %outside, ...)",
                    draft.body_inputs.size(), types.size(), fmt::join(handed_to_body(draft.op), ", %")));
  llvm::append_range(draft.operands, arguments);
  draft.body = std::make_unique<Graph>(*module_);
  Scope scope;
  for (auto [input, type] : llvm::zip(draft.body_inputs, types)) {
    Node* node = draft.body->create(Op::input, {}, type);
    define(input.at, node->result(), scope);
    if (input.at.text == input.name) node->result()->name.clear();
    node->set(attr::name, std::move(input.name));
  }
  lexer.expect("{");
  body(*draft.body, scope);
  --depth_;
}

// ---- from draft to node

std::vector<Type> ModuleParser::infer(Draft& draft) {
  const bool declared = info(draft.op).has(Trait::declared);
  const std::vector<Type> written = declared ? draft.types : std::vector<Type>{};
  std::vector<Type> types = lexer.at(draft.at, [&] {
    return infer_types(draft.op, draft.scalar, draft.reduce, draft.operands, draft.attributes, written,
                       draft.body.get());
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

void ModuleParser::finish(Graph& graph, Scope& scope, Draft& draft) {
  const std::vector<Type> types = infer(draft);
  if (types.size() != draft.names.size())
    lexer.fail_at(draft.at.offset, fmt::format("{} has {} results, {} names are written", draft.at.text,
                                               types.size(), draft.names.size()));
  Node* node = graph.create(draft.op, draft.operands, types);
  node->scalar_op = draft.scalar;
  node->reduce_op = draft.reduce;
  node->attributes = std::move(draft.attributes);
  node->source = std::move(draft.source);
  node->phase = draft.phase.value_or(Phase::forward);
  node->anchored = draft.anchored.value_or(false);
  node->body = std::move(draft.body);
  for (unsigned i = 0; i < types.size(); ++i) {
    define(draft.names[i], node->result(i), scope);
    if (i < draft.layouts.size()) node->result(i)->layout = draft.layouts[i];
    if (i < draft.shardings.size()) node->result(i)->sharding = draft.shardings[i];
  }
}

}  // namespace smelt

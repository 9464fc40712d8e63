// One pass over the nodes with the set of values defined so far; type rules are asked again for every node.
#include "ir/graph/verifier.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "ir/graph/builder.h"
#include "ir/ops/op_attributes.h"
#include "ir/ops/verifier_rules.h"
#include "ir/text/text.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "runtime/base/error.h"
#include "runtime/plan/segment_parts.h"

namespace smelt {
namespace {

using Messages = std::vector<std::string>;

/// "B <= 32, T <= 1024, B*T <= 4096"
std::string bounds_of(const Symbols& symbols) {
  std::vector<std::string> list;
  for (const Symbols::Bound& bound : symbols.bounds())
    list.push_back(fmt::format("{} <= {}", fmt::join(bound.factors, "*"), bound.upper));
  return list.empty() ? "none" : fmt::format("{}", fmt::join(list, ", "));
}

/// Throws where a shape uses an undeclared symbol or does not fit 64 bits at the bounds.
void check_shape(const Symbols& symbols, const Shape& shape, std::string_view what) {
  std::vector<std::string> names;
  for (const Dim& dim : shape) dim.collect_symbols(names);
  for (const std::string& name : names)
    if (!symbols.declared(name))
      fail("{} {} uses the symbol {}, which is not declared (declared: {})", what, str(shape), name,
           bounds_of(symbols));
  try {
    symbols.upper(element_count(shape));
  } catch (const Error& error) {
    fail("{} {} has no bounded size: {}", what, str(shape), error.what());
  }
}

class GraphVerifier {
 public:
  GraphVerifier(const Graph& graph, Messages& messages, std::string where, bool is_body)
      : graph_(graph), messages_(messages), where_(std::move(where)), is_body_(is_body) {}

  void run() {
    for (const auto& node : graph_.nodes()) {
      if (check([&] { operands_defined(*node); }, *node)) {
        check([&] { users_known(*node); }, *node);
        const bool fits = check([&] { attributes_known(*node); }, *node);
        if (fits) check([&] { typed(*node); }, *node);
        check([&] { sizes_bounded(*node); }, *node);
        check([&] { placed(*node); }, *node);
        check([&] { shared(*node); }, *node);
        if (fits) check([&] { verify_contract(*node); }, *node);
        if (fits) check([&] { updated_once(*node); }, *node);
        if (is_body_) check([&] { allowed_in_body(*node); }, *node);
        if (node->body) body(*node);
      }
      for (const auto& result : node->results()) defined_.insert(result.get());
    }
    inputs();
    outputs();
  }

 private:
  /// Runs f; what it throws becomes a message about `node`.
  template <typename F>
  bool check(F f, const Node& node) {
    try {
      f();
      return true;
    } catch (const Error& error) {
      std::string_view text = error.what();
      const std::string prefix = std::string(name(node.op())) + ": ",
                        scalar = std::string(node.mnemonic()) + ": ";
      for (const std::string& repeated : {prefix, scalar})
        if (text.substr(0, repeated.size()) == repeated) text.remove_prefix(repeated.size());
      const std::string line = print(node);
      messages_.push_back(fmt::format("{}: {}: {}\n  in {}{}", where_, node.describe(), text,
                                      line.substr(0, line.find('\n')), symbols_note(node)));
      return false;
    }
  }

  /// The bounds, where the node's types mention symbols.
  std::string symbols_note(const Node& node) const {
    std::vector<std::string> names;
    for (const auto& result : node.results())
      for (const Dim& dim : result->shape()) dim.collect_symbols(names);
    return names.empty() ? "" : fmt::format("\n  where {}", bounds_of(graph_.module().symbols));
  }

  void operands_defined(const Node& node) const {
    for (unsigned i = 0; i < node.operands().size(); ++i)
      if (!defined_.contains(node.operand(i))) fail("operand {} is not defined above it in this graph", i);
  }

  void users_known(const Node& node) const {
    for (const Value* operand : node.operands())
      if (llvm::count(operand->users(), &node) != llvm::count(node.operands(), operand))
        fail("the users of its operands do not list it as often as it reads them");
  }

  static void attributes_known(const Node& node) {
    const std::vector<Type> written = types_of(node);
    check_attributes(node.op(), node.attributes, node.operands(), written);
  }

  static std::vector<Type> types_of(const Node& node) {
    std::vector<Type> types;
    for (const auto& result : node.results()) types.push_back(result->type);
    return types;
  }

  static void typed(const Node& node) {
    const std::vector<Type> written = types_of(node);
    const bool declared = info(node.op()).has(Trait::declared);
    const std::vector<Type> inferred =
        infer_types(node.op(), node.scalar_op, node.reduce_op, node.operands(), node.attributes,
                    declared ? written : std::vector<Type>{}, node.body.get());
    if (inferred == written) return;
    std::vector<std::string> expected, found;
    for (const Type& type : inferred) expected.push_back(str(type));
    for (const Type& type : written) found.push_back(str(type));
    fail("the result is ({}), expected ({})", fmt::join(found, ", "), fmt::join(expected, ", "));
  }

  void sizes_bounded(const Node& node) const {
    for (const auto& result : node.results())
      check_shape(graph_.module().symbols, result->shape(), "the result's shape");
  }

  void placed(const Node& node) const {
    const auto buffers = static_cast<int>(graph_.module().buffers.size());
    for (const auto& result : node.results()) {
      if (!result->layout) continue;
      if (result->layout->buffer < 0 || result->layout->buffer >= buffers)
        fail("it lies in buffer {}, of {}", result->layout->buffer, buffers);
      if (static_cast<int64_t>(result->layout->strides.size()) != result->rank())
        fail("its layout has {} strides for rank {}", result->layout->strides.size(), result->rank());
    }
  }

  void shared(const Node& node) const {
    const Module& module = graph_.module();
    std::vector<std::string> list;
    for (const auto& result : node.results())
      if (result->sharding)
        for (std::string& fault : faults(*result->sharding, module.mesh(), whole_shape(*result)))
          list.push_back(std::move(fault));
    if (!list.empty()) fail("{}", fmt::join(list, "; "));
  }

  void updated_once(const Node& node) {
    if (!node.is(Op::update) || node.operands().size() != 1) return;
    if (!updated_.insert(node.get(attr::state)).second)
      fail("a second update of all of state \"{}\"", node.get(attr::state));
  }

  static void allowed_in_body(const Node& node) {
    if (!node.is(Op::input) && !info(node.op()).has(Trait::fusable))
      fail("this operation cannot stand in a body");
  }

  void body(const Node& node) {
    GraphVerifier(*node.body, messages_, fmt::format("{}: in {}", where_, node.describe()), true).run();
  }

  void inputs() {
    llvm::StringSet<> names;
    for (const Node* node : graph_.inputs())
      check(
          [&] {
            const std::string& name = node->get(attr::name);
            if (!names.insert(name).second) fail("a second input is called \"{}\"", name);
          },
          *node);
  }

  void outputs() {
    llvm::StringSet<> names;
    for (const Graph::Output& output : graph_.outputs) {
      if (!defined_.contains(output.value))
        messages_.push_back(
            fmt::format("{}: output \"{}\" is not a value of this graph", where_, output.name));
      if (!names.insert(output.name).second)
        messages_.push_back(fmt::format("{}: two outputs are called \"{}\"", where_, output.name));
    }
  }

  const Graph& graph_;
  Messages& messages_;
  std::string where_;
  bool is_body_;
  llvm::DenseSet<const Value*> defined_;
  llvm::StringSet<> updated_;
};

/// Runs f; what it throws becomes a message.
template <typename F>
void collect(Messages& messages, F f) {
  try {
    f();
  } catch (const Error& error) {
    messages.push_back(error.what());
  }
}

template <typename List>
void names_distinct(Messages& messages, const List& list, std::string_view what) {
  llvm::StringSet<> names;
  for (const auto& item : list)
    if (!names.insert(item.name).second)
      messages.push_back(fmt::format("{} \"{}\" is declared twice", what, item.name));
}

void check_parameter(const Module::Parameter& parameter, const Module& module) {
  for (const Dim& dim : parameter.type.shape)
    if (!dim.constant() || *dim.constant() < 1)
      fail("parameter \"{}\" is {}, expected constant sizes of at least 1", parameter.name,
           str(parameter.type));
  if (!parameter.sharding) return;
  const Shape shape = module.partitioned ? whole_shape(module, parameter.type.shape, *parameter.sharding)
                                         : parameter.type.shape;
  const auto list = faults(*parameter.sharding, module.mesh(), shape);
  if (!list.empty()) fail("parameter \"{}\": {}", parameter.name, fmt::join(list, "; "));
}

/// Groups of two and more declared parameters, none of them in two places.
void check_adjacent(const Module& module, Messages& messages) {
  llvm::StringSet<> declared, grouped;
  for (const Module::Parameter& parameter : module.parameters) declared.insert(parameter.name);
  for (const auto& group : module.adjacent) {
    if (group.size() < 2)
      messages.push_back(
          fmt::format("an adjacent group holds {} parameters, expected at least 2", group.size()));
    for (const std::string& name : group) {
      if (!declared.contains(name))
        messages.push_back(fmt::format("adjacent parameter \"{}\" is not declared", name));
      if (!grouped.insert(name).second)
        messages.push_back(fmt::format("parameter \"{}\" stands in two places of adjacent groups", name));
    }
  }
}

/// Segments in order, apart and inside the flat state.
void check_state(const State& state, const Module& module) {
  check_shape(module.symbols, state.shape, fmt::format("the shape of state \"{}\"", state.name));
  const Shape& shape = state.whole.empty() ? state.shape : state.whole;
  const auto list = faults(sharding_of(state, module.mesh()), module.mesh(), shape);
  if (!list.empty()) fail("state \"{}\": {}", state.name, fmt::join(list, "; "));
  int64_t end = 0;
  for (const Segment& segment : state.segments) {
    if (segment.offset < end)
      fail("segment \"{}\" of state \"{}\" begins at {}, inside the one before it, which ends at {}",
           segment.name, state.name, segment.offset, end);
    if (__builtin_add_overflow(segment.offset, segment.elements(), &end))
      fail("segment \"{}\" of state \"{}\" ends beyond 64 bits", segment.name, state.name);
    if (const auto cut = cut_faults(segment, module.mesh()); !cut.empty())
      fail("segment \"{}\" of state \"{}\": {}", segment.name, state.name, fmt::join(cut, "; "));
  }
  if (state.segments.empty()) return;
  const auto size = shape.empty() ? std::nullopt : element_count(shape).constant();
  if (!size || end > *size)
    fail("the segments of state \"{}\" need {} elements, its shape is {}", state.name, end, str(shape));
}

}  // namespace

std::vector<std::string> verify(const Graph& graph) {
  Messages messages;
  GraphVerifier(graph, messages, "@" + graph.name, false).run();
  return messages;
}

std::vector<std::string> verify(const Module& module) {
  Messages messages;
  names_distinct(messages, module.parameters, "parameter");
  names_distinct(messages, module.states, "state");
  for (const auto& parameter : module.parameters)
    collect(messages, [&] { check_parameter(parameter, module); });
  check_adjacent(module, messages);
  for (const State& state : module.states) collect(messages, [&] { check_state(state, module); });
  for (const auto& graph : module.graphs)
    for (std::string& message : verify(*graph)) messages.push_back(std::move(message));
  return messages;
}

void verify_or_throw(const Module& module) {
  const Messages messages = verify(module);
  if (!messages.empty()) fail("the module is not well formed:\n{}", fmt::join(messages, "\n"));
}

}  // namespace smelt

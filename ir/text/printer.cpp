#include <fmt/ranges.h>

#include "ir/graph/body.h"
#include "ir/text/lexer.h"
#include "ir/text/names.h"
#include "ir/text/text.h"
#include "ir/text/text_writer.h"

namespace smelt {
namespace {

/// The attribute that a leaf's name is written by, before its source.
bool has_written_name(const Node& node) {
  if (!node.is(Op::parameter) && !node.is(Op::state)) return false;
  return node.attributes.find_as(attr::name) != nullptr;
}

/// Attributes, and what else a node says of itself.
std::string attributes_of(const Node& node) {
  Fields fields;
  for (const auto& [key, value] : node.attributes)
    if (key != attr::name.text || (!has_written_name(node) && !node.is(Op::input)))
      fields.add(key, text(value));
  if (node.anchored) fields.add("anchored", "true");
  if (node.phase != Phase::forward) fields.add("phase", std::string(name(node.phase)));
  return fields.str();
}

std::string on(const std::optional<Sharding>& sharding, const Mesh& mesh) {
  return sharding ? " on " + str(*sharding, mesh) : "";
}

std::string typed(const Value& value) {
  return str(value.type) + (value.layout ? " " + text(*value.layout) : "") +
         on(value.sharding, value.node()->graph().module().mesh());
}

class GraphPrinter {
 public:
  explicit GraphPrinter(const Graph& graph) : graph_(graph), names_(graph) {}

  std::string graph() const {
    std::vector<std::string> arguments;
    for (const Node* node : graph_.inputs())
      arguments.push_back(fmt::format("{}: {}{}{}", argument_name(*node), typed(*node->result()),
                                      source(*node), attributes_of(*node)));
    return fmt::format("graph @{}({}) {{\n{}}}\n", bare_or_quoted(graph_.name), fmt::join(arguments, ", "),
                       body(1));
  }

  /// A node without its indentation, its further lines indented below `depth`.
  std::string node(const Node& node, int depth) const {
    std::string line;
    for (const auto& result : node.results()) line += (line.empty() ? "%" : ", %") + names_[result.get()];
    if (!line.empty()) line += " = ";
    line +=
        node.is(Op::reduce) ? fmt::format("reduce {}", name(node.reduce_op)) : std::string(node.mnemonic());
    line += operands(node) + source(node) + attributes_of(node);
    if (node.body) line += " {\n" + GraphPrinter(*node.body).body(depth + 1) + indent(depth) + "}";
    std::vector<std::string> types;
    for (const auto& result : node.results()) types.push_back(typed(*result));
    return types.empty() ? line : fmt::format("{} : {}", line, fmt::join(types, ", "));
  }

 private:
  static std::string indent(int depth) { return std::string(static_cast<size_t>(depth) * 2, ' '); }

  static std::string source(const Node& node) { return node.source.empty() ? "" : " " + quote(node.source); }

  /// %name, followed by the argument's own name in quotes where it differs.
  std::string argument_name(const Node& input) const {
    const std::string& written = names_[input.result()];
    const auto* own = input.attributes.find_as(attr::name);
    return "%" + written + (own && *own != written ? " " + quote(*own) : "");
  }

  std::string operands(const Node& node) const {
    std::string list;
    for (const Value* operand : own_operands(node)) list += (list.empty() ? " %" : ", %") + names_[operand];
    if (has_written_name(node)) list += " " + quote(node.get(attr::name));
    return node.body ? list + body_inputs(node) : list;
  }

  /// (%computed, ..., %inside = %outside, ...)
  std::string body_inputs(const Node& node) const {
    const GraphPrinter inside(*node.body);
    std::vector<std::string> list;
    for (const Node* input : node.body->inputs()) list.push_back(inside.argument_name(*input));
    const auto arguments = body_arguments(node);
    const size_t handed = list.size() - arguments.size();
    for (size_t i = 0; i < arguments.size(); ++i) list[handed + i] += " = %" + names_[arguments[i].operand];
    return fmt::format(" ({})", fmt::join(list, ", "));
  }

  std::string body(int depth) const {
    std::string text;
    for (const auto& each : graph_.nodes())
      if (!each->is(Op::input)) text += indent(depth) + node(*each, depth) + "\n";
    if (!graph_.outputs.empty()) text += indent(depth) + results() + "\n";
    return text;
  }

  /// Outputs called r0, r1, ..., as those of a fusion are, need no names.
  std::string results() const {
    bool numbered = true;
    for (size_t i = 0; i < graph_.outputs.size(); ++i)
      numbered &= graph_.outputs[i].name == fmt::format("r{}", i);
    std::vector<std::string> list;
    list.reserve(graph_.outputs.size());
    for (const Graph::Output& output : graph_.outputs)
      list.push_back((numbered ? "" : bare_or_quoted(output.name) + " = ") + "%" + names_[output.value]);
    return fmt::format("return {}", fmt::join(list, ", "));
  }

  const Graph& graph_;
  ValueNames names_;
};

std::string line(const Module::Parameter& parameter, const Mesh& mesh) {
  Fields fields;
  if (parameter.init != Initializer{}) fields.add("init", str(parameter.init));
  if (!parameter.decay) fields.add("decay", "false");
  if (!parameter.checkpoint_names.empty()) fields.add("checkpoint", text(parameter.checkpoint_names));
  if (parameter.transposed) fields.add("transposed", "true");
  if (parameter.stacked) fields.add("stacked", "true");
  if (parameter.frozen) fields.add("frozen", "true");
  return fmt::format("parameter {}{} : {}{}\n", quote(parameter.name), fields.str(), str(parameter.type),
                     on(parameter.sharding, mesh));
}

/// The mesh, which declares its coordinates, the other symbols, and which of them are cut.
std::string ranks_and_symbols(const Module& module) {
  const Mesh& mesh = module.mesh();
  std::string result = mesh.empty() ? "" : fmt::format("mesh {{{}}}\n", str(mesh));
  Symbols others;
  for (const Symbols::Bound& bound : module.symbols.bounds())
    if (mesh.empty() || bound.lower != 0) others.bound(bound.factors, bound.upper, bound.lower);
  result += text(others);
  if (!module.partitioned) return result;
  std::vector<std::string> cuts;
  for (const auto& [symbol, axes] : *module.partitioned) {
    std::vector<std::string> names;
    for (const size_t axis : axes) names.push_back(mesh.axes[axis].name);
    cuts.push_back(fmt::format("{} = {}", symbol, text_of_axes(names)));
  }
  return result + fmt::format("partitioned {{{}}}\n", fmt::join(cuts, ", "));
}

}  // namespace

std::string print(const Node& node) { return GraphPrinter(node.graph()).node(node, 0); }

std::string print(const Graph& graph) { return GraphPrinter(graph).graph(); }

std::string print(const Module& module) {
  std::string result = ranks_and_symbols(module);
  if (!module.description.empty()) result += fmt::format("description {}\n", quote(module.description));
  if (module.random_ids != 0) result += fmt::format("random_ids {}\n", module.random_ids);
  for (const Module::Parameter& parameter : module.parameters) result += line(parameter, module.mesh());
  for (const auto& group : module.adjacent) result += fmt::format("adjacent {}\n", text(group));
  for (const State& state : module.states) result += text(state);
  for (size_t i = 0; i < module.buffers.size(); ++i) result += text(module.buffers[i], i);
  for (const auto& graph : module.graphs) result += (result.empty() ? "" : "\n") + print(*graph);
  return result;
}

}  // namespace smelt

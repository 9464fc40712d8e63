#include "ir/text/text.h"

#include <fmt/ranges.h>

#include <map>

#include "ir/text/lexer.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace smelt {
namespace {

/// Styles of nodes: the first matching row applies.
struct Style {
  bool (*fits)(const Node&);
  std::string_view text;
};

constexpr Style kStyles[] = {
    {[](const Node& n) { return n.is(Op::input); }, "shape=ellipse, fillcolor=\"#cfe8ff\""},
    {[](const Node& n) { return n.is(Op::parameter) || n.is(Op::state); },
     "shape=note, fontsize=8, height=0.2, margin=\"0.06,0.02\", fillcolor=\"#eeeeee\""},
    {[](const Node& n) { return info(n.op()).has(Trait::leaf); },
     "shape=plaintext, fontsize=8, height=0.2, fillcolor=\"#ffffff\""},
    {[](const Node& n) { return n.is(Op::matmul) || n.is(Op::linear) || n.is(Op::einsum); },
     "shape=box, fillcolor=\"#ffd28a\""},
    {[](const Node& n) { return n.is(Op::fusion) && n.phase == Phase::backward; },
     "shape=box, fillcolor=\"#e2d4f5\""},
    {[](const Node& n) { return n.is(Op::fusion) && n.phase == Phase::update; },
     "shape=box, fillcolor=\"#fbd5dc\""},
    {[](const Node& n) { return n.is(Op::fusion); }, "shape=box, fillcolor=\"#cdeccd\""},
    {[](const Node& n) { return n.is(Op::update); }, "shape=cds, fillcolor=\"#f7c6cf\""},
    {[](const Node& n) { return info(n.op()).has(Trait::view); },
     "shape=box, fontsize=9, fillcolor=\"#f6f6f6\""},
    {[](const Node&) { return true; }, "shape=box, fillcolor=\"#ffffff\""},
};

std::string_view style_of(const Node& node) {
  for (const Style& style : kStyles)
    if (style.fits(node)) return style.text;
  return "";
}

std::string attribute_text(const Node& node, AttributeKey key) {
  const Attribute* found = node.attributes.find(key);
  if (!found) return "";
  const auto* text = std::get_if<std::string>(found);
  return text ? *text : str(*found);
}

/// "add" or "reduce max"
std::string operation(const Node& node) {
  return node.is(Op::reduce) ? fmt::format("reduce {}", name(node.reduce_op)) : std::string(node.mnemonic());
}

/// "sub, mul, reduce add, rsqrt": runs of one operation counted, in lines of a few.
std::string body_text(const Graph& body) {
  constexpr size_t kWidth = 34, kMostLines = 8;
  std::vector<std::string> lines{""};
  for (const auto& node : body.nodes()) {
    const bool silent = node->is(Op::input) || node->is(Op::constant) || node->is(Op::broadcast);
    if (silent) continue;
    if (lines.back().size() > kWidth) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : ", ") + operation(*node);
  }
  const size_t hidden = lines.size() > kMostLines ? lines.size() - kMostLines : 0;
  lines.resize(lines.size() - hidden);
  if (hidden > 0) lines.push_back(fmt::format("... {} lines more", hidden));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string label(const Node& node) {
  if (node.is(Op::input)) return attribute_text(node, attr::name) + "\n" + str(node.result()->type);
  if (node.is(Op::parameter) || node.is(Op::state))
    return attribute_text(node, attr::name) + "\n" + str(node.result()->type);
  if (node.is(Op::constant)) return node.has(attr::values) ? "table" : attribute_text(node, attr::value);
  if (node.is(Op::update)) return "update " + attribute_text(node, attr::state);
  std::string text = node.is(Op::fusion) ? "fusion" : operation(node);
  if (!node.source.empty()) text = node.source + (node.is(Op::fusion) ? "" : "\n" + text);
  if (node.has(attr::spec)) text += " " + attribute_text(node, attr::spec);
  if (node.body) text += "\n" + body_text(*node.body);
  return text;
}

class DotPrinter {
 public:
  DotPrinter(const Graph& graph, llvm::function_ref<bool(const Node&)> is_drawn) : graph_(graph) {
    for (const auto& node : graph.nodes()) {
      numbers_[node.get()] = numbers_.size();
      if (!is_drawn || is_drawn(*node)) drawn_.insert(node.get());
    }
  }

  std::string print() const {
    std::string text = fmt::format("digraph {} {{\n", quote(graph_.name));
    text += "  rankdir=TB; ranksep=0.35; nodesep=0.2;\n";
    text += "  node [style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=10, color=\"#666666\"];\n";
    text +=
        "  edge [fontname=\"Helvetica\", fontsize=8, color=\"#777777\", fontcolor=\"#555555\", "
        "arrowsize=0.6];\n";
    std::map<std::string, std::string> layers;
    for (const auto& node : graph_.nodes())
      if (drawn_.contains(node.get())) layers[layer_of(*node)] += "  " + this->node(*node);
    for (const auto& [layer, nodes] : layers) text += layer.empty() ? nodes : cluster(layer, nodes);
    text += neighbours();
    for (const auto& node : graph_.nodes()) text += edges(*node);
    return text + outputs() + "}\n";
  }

 private:
  static std::string cluster(const std::string& layer, const std::string& nodes) {
    return fmt::format(
        "  subgraph {} {{\n    label={}; style=\"rounded\"; color=\"#bbbbbb\"; fontname=\"Helvetica\"; "
        "fontsize=10;\n{}  }}\n",
        quote("cluster " + layer), quote(layer), nodes);
  }

  std::string node(const Node& node) const {
    return fmt::format("n{} [label={}, {}];\n", numbers_.lookup(&node), quote(label(node)), style_of(node));
  }

  bool is_neighbour(const Node& node) const {
    const auto is_drawn = [&](const Node* other) { return drawn_.contains(other); };
    return llvm::any_of(node.operands(), [&](const Value* operand) { return is_drawn(operand->node()); }) ||
           llvm::any_of(node.results(),
                        [&](const auto& result) { return llvm::any_of(result->users(), is_drawn); });
  }

  std::string neighbours() const {
    std::string text;
    for (const auto& node : graph_.nodes())
      if (!drawn_.contains(node.get()) && is_neighbour(*node))
        text +=
            fmt::format("  n{} [label={}, shape=plaintext, fontsize=8, style=\"\", fontcolor=\"#777777\"];\n",
                        numbers_.lookup(node.get()), quote(node->describe()));
    return text;
  }

  std::string edges(const Node& node) const {
    std::string text;
    for (const Value* operand : node.operands()) {
      if (!drawn_.contains(&node) && !drawn_.contains(operand->node())) continue;
      const bool labelled =
          !info(operand->node()->op()).has(Trait::leaf);  // leaves show their type themselves
      text += fmt::format("  n{} -> n{}{};\n", numbers_.lookup(operand->node()), numbers_.lookup(&node),
                          labelled ? fmt::format(" [label={}]", quote(str(operand->type))) : "");
    }
    return text;
  }

  std::string outputs() const {
    std::string text;
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const auto& [name, value] = graph_.outputs[i];
      if (!drawn_.contains(value->node())) continue;
      text += fmt::format("  o{} [label={}, shape=ellipse, fillcolor=\"#b9d7f5\"];\n  n{} -> o{};\n", i,
                          quote(name + "\n" + str(value->type)), numbers_.lookup(value->node()), i);
    }
    return text;
  }

  const Graph& graph_;
  llvm::DenseMap<const Node*, size_t> numbers_;
  llvm::DenseSet<const Node*> drawn_;
};

}  // namespace

std::string layer_of(const Node& node) {
  llvm::StringRef left = node.source;
  size_t length = 0;
  while (!left.empty()) {
    auto [part, rest] = left.split('.');
    length += part.size();
    if (!part.empty() && part.find_first_not_of("0123456789") == llvm::StringRef::npos)
      return node.source.substr(0, length);
    left = rest;
    ++length;
  }
  return "";
}

std::string typical_layer(const Graph& graph) {
  std::vector<std::string> layers;
  for (const auto& node : graph.nodes())
    if (std::string layer = layer_of(*node); !layer.empty() && !llvm::is_contained(layers, layer))
      layers.push_back(std::move(layer));
  return layers.empty() ? "" : layers[layers.size() / 2];
}

std::string dot(const Graph& graph, llvm::function_ref<bool(const Node&)> is_drawn) {
  return DotPrinter(graph, is_drawn).print();
}

}  // namespace smelt

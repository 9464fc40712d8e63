#include "passes/graph/fusion/member_links.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/simplify/simplify_rules.h"

namespace smelt {
namespace {

/// The operation that alone reads a value, and the broadcast that is its other operand.
struct Reader {
  Node* node = nullptr;
  unsigned side = 0;
  const Node* broadcast = nullptr;
};

/// Returns no node where there is no such operation.
Reader reader_of(const Value* value) {
  if (!has_one_use(*value)) return {};
  Node* node = value->users()[0];
  if (!node->is(Op::pointwise) || node->operands().size() != 2 || node->operand(0) == node->operand(1))
    return {};
  const unsigned side = node->operand(0) == value ? 0 : 1;
  const Node* broadcast = node->operand(1 - side)->node();
  if (!broadcast->is(Op::broadcast) || node->result()->type != value->type) return {};
  return {node, side, broadcast};
}

bool are_alike(const Reader& a, const Reader& b) {
  return a.node->scalar_op == b.node->scalar_op && a.side == b.side && a.node->phase == b.node->phase &&
         a.broadcast->get(attr::axes) == b.broadcast->get(attr::axes);
}

/// Returns the nodes before `place` in program order.
llvm::DenseSet<const Node*> nodes_before(const Graph& graph, const Node* place) {
  llvm::DenseSet<const Node*> nodes;
  for (const auto& node : graph.nodes()) {
    if (node.get() == place) break;
    nodes.insert(node.get());
  }
  return nodes;
}

class LinkFinder {
 public:
  LinkFinder(Graph& graph, int64_t axis, const Node* place)
      : module_(graph.module()), axis_(axis), before_(nodes_before(graph, place)) {}

  /// Returns a link without nodes where the values have none in common.
  Link next(const std::vector<Value*>& values) const {
    std::vector<Reader> readers;
    for (const Value* value : values) readers.push_back(reader_of(value));
    const Reader& first = readers[0];
    if (!llvm::all_of(readers, [&](const Reader& each) {
          return each.node && are_alike(first, each) && each.node->phase == values[0]->node()->phase;
        }))
      return {};
    Link link;
    link.side = first.side, link.axes = first.broadcast->get(attr::axes);
    if (!shares(readers, link) && !stacks(readers, link)) return {};
    for (const Reader& each : readers) link.nodes.push_back(each.node);
    return link;
  }

 private:
  bool shares(const std::vector<Reader>& readers, Link& link) const {
    Value* value = readers[0].broadcast->operand(0);
    if (llvm::is_contained(link.axes, axis_) || !before_.contains(value->node())) return false;
    link.shared = value;
    return llvm::all_of(readers, [&](const Reader& each) { return each.broadcast->operand(0) == value; });
  }

  bool stacks(const std::vector<Reader>& readers, Link& link) const {
    link.shared = nullptr;
    if (link.axes != std::vector<int64_t>{axis_}) return false;
    for (const Reader& each : readers) {
      const std::string name = parameter_name(each.broadcast->operand(0));
      if (name.empty()) return false;
      link.parameters.push_back(name);
    }
    const auto stack = stackable(module_, link.parameters);
    return stack && *stack == link.parameters;
  }

  Module& module_;
  const int64_t axis_;
  const llvm::DenseSet<const Node*> before_;
};

}  // namespace

std::vector<Link> links_of(Graph& graph, const Members& members, int64_t axis, const Node* place) {
  const LinkFinder finder(graph, axis, place);
  std::vector<Value*> values;
  for (const Member& member : members) values.push_back(member.node->result());
  std::vector<Link> links;
  for (Link found = finder.next(values); !found.nodes.empty(); found = finder.next(values)) {
    for (auto [value, node] : llvm::zip(values, found.nodes)) value = node->result();
    links.push_back(std::move(found));
  }
  return links;
}

Value* link(GraphBuilder& b, const Link& link, Value* whole) {
  if (!link.shared) record(b.module(), link.parameters);
  Value* other = link.shared ? link.shared : build_stack(b, link.parameters);
  Value* operands[2] = {whole, whole};
  operands[1 - link.side] = b.broadcast(other, link.axes, whole->shape());
  return b.pointwise(link.nodes[0]->scalar_op, operands);
}

}  // namespace smelt

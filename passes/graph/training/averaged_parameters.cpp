#include "passes/graph/training/averaged_parameters.h"

#include "ir/graph/builder.h"

namespace smelt {
namespace {

std::vector<Node*> trained_parameters(const Graph& graph, const State& offsets) {
  std::vector<Node*> parameters;
  for (const auto& node : graph.nodes())
    if (node->is(Op::parameter) && find_segment(offsets, node->get(attr::name)))
      parameters.push_back(node.get());
  return parameters;
}

}  // namespace

bool read_averages(Graph& graph) {
  const State* offsets = graph.module().find_state(kAverageOffset);
  if (!offsets) return false;
  const std::vector<Node*> parameters = trained_parameters(graph, *offsets);
  if (parameters.empty()) return false;
  GraphBuilder b(graph, graph.nodes().front().get());
  Value* all = b.state(kAverageOffset);
  for (Node* node : parameters) {
    Value* parameter = node->result();
    const Segment& segment = *find_segment(*offsets, node->get(attr::name));
    b.insert_before(graph.next(node));
    b.set_source(node->source);
    Value* offset = b.reshape(b.slice(all, 0, segment.offset, segment.elements()), parameter->shape());
    Value* averaged = b.add(parameter, offset);
    graph.replace_uses_if(parameter, averaged, [&](Node& user) { return &user != averaged->node(); });
    for (Graph::Output& output : graph.outputs)
      if (output.value == parameter) output.value = averaged;
  }
  return true;
}

}  // namespace smelt

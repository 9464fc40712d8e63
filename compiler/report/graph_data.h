// The fused graph of an entry as a report draws it: nodes, what is in them, and the bytes between them.
#pragma once

#include "compiler/report/node_links.h"
#include "compiler/report/text_pool.h"

namespace smelt {

/// Returns one object per node, in program order; operands are [position of the node, result] and results are
/// [type, bytes at the bounds]. Texts are stored in the pool.
///   {"op", "source", "layer", "phase", "kind": "leaf"|"view"|"effect"|"step", "in", "out", "body"?: text,
///    "steps": [numbers]}
Json graph_data(const Graph& graph, const std::vector<NodeSteps>& links, TextPool& texts);

/// The nodes of a body in reading_order, a line each, numbered from %0; its inputs are %a0, %a1, ...
std::string body_text(const Graph& body);

}  // namespace smelt

#include "passes/graph/fusion/split_bodies.h"

#include "passes/analysis.h"
#include "passes/graph/fusion/bodies.h"
#include "passes/graph/fusion/fuse.h"
#include "runtime/base/error.h"

namespace smelt {

bool split_bodies(Graph& graph, const SplitBodiesOptions& options) {
  bool changed = false;
  for (Node* node : nodes_of(graph, Op::matmul)) {
    if (!node->body || options.target.keeps_body(*node)) continue;
    split_body(graph, node);
    changed = true;
  }
  if (changed) fuse(graph, {});
  return changed;
}

}  // namespace smelt

#include "passes/fusion/split_bodies.h"

#include "passes/analysis.h"
#include "passes/fusion/bodies.h"
#include "passes/fusion/fuse.h"
#include "runtime/error.h"

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

void set_option(SplitBodiesOptions& options, std::string_view key, std::string_view value) {
  if (key != "target") fail("split_bodies has no option '{}': expected target", key);
  options.target = parse_target(value);
}

}  // namespace smelt

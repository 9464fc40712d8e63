// Products of activations by weights, which passes over their precision rewrite: their weights by name, the
// sizes of these, and which products follow one another.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// A product of activations by a weight.
struct WeightProduct {
  Node* node;
  unsigned weight;  // the operand
  Value* activations() const { return node->operand(1 - weight); }
  /// Returns the names of the parameters that the weight shows.
  std::set<std::string> names() const;
};

/// Returns the products of f32 activations by a weight, in program order. A weight is a parameter, a view of
/// one, or a concat of such.
std::vector<WeightProduct> weight_products(const Graph& graph);
/// Returns the nodes from whose results activations of a product are computed.
std::set<const Node*> nodes_before(const std::vector<WeightProduct>& products);

/// Products of the dims of a weight that are summed over, and of those of the result.
struct WeightSize {
  int64_t inputs = 1, outputs = 1;
};
/// Returns nothing for a weight with sizes that are not known, or with a batch.
std::optional<WeightSize> size_of_weight(const WeightProduct& product);
/// Returns whether inputs and outputs are multiples of 16, the bytes that a GPU's library reads together.
bool is_whole_lines(const WeightSize& size);

/// Returns the names of the parameters that fit one of the patterns (passes/parameter_patterns.h).
std::set<std::string> names_that_fit(const Module& module, const std::vector<std::string>& patterns);
/// Returns an id that no cotangent of the graph has.
int64_t next_cotangent(const Graph& graph);

}  // namespace smelt

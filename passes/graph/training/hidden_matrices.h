// Hidden matrices: the parameters for which optimizers with orthogonal directions, such as Muon, are meant.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns the names of the trained parameters of two dims, or of three (a stack of matrices that is
/// multiplied as such), that the graph only multiplies, each time with a product with another parameter after
/// it. So tables of embeddings, which are gathered, and heads, after which no parameter is multiplied, are
/// not hidden.
std::vector<std::string> hidden_matrices(const Graph& graph);

}  // namespace smelt

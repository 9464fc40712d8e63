// cut_stages: the forward graph of a model becomes the parts of it that lie on one stage of a pipeline.
//
//   graph @loss { ... }   ->   graph @loss.0 { ... return values.1.0 = %x }
//                              graph @loss.2 (%values.2.0: f32[..]) { ... return loss_sum = .. }
//
// Part k lies on stage k modulo the number of stages. What crosses the boundary in front of part k is called
// values.K.0, values.K.1, ...: outputs of part k - 1, inputs of part k; a part hands on what later ones need.
// What takes no matrix product and no more parameters than it has elements, such as masks and positions, is
// computed again where it is read. Every part has all inputs, and so has a graph @batch, which returns
// nothing but token_count: what a stage feeds. Parameters that no part of the stage reads are gone; one that
// several stages read is held by each (Parameter::stages), and one that nobody reads by the first. The output
// token_count, which depends on inputs alone, is of every part. Contract: the parts, one behind the other,
// compute what the graph did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/analysis/node_seconds.h"
#include "ir/graph.h"

namespace smelt {

struct CutStagesOptions {
  int64_t stages = 1, parts_a_stage = 1;
  int64_t stage = 0;  // whose parts stay
  /// The graph to cut, and those that are cut at the same places where there are such.
  std::string loss = "loss";
  std::vector<std::string> others = {};
  NodeSecondsOptions time = {.rates = rates_of({})};

  int64_t parts() const { return stages * parts_a_stage; }
};
/// Other graphs of the module stay. Composites are decomposed before, but for those with derivatives of their
/// own. Throws Error where the graph cannot be cut into so many parts, or token_count depends on parameters.
bool cut_stages(Module& module, const CutStagesOptions& options);

/// The graph of what every part is given.
inline constexpr std::string_view kBatchEntry = "batch";
/// "loss.3"
std::string part_name(std::string_view graph, int64_t part);
/// The number behind the last dot where the name is that of a part of `graph`.
std::optional<int64_t> part_number(std::string_view name, std::string_view graph);
/// "values.3.0" and "gradients.3.0": what crosses the boundary in front of part 3.
std::string values_name(int64_t part, size_t number);
std::string gradients_name(int64_t part, size_t number);

}  // namespace smelt

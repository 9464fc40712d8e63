// cut_stages: cuts the forward graph of a model into the parts that one stage of a pipeline runs.
//
//   graph @loss { ... }   ->   graph @loss.0 { ... return values.1.0 = %x }
//                              graph @loss.2 (%values.2.0: f32[..]) { ... return loss_sum = .. }
//
// Part k is on stage k modulo the number of stages. Values that cross the boundary before part k are called
// values.K.0, values.K.1, ...: outputs of part k - 1 and inputs of part k. A part also passes on the values
// that only later parts need. A value that takes no matrix product and no more parameters than it has
// elements, such as a mask or positions, is recomputed by each reader's part. Every part has all inputs, and
// so has a graph @batch, which returns only token_count and describes the inputs of a stage. Parameters that
// no part of the stage reads are removed; a parameter that several stages read is on each of them
// (Parameter::stages), and one without readers is on the first. Every part has the output token_count, which
// depends on inputs alone. Ensures: the parts, run one after another, compute the results of the graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct CutStagesOptions {
  int64_t stages = 1, parts_a_stage = 1;
  int64_t stage = 0;  // the stage whose parts stay
  /// Graph to cut; `others` are cut at the same values if they exist.
  std::string loss = "loss";
  std::vector<std::string> others = {};
  // Target and element types for which the times of parts are predicted.
  Target target = {};
  DType storage = DType::f32;
  bool tf32 = false;

  int64_t parts() const { return stages * parts_a_stage; }
};
template <typename Field>
void visit_options(Field& field, CutStagesOptions& o) {
  field("stages", RangedOption{o.stages, 1}), field("parts_a_stage", RangedOption{o.parts_a_stage, 1});
  field("stage", RangedOption{o.stage});
  field("loss", o.loss), field("others", o.others);
  field("target", o.target), field("storage", o.storage), field("tf32", o.tf32);
}
/// Cuts the graph; other graphs of the module stay. Composites without derivative rules are decomposed first.
/// Throws Error if the graph cannot be cut into that number of parts, or if token_count depends on
/// parameters.
bool cut_stages(Module& module, const CutStagesOptions& options);

/// Name of the graph that has the inputs of every part.
inline constexpr std::string_view kBatchEntry = "batch";
/// Returns the name of a part: "loss.3".
std::string part_name(std::string_view graph, int64_t part);
/// Returns the number after the last dot if `name` is that of a part of `graph`.
std::optional<int64_t> part_number(std::string_view name, std::string_view graph);
/// Returns the names of a value that crosses the boundary before part 3, and of its gradient: "values.3.0"
/// and "gradients.3.0".
std::string values_name(int64_t part, size_t number);
std::string gradients_name(int64_t part, size_t number);

}  // namespace smelt

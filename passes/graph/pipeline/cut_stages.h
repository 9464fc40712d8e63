// cut_stages: cuts the forward graph of a model into parts, and keeps the parts that one stage of a pipeline
// runs. Example: stage 0 of two stages with two parts each.
//
//   graph @loss { ... }   ->   graph @loss.0 { ... return values.1.0 = %x }
//                              graph @loss.2 (%values.2.0: f32[..]) { ... return values.3.0 = .. }
//
// Part K is on stage K modulo the number of stages. The values that cross the boundary before part K are
// called values.K.0, values.K.1, ... They are outputs of part K - 1 and inputs of part K. A value that is
// read only after part K is also passed through part K: it is an input and an output of K. Values that are
// cheap to compute, such as a mask or positions, do not cross a boundary: each part that reads such a value
// recomputes it (remade_values.h).
//
// Every part has all inputs of the graph. A new graph @batch has the same inputs and returns only
// token_count. The inputs of @batch are those that a caller of the stage must give to every part. If the
// graph has the output token_count, every part has this output too. token_count must be computed from inputs
// alone. Parameters that no part of the stage reads are removed from the module. A parameter that several
// stages read is on each of them (Module::Parameter::stages), and a parameter without readers is on the first
// stage. Runs after decompose. Ensures: all parts, run one after another, compute the results of the graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct CutStagesOptions {
  int64_t stages = 1, parts_a_stage = 1;  // number of stages; number of parts per stage
  int64_t stage = 0;                      // the stage whose parts are kept
  /// Name of the graph to cut. `others` are names of graphs that are cut at the same values, if they exist.
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
/// Cuts the graphs `loss` and `others`. All further graphs of the module do not change. Throws Error if there
/// is no graph `loss`, if it cannot be cut into that number of parts, or if token_count depends on
/// parameters.
bool cut_stages(Module& module, const CutStagesOptions& options);

/// Name of the new graph that has the inputs of the cut graph.
inline constexpr std::string_view kBatchEntry = "batch";
/// Returns the name of a part: "loss.3".
std::string part_name(std::string_view graph, int64_t part);
/// Returns the number of the part if `name` is the name of a part of `graph`, else nothing.
std::optional<int64_t> part_number(std::string_view name, std::string_view graph);
/// Return the name of the value with the index `number` at the boundary before `part` ("values.3.0"), and the
/// name of its gradient ("gradients.3.0").
std::string values_name(int64_t part, size_t number);
std::string gradients_name(int64_t part, size_t number);

}  // namespace smelt

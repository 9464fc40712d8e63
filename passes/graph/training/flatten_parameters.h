// flatten_parameters: packs the module's parameters into segments of flat states: trained parameters into
// "parameters", frozen ones into "parameters.frozen". If all are frozen they are in "parameters".
//
//   parameter "a" : f32[3,5]            state "parameters" : f32[32] with the segments
//   parameter "b" : f32[7]        =>    "a" at 0 (f32[3,5]), "b" at 16 (f32[7])
//
// Decayed parameters come first, so that weight decay is `index < boundary`. A segment's offset is a multiple
// of 16 elements, except for members of a group in Module::adjacent, which follow each other without a gap.
// Padding holds zeros. `parameter` nodes stay as they are and mean their segment. With a narrow storage type
// there is a rounded copy in addition to the f32 masters, "parameters.bf16", with the same segments at the
// same offsets; without masters "parameters" itself is narrow. Frozen parameters are in the storage type
// alone, because no update is added to them. Ensures: no graph changes.
//
// If ranks share the flat states, these are [buckets, rows, row]: every rank takes the same number of rows of
// each bucket, so that one bucket can be summed or gathered while others are still computed. Segments count
// elements row after row, and may cross from one bucket to the next; if little padding suffices, layers begin
// at bucket borders (bucket_layout.h).
#pragma once

#include "ir/graph/builder.h"
#include "ir/pass_options.h"

namespace smelt {

struct FlattenParametersOptions {
  DType storage = DType::f32;
  bool masters = true;                // "parameters" is f32 for every storage type
  int64_t ranks = 0;                  // ranks that share the rows of a bucket; 0: flat states have one dim
  bool frozen_from_model = false;     // checkpoints leave "parameters.frozen" out
  int64_t bucket = int64_t{1} << 24;  // most elements per bucket, before rounding up to whole rows
  int64_t padding = 32;               // at most 1 / padding of the elements pad layers to bucket borders
};
template <typename Field>
void visit_options(Field& field, FlattenParametersOptions& o) {
  field("storage", o.storage), field("masters", o.masters), field("ranks", RangedOption{o.ranks, 1});
  field("frozen_from_model", o.frozen_from_model), field("bucket", RangedOption{o.bucket, 1});
  field("padding", RangedOption{o.padding, 1});
}
/// Flattens the parameters. Returns false if the state exists already or there is nothing to flatten.
bool flatten_parameters(Module& module, const FlattenParametersOptions& options = {});

/// Returns the rounded copy of the flat state of trained parameters; null if there is none.
const State* parameter_copy(const Module& module);
/// Returns each element's position in the flat state, for a flat value of this shape: [elements] or [buckets,
/// rows, row], or a rank's part of it.
Value* flat_places(GraphBuilder& b, const Shape& shape);
/// Returns the flat state of trained parameters; throws Error if flatten_parameters has not run.
const State& flat_parameters(Module& module);
/// Declares a state of the trained parameters' shape and segments (gradients, moments); all begin with
/// `initial`.
State& declare_flat_state(Module& module, std::string name, Role role, double initial = 0);
/// Declares an f32 scalar.
State& declare_scalar_state(Module& module, std::string name, double initial = 0);
/// Returns the end of the decayed segments, or with `all` of all segments: weight decay stops there.
int64_t decay_boundary(const State& flat, bool all = false);

}  // namespace smelt

// flatten_parameters: the module's parameters become segments of flat states: those that are trained of
// "parameters", frozen ones of "parameters.frozen". Where all are frozen "parameters" has them.
//
// Decayed parameters come first, so that weight decay is `index < boundary`. A segment's offset is a multiple
// of 16 elements, but for members of a group in Module::adjacent, which follow each other without a gap.
// Padding holds zeros. `parameter` nodes stay as they are and mean their segment. With a narrow storage type
// there is a rounded copy beside the f32 masters, "parameters.bf16", of the same segments at the same places;
// or without masters "parameters" itself is narrow. Frozen ones are in the storage type alone, since no
// update is to be added to them. Contract: no graph changes.
//
// Where ranks are to have parts of the flat states, these are [buckets, rows, row]: every rank takes as many
// rows of each bucket, so that one bucket can be summed or gathered while others are still computed.
// Segments count elements row after row, and may cross from one bucket to the next; where little padding does
// it, layers begin where buckets do (bucket_layout.h).
#pragma once

#include "ir/builder.h"

namespace smelt {

struct FlattenParametersOptions {
  DType storage = DType::f32;
  bool masters = true;                // "parameters" is f32 whatever the storage type
  int64_t ranks = 0;                  // that the rows of a bucket are divided by; 0: flat states have one dim
  bool frozen_from_model = false;     // checkpoints leave "parameters.frozen" out
  int64_t bucket = int64_t{1} << 24;  // elements of a bucket at most, but for rounding up to whole rows
  int64_t padding = 32;               // one element in so many at most, so that layers begin where buckets do
};
/// storage = "bf16", masters = "true" | "false", frozen_from_model = "true" | "false", ranks = "4",
/// bucket = "4096"
void set_option(FlattenParametersOptions& options, std::string_view key, std::string_view value);
/// Returns false where the state exists already or there is nothing to flatten.
bool flatten_parameters(Module& module, const FlattenParametersOptions& options = {});

/// The rounded copy of the flat state of what is trained; null where there is none.
const State* parameter_copy(const Module& module);
/// Of a flat value, [elements] or [buckets, rows, row], or of a part of it: each element's place in the flat
/// state of the value's shape.
Value* flat_places(GraphBuilder& b, const Shape& shape);
/// The flat state of what is trained; throws Error where flatten_parameters has not run.
const State& flat_parameters(Module& module);
/// Declares a state of the trained parameters' shape and segments (gradients, moments); all begin with
/// `initial`.
State& declare_flat_state(Module& module, std::string name, Role role, double initial = 0);
/// Declares an f32 scalar.
State& declare_scalar_state(Module& module, std::string name, double initial = 0);
/// The end of the decayed segments, or with `all` of all: where weight decay stops.
int64_t decay_boundary(const State& flat, bool all = false);

}  // namespace smelt

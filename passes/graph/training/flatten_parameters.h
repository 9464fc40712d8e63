// flatten_parameters: packs the module's parameters into segments of flat states: trained parameters into
// "parameters", frozen ones into "parameters.frozen". If all are frozen they are in "parameters".
//
//   parameter "a" : f32[3,5]            state "parameters" : f32[32] with the segments
//   parameter "b" : f32[7]        =>    "a" at 0 (f32[3,5]), "b" at 16 (f32[7])
//
// Parameters with weight decay come first, so that an element is decayed if its index is below a boundary. A
// segment's offset is a multiple of 16 elements. Exceptions are the second and later members of a group in
// Module::adjacent: members of a group follow each other without a gap. Padding holds zeros. `parameter`
// nodes stay and read their segment. With a narrow storage type, such as bf16, there are two states:
// "parameters", the masters, is f32, and "parameters.bf16" is a rounded copy with the same segments at the
// same offsets. Without masters, "parameters" itself is narrow. Frozen parameters have no masters, because no
// update is added to them. Ensures: no graph changes.
//
// If ranks share the flat states, these have the shape [buckets, rows, row], where `row` is the number of
// elements per row. Every rank has the same number of rows of each bucket, so that one bucket can be summed
// or gathered while others are still computed. Segment offsets count elements in row-major order, and a
// segment may cross from one bucket to the next. If little padding suffices, layers begin at bucket borders
// (bucket_layout.h).
#pragma once

#include "ir/graph/builder.h"
#include "ir/pass_options.h"

namespace smelt {

struct FlattenParametersOptions {
  DType storage = DType::f32;         // element type of the parameters that forward and backward read
  bool masters = true;                // "parameters" is f32 for every storage type
  int64_t ranks = 0;                  // ranks that share the rows of a bucket; 0: flat states have one dim
  bool frozen_from_model = false;     // true: checkpoints omit "parameters.frozen"
  int64_t bucket = int64_t{1} << 24;  // most elements per bucket, before rounding up to whole rows
  int64_t multiple = 1;               // the number of elements of a flat state of one dim is a multiple of it
  int64_t padding = 32;               // padding up to bucket borders is at most 1 / padding of all elements
};
template <typename Field>
void visit_options(Field& field, FlattenParametersOptions& o) {
  field("storage", o.storage), field("masters", o.masters), field("ranks", RangedOption{o.ranks, 1});
  field("frozen_from_model", o.frozen_from_model), field("bucket", RangedOption{o.bucket, 1});
  field("multiple", RangedOption{o.multiple, 1}), field("padding", RangedOption{o.padding, 1});
}
/// Flattens the parameters. Returns false if the state "parameters" exists already, or if the module has no
/// parameters.
bool flatten_parameters(Module& module, const FlattenParametersOptions& options = {});

/// Returns the rounded copy of the flat state of trained parameters; null if there is none.
const State* parameter_copy(const Module& module);
/// Returns each element's row-major index in a flat value, as an i32 value of the same shape: [elements] or
/// [buckets, rows, row]. After partition, elements of a rank's part have their index in the whole value.
Value* flat_places(GraphBuilder& b, const Shape& shape);
/// Returns the flat state of trained parameters; throws Error if flatten_parameters has not run.
const State& flat_parameters(Module& module);
/// Declares an f32 state with the shape and segments of the trained parameters, such as gradients or moments.
/// All elements begin as `initial`. Returns the existing state if the name is declared already.
State& declare_flat_state(Module& module, std::string name, Role role, double initial = 0);
/// Declares an f32 scalar. Returns the existing state if the name is declared already.
State& declare_scalar_state(Module& module, std::string name, double initial = 0);
/// Declares a state of the optimizer that has zeros and no segments. Returns the existing state if the name
/// is declared already.
State& declare_vector_state(Module& module, std::string name, Shape shape, DType dtype = DType::f32);
/// Returns the end of the last segment with weight decay, as an index of the flat state; if `all`, the end of
/// the last segment. Elements from this index on are not decayed.
int64_t decay_boundary(const State& flat, bool all = false);

}  // namespace smelt

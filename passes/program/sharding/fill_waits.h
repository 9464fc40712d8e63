// fill_waits: moves a matmul that a collective does not need after the collective, where the next step would
// otherwise wait for the ranks. In backward, the gradient of a weight is then computed concurrently with the
// sum of the gradient that is passed on.
//
//   g = gemm; y = gemm; s = all_reduce y; gemm s   ->   y = gemm; s = all_reduce y; g = gemm; gemm s
//
// The pass simulates the steps with a clock. Matmuls are delayed, but only past a few steps that share no
// written memory with them, so that their operands live only a little longer. When a step would wait, the
// delayed matmul that fits the wait best runs first, then others while there is time. Those that fill no wait
// stay in place. Of gathers that begin together, the one that is needed first is first. Runs before
// overlap_collectives, which sets the waits.
#pragma once

#include "ir/pass_options.h"
#include "ir/program/program.h"

namespace smelt {

struct FillWaitsOptions {
  /// Floating-point operations that take as long as the transfer of one byte to another rank: tensor cores
  /// against NVLink.
  double flops_a_byte = 1500;
  /// The same per byte of the GPU's own memory.
  double flops_a_byte_of_memory = 250;
  int64_t most_places = 24;
};
template <typename Field>
void visit_options(Field& field, FillWaitsOptions& o) {
  field("flops_a_byte", o.flops_a_byte), field("flops_a_byte_of_memory", o.flops_a_byte_of_memory);
  field("most_places", o.most_places);
}
bool fill_waits(Program& program, const FillWaitsOptions& options = {});

}  // namespace smelt

// fill_waits: moves a matmul from before a collective to after it, if the collective does not read the
// matmul's result, and if the step after the collective would otherwise wait for the collective to finish. In
// backward, the gradient of a weight is then computed while ranks sum the gradient of an activation.
//
//   g = gemm; y = gemm; s = all_reduce y; gemm s   ->   y = gemm; s = all_reduce y; g = gemm; gemm s
//
// The pass simulates the entry with estimated times of its steps and collectives. A matmul may be delayed
// past steps that neither use its result nor overwrite its operands, but past at most `most_places` steps, so
// that the memory of the operands is not occupied much longer. If a step would wait for a collective, delayed
// matmuls are inserted before that step, one after another, until their time fills the wait or no delayed
// matmul is left. The next one is the shortest matmul that fills most of the wait. If none fills most of it,
// the next one is the longest matmul. A matmul that fills no wait does not move. Of two adjacent all_gathers,
// the one whose result is read earlier comes first. Runs before overlap_collectives, which decides when each
// collective begins and which step waits for it.
#pragma once

#include "ir/pass_options.h"
#include "ir/program/program.h"

namespace smelt {

struct FillWaitsOptions {
  /// Number of floating-point operations of tensor cores that take as long as the transfer of one byte to
  /// another rank over NVLink.
  double flops_a_byte = 1500;
  /// Number of floating-point operations that take as long as the transfer of one byte from the GPU's memory.
  double flops_a_byte_of_memory = 250;
  /// Most steps past which a matmul is delayed. All variants of a step count as one step.
  int64_t most_places = 24;
};
template <typename Field>
void visit_options(Field& field, FillWaitsOptions& o) {
  field("flops_a_byte", o.flops_a_byte), field("flops_a_byte_of_memory", o.flops_a_byte_of_memory);
  field("most_places", o.most_places);
}
/// Moves matmuls and all_gathers; returns whether any moved. Changes only entries with collectives.
bool fill_waits(Program& program, const FillWaitsOptions& options = {});

}  // namespace smelt

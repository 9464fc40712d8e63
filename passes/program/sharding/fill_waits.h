// fill_waits: moves a matmul from before a collective to after it, if the collective does not need the
// matmul, and if the step after the collective would otherwise wait for the collective to finish. In
// backward, the gradient of a weight is then computed while ranks sum the gradient of an activation.
//
//   g = gemm; y = gemm; s = all_reduce y; gemm s   ->   y = gemm; s = all_reduce y; g = gemm; gemm s
//
// The pass simulates the steps with a clock. A matmul may be delayed past at most `most_places` steps that
// touch nothing that the matmul writes and write nothing that it reads, so that its operands live only a
// little longer. If a step would wait for a collective, the delayed matmul whose time fits the wait best runs
// first, then others while the wait lasts. A matmul that fills no wait does not move. Adjacent gathers are
// sorted: a gather whose result is read earlier comes first. Runs before overlap_collectives, which decides
// when each collective begins and which step waits for it.
#pragma once

#include "ir/pass_options.h"
#include "ir/program/program.h"

namespace smelt {

struct FillWaitsOptions {
  /// Floating-point operations (of tensor cores) that take as long as the transfer of one byte to another
  /// rank (over NVLink).
  double flops_a_byte = 1500;
  /// Floating-point operations that take as long as the transfer of one byte from the GPU's memory.
  double flops_a_byte_of_memory = 250;
  int64_t most_places = 24;  // most steps past which a matmul is delayed
};
template <typename Field>
void visit_options(Field& field, FillWaitsOptions& o) {
  field("flops_a_byte", o.flops_a_byte), field("flops_a_byte_of_memory", o.flops_a_byte_of_memory);
  field("most_places", o.most_places);
}
/// Moves matmuls and gathers; returns whether any moved. Changes only entries with collectives.
bool fill_waits(Program& program, const FillWaitsOptions& options = {});

}  // namespace smelt

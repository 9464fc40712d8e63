// How long work takes on a target, as predicted from a few rates: what choices between memory and time are
// made by. Predictions rank plans; they are no measurements.
#pragma once

#include "ir/graph.h"
#include "ir/target.h"

namespace smelt {

/// What a target sustains, not its peaks.
struct Rates {
  double bytes_per_second = 0;
  double wide_flops = 0;       // of matmuls of f32, a second; a multiplication and an addition are two
  double tf32_flops = 0;       // of f32 operands with 10 bits of mantissa
  double narrow_flops = 0;     // of bf16 and f16
  double attention_share = 0;  // of a matmul's rate, in attention kernels, what a mask hides counted
  double launch_seconds = 0;   // of a step, whatever it does
  bool operator==(const Rates&) const = default;

  double flops(DType dtype, bool tf32) const {
    return size_of(dtype) < 4 ? narrow_flops : tf32 ? tf32_flops : wide_flops;
  }
  /// A kernel takes the longer of the two times.
  double seconds(double bytes, double flop, double flops_per_second) const;
};

/// Of the row of the target's architecture, or of the one before it; the bytes a second are the device's own.
Rates rates_of(const Target& target);

struct NodeSecondsOptions {
  Rates rates;
  DType storage = DType::f32;  // of floats in memory
  bool tf32 = false;
};

/// Floating-point operations of a matmul or an attention at the symbols' bounds, 0 for all else.
double matrix_flops(const Node& node);
/// The time of a kernel of the node alone, at the symbols' bounds.
double node_seconds(const Node& node, const NodeSecondsOptions& options);

}  // namespace smelt

// Predicted execution times of nodes on a target, from a few rates, for trade-offs between memory and time.
// Predictions rank plans; they are not measurements.
#pragma once

#include "ir/graph/graph.h"
#include "ir/target.h"

namespace smelt {

/// Sustained rates of a target, not its peaks.
struct Rates {
  double bytes_per_second = 0;
  double wide_flops = 0;       // f32 matmuls, per second; a multiply-add is two
  double tf32_flops = 0;       // of f32 operands with 10 bits of mantissa
  double narrow_flops = 0;     // of bf16 and f16
  double attention_share = 0;  // of a matmul's rate, in attention kernels, what a mask hides counted
  double launch_seconds = 0;   // of a step, whatever it does
  bool operator==(const Rates&) const = default;

  double flops(DType dtype, bool tf32) const {
    return size_of(dtype) < 4 ? narrow_flops : tf32 ? tf32_flops : wide_flops;
  }
  /// Returns the time of a kernel: the longer of its memory and its arithmetic time.
  double seconds(double bytes, double flop, double flops_per_second) const;
};

/// Returns the rates of the target's architecture, or of the one before it, with the device's own bytes per
/// second.
Rates rates_of(const Target& target);

struct NodeSecondsOptions {
  Rates rates;
  DType storage = DType::f32;  // of floats in memory
  bool tf32 = false;
};

/// Returns the floating-point operations of a matmul or an attention at the symbols' bounds, 0 for other
/// nodes.
double matrix_flops(const Node& node);
/// Returns the time of a kernel of this node alone, at the symbols' bounds.
double node_seconds(const Node& node, const NodeSecondsOptions& options);

}  // namespace smelt

// Predicted execution times of nodes on a target, from a few rates, for trade-offs between memory and time.
// Predictions rank plans; they are not measurements.
#pragma once

#include "ir/graph/graph.h"
#include "ir/target.h"

namespace smelt {

/// Sustained rates of a target, which are below its peak rates.
struct Rates {
  double bytes_per_second = 0;
  // Floating-point operations per second of matmuls; a multiply-add is two operations.
  double wide_flops = 0;    // f32 operands
  double tf32_flops = 0;    // f32 operands rounded to tf32 (10 bits of mantissa)
  double narrow_flops = 0;  // bf16 and f16 operands
  /// Rate of attention kernels as a fraction of the matmul rate. All pairs of a query and a key count as
  /// computed, including those that a mask hides.
  double attention_share = 0;
  double launch_seconds = 0;  // constant time of each step
  bool operator==(const Rates&) const = default;

  /// Returns the rate of matmuls with operands of this type; `tf32`: f32 operands are rounded to tf32.
  /// Matmuls of f8e4m3 have twice the rate of 16 bits.
  double flops(DType dtype, bool tf32) const {
    if (dtype == DType::f8e4m3) return 2 * narrow_flops;
    return size_of(dtype) < 4 ? narrow_flops : tf32 ? tf32_flops : wide_flops;
  }
  /// Returns the time of a kernel: launch_seconds, plus the longer of its memory time and its arithmetic
  /// time.
  double seconds(double bytes, double flop, double flops_per_second) const;
};

/// Returns the rates of the target's architecture from a table. If the table lacks this architecture, returns
/// those of the newest one before it. bytes_per_second is derived from the device's bandwidth if that is
/// known.
Rates rates_of(const Target& target);

/// The target's rates, and the types that kernels use.
struct NodeSecondsOptions {
  Rates rates;
  DType storage = DType::f32;  // type of floats in memory
  bool tf32 = false;           // matmuls of f32 use tf32
};

/// Returns the floating-point operations of a matmul or an attention at the symbols' bounds, 0 for other
/// nodes.
double matrix_flops(const Node& node);
/// Returns the time, in seconds, of a kernel that computes only this node, at the symbols' bounds.
double node_seconds(const Node& node, const NodeSecondsOptions& options);

}  // namespace smelt

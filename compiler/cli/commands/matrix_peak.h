// The rate that this machine reaches in large matmuls: the reference of MFU.
#pragma once

namespace smelt::cli {

/// Returns the floating-point operations per second of the BLAS that plans call, in an f32 matmul of two
/// 1024x1024 matrices on `threads` threads (0: all): the best of as many runs as fit into a sixth of a
/// second, at least two. The rate is measured, not computed from clock and registers, because clocks change
/// with the instructions in use and are shared, and no plan can be faster than its BLAS for long. A single
/// step may exceed the rate slightly if other processes used the machine during the measurement.
double peak_matrix_flops(int threads = 0);

}  // namespace smelt::cli

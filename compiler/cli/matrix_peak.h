// What this machine reaches in large matmuls: the yardstick of MFU.
#pragma once

namespace smelt::cli {

/// Floating-point operations a second of the BLAS that plans call, in an f32 matmul of two 1024x1024
/// matrices on `threads` threads (0: all): the best of as many as fit into a sixth of a second, at least two.
/// Measured, not computed from clock and registers: clocks change with the instructions in use and are
/// shared, and no plan can be faster than its BLAS for long. A single step may exceed it a little where
/// others used the machine meanwhile.
double peak_matrix_flops(int threads = 0);

}  // namespace smelt::cli

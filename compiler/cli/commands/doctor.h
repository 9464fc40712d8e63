// Measurements and checks of `smelt doctor`.
#pragma once

#include <string>

#include "compiler/cli/shared/text_table.h"
#include "runtime/session/executor.h"

namespace smelt::cli {

// ---- doctor.cpp
// The capabilities of this machine, and the tools that Smelt found on it.

/// Two columns, what and found. `measure`: the bandwidth of a copy, too, which takes a moment.
TextTable doctor_table(bool measure);

// ---- doctor_gpu.cpp
// The report of `smelt doctor` on GPUs and the libraries for them.

void add_gpu_rows(TextTable& table);

// ---- doctor_ranks.cpp
// smelt doctor --ranks: the times of the collectives of a run's ranks, and the rates that each rank reaches
// while all are at work.

/// Measures the rates of ranks, as the rank that this process's launch variables give. Rank 0 prints a table,
/// and stores the rates where the cost model reads them (compiler/search/machine_rates.h). `target`: "cpu",
/// "cuda", or "native": the GPUs where there are any. Throws Error with the way to start ranks where this
/// process was started alone.
void measure_ranks(const std::string& target);

// ---- copy_bandwidth.cpp
// The memory bandwidth that this machine reaches: the reference for kernels that only move data.

/// Returns the bytes read and written per second by a plain copy of arrays far larger than the caches, on
/// `threads` threads (0: all). Returns the best of several measurements.
double copy_bytes_per_second(int threads = 0);
/// The same for the executor's memory: the device's, or else this machine's.
double copy_bytes_per_second(Executor& executor, int threads);

// ---- matrix_peak.cpp
// The rate that this machine reaches in large matmuls: the reference of MFU.

/// Returns the floating-point operations per second of the BLAS that plans call, in an f32 matmul of two
/// 1024x1024 matrices on `threads` threads (0: all): the best of as many runs as fit into a sixth of a
/// second, at least two. The rate is measured, not computed from clock and registers, because clocks change
/// with the instructions in use and are shared, and no plan can be faster than its BLAS for long. A single
/// step may exceed the rate slightly if other processes used the machine during the measurement.
double peak_matrix_flops(int threads = 0);

}  // namespace smelt::cli

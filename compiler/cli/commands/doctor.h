// Measurements and checks of `smelt doctor`.
#pragma once

#include <string>

#include "compiler/cli/shared/text_table.h"
#include "runtime/session/executor.h"

namespace smelt::cli {

// ---- doctor.cpp
// The capabilities of this machine, and the tools that Smelt found on it.

/// Returns a table with the columns "what" and "found". If `measure` is true, also measures the bandwidth of
/// a copy, which takes a moment, and adds it to the table.
TextTable doctor_table(bool measure);

// ---- doctor_gpu.cpp
// The report of `smelt doctor` on GPUs and the libraries for them.

/// Appends the rows about GPUs, drivers and CUDA libraries.
void add_gpu_rows(TextTable& table);

// ---- doctor_ranks.cpp
// smelt doctor --ranks: the times of collectives between the ranks of a run, and the rates of copies and
// matmuls that each rank reaches while all ranks work.

/// Takes part in the measurement as the rank that the launch variables of this process specify. Rank 0 prints
/// a table, and stores the rates for the cost model (compiler/search/machine_rates.h). `target`: "cpu",
/// "cuda", or "native", which means the GPUs if there are any. Throws Error that says how to start ranks if
/// this process was started alone.
void measure_ranks(const std::string& target);

// ---- copy_bandwidth.cpp
// The memory bandwidth that this machine reaches, which is the reference for kernels that only move data.

/// Returns the bytes read and written per second by a plain copy of arrays of 128 MiB on `threads` threads
/// (0: all). The result is the best of several measurements.
double copy_bytes_per_second(int threads = 0);
/// Returns the bytes per second of a copy in the memory of the executor's GPU, or in this machine's memory if
/// the executor runs on the CPU.
double copy_bytes_per_second(Executor& executor, int threads);

// ---- matrix_peak.cpp
// The rate that this machine reaches in large matmuls, which is the reference for MFU (model FLOP
// utilization).

/// Returns the floating-point operations per second of the BLAS that plans call, in an f32 matmul of two
/// 1024x1024 matrices on `threads` threads (0: all). The result is that of the fastest run. The function
/// measures for a sixth of a second, and at least two runs.
double peak_matrix_flops(int threads = 0);

}  // namespace smelt::cli

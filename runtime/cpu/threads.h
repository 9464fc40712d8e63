// Number of OpenMP threads, and the time for which they spin while they wait.
#pragma once

#include <string>

namespace smelt {

// ---- team_threads.cpp
// Number of threads that an OpenMP team can have, because the system may limit the threads of a process.

/// Largest number of threads. OpenBLAS ends the process if more threads multiply than it has memory for.
inline constexpr int kMostThreads = 512;

/// Returns the number of threads for a parallel region of the calling thread: omp_get_max_threads(), but at
/// most kMostThreads, and at most as many as the system lets start. To find this number, a thread's first
/// call starts threads that end immediately, because GCC's OpenMP ends the process if a thread of a team
/// cannot be started. Later calls do so only if they need more threads.
int team_threads();
/// Returns the same with `wanted` in place of omp_get_max_threads().
int team_threads(int wanted);

// ---- thread_waits.cpp
// Time for which an OpenMP thread that waits for work spins before it sleeps. GCC's OpenMP reads it from the
// environment when the library is loaded. With its default of about ten milliseconds, waiting threads take
// processor time from other processes.

/// Environment variable of the spin count: the number of iterations of a loop before a waiting thread sleeps.
inline constexpr const char* kSpinVariable = "GOMP_SPINCOUNT";

/// Returns a value for this variable with which threads spin between the kernels of a run, but sleep soon
/// after the run has ended. Returns "" if the environment already specifies how threads wait.
std::string better_spin_count();

}  // namespace smelt

// Number of OpenMP threads, and the time for which they spin while they wait.
#pragma once

#include <string>

namespace smelt {

// ---- team_threads.cpp
// Number of threads that an OpenMP team can have, because the system may limit the threads of a process.

/// Largest number of threads. OpenBLAS ends the process if too many threads call it concurrently.
inline constexpr int kMostThreads = 512;

/// Returns the number of threads for a parallel region of the calling thread. It is omp_get_max_threads(),
/// but at most kMostThreads, and at most the number of threads that the system can start. GCC's OpenMP ends
/// the process if it cannot start a thread, so the first call tests this: it starts threads that end
/// immediately. A later call tests again only if it needs more threads.
int team_threads();
/// Does the same, with `wanted` instead of omp_get_max_threads().
int team_threads(int wanted);

// ---- thread_waits.cpp
// Time for which an OpenMP thread that waits for work spins before it sleeps. GCC's OpenMP reads it from the
// environment when the library is loaded. With its default of about ten milliseconds, waiting threads take
// processor time from other processes.

/// Environment variable of the spin count: the number of iterations of a loop before a waiting thread sleeps.
inline constexpr const char* kSpinVariable = "GOMP_SPINCOUNT";

/// Returns a value for kSpinVariable. With this value, threads spin between the kernels of a run, but sleep
/// soon after the run has ended. Returns "" if the environment already specifies how threads wait.
std::string better_spin_count();

}  // namespace smelt

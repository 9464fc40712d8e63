// Threads of OpenMP: those of a team, and how they wait.
#pragma once

#include <string>

namespace smelt {

// ---- team_threads.cpp
// Sizes of thread teams that the system lets start.

/// More threads than OpenBLAS has memory for end the process.
inline constexpr int kMostThreads = 512;

/// Returns the number of threads for a parallel region of the calling thread: the number that OpenMP takes
/// there, or fewer if the system refuses to start that many. GCC's OpenMP ends the process when a thread
/// cannot be started, so that number of threads is started first, once for each calling thread, and ends at
/// once.
int team_threads();
/// Returns the same for a region that is to have `wanted` threads.
int team_threads(int wanted);

// ---- thread_waits.cpp
// Spin time of OpenMP threads that wait for work. GCC's OpenMP reads it from the environment when the library
// is loaded; its default of some ten milliseconds keeps the cores from other processes.

/// Environment variable of the spin count: rounds of a loop before a waiting thread sleeps.
inline constexpr const char* kSpinVariable = "GOMP_SPINCOUNT";

/// Returns a spin count with which threads still spin between the kernels of a step, but sleep soon after the
/// step has ended; empty if the environment already says how threads wait.
std::string better_spin_count();

}  // namespace smelt

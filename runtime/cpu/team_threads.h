// Sizes of thread teams that the system lets start.
#pragma once

namespace smelt {

/// More threads than OpenBLAS has memory for end the process.
inline constexpr int kMostThreads = 512;

/// Returns the number of threads for a parallel region of the calling thread: the number that OpenMP takes
/// there, or fewer if the system refuses to start that many. GCC's OpenMP ends the process when a thread
/// cannot be started, so that number of threads is started first, once for each calling thread, and ends at
/// once.
int team_threads();
/// Returns the same for a region that is to have `wanted` threads.
int team_threads(int wanted);

}  // namespace smelt

// How long a thread of OpenMP that waits for work goes on asking for it before it sleeps. GCC's OpenMP
// settles that when it is loaded: by default some ten milliseconds, in which another process could have had
// the core.
#pragma once

#include <string>

namespace smelt {

/// OpenMP's environment variable of that time, in rounds of a loop; read when the library is loaded.
inline constexpr const char* kSpinVariable = "GOMP_SPINCOUNT";

/// A value for that variable with which threads sleep soon after a kernel has ended, and seldom within a
/// step; empty where the environment already says how threads wait.
std::string better_spin_count();

}  // namespace smelt

// Spin time of OpenMP threads that wait for work. GCC's OpenMP reads it from the environment when the library
// is loaded; its default of some ten milliseconds keeps the cores from other processes.
#pragma once

#include <string>

namespace smelt {

/// Environment variable of the spin count: rounds of a loop before a waiting thread sleeps.
inline constexpr const char* kSpinVariable = "GOMP_SPINCOUNT";

/// Returns a spin count with which threads still spin between the kernels of a step, but sleep soon after the
/// step has ended; empty if the environment already says how threads wait.
std::string better_spin_count();

}  // namespace smelt

// The names that each launcher has for a process's place among the ranks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ranks/launch_variables.h"

namespace smelt {

/// A number and the variable that specifies it.
struct LaunchNumber {
  int value = 0;
  std::string variable, text, launcher;
};

/// One launcher's description of this process.
struct LaunchPlace {
  std::string_view launcher, option;  // "Open MPI", and "openmpi": what SMELT_LAUNCHER calls it
  LaunchNumber rank, size;
  std::optional<LaunchNumber> local_rank, local_size;
};

/// Returns the places of every launcher whose variables are set, or of one alone if SMELT_LAUNCHER names it.
/// If torchrun's run id is set, torchrun is the innermost launcher, and the launchers that started it are
/// ignored.
std::vector<LaunchPlace> read_places(const Environment& environment);

/// A text that the launcher gives to all ranks of a run and to no other run, such as the id of a job.
struct LaunchJob {
  std::string variable, id;
};
std::optional<LaunchJob> find_job(const Environment& environment);

/// The variable's value; one that is set to nothing counts as not set.
std::optional<std::string> find_variable(const Environment& environment, std::string_view name);

}  // namespace smelt

// The names that each launcher has for a process's place among the ranks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ranks/launch_variables.h"

namespace smelt {

/// A number and the variable that says it.
struct LaunchNumber {
  int value = 0;
  std::string variable, text, launcher;
};

/// What one launcher says of this process.
struct LaunchPlace {
  std::string_view launcher, option;  // "Open MPI", and "openmpi": what SMELT_LAUNCHER calls it
  LaunchNumber rank, size;
  std::optional<LaunchNumber> local_rank, local_size;
};

/// Of every launcher that left its variables here; of one alone where SMELT_LAUNCHER names it. torchrun is
/// the innermost launcher where it left its run's id: those around it started torchrun, and count no more.
std::vector<LaunchPlace> read_places(const Environment& environment);

/// A text that the launcher gives to all ranks of a run and to no other run, such as the id of a job.
struct LaunchJob {
  std::string variable, id;
};
std::optional<LaunchJob> find_job(const Environment& environment);

/// The variable's value; one that is set to nothing counts as not set.
std::optional<std::string> find_variable(const Environment& environment, std::string_view name);
/// A whole number within [low, high]; throws Error that names the variable.
int parse_variable(std::string_view variable, const std::string& text, int low, int high);

}  // namespace smelt

// Reader of the environment variables by which launchers such as torchrun or Slurm specify the rank of a
// process. Each launcher has its own names for them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ranks/launch_variables.h"

namespace smelt {

/// A number that an environment variable specifies, such as a rank. `variable` and `text` are the name and
/// the value of the variable, and `launcher` is the launcher that sets it.
struct LaunchNumber {
  int value = 0;
  std::string variable, text, launcher;
};

/// The rank of this process as one launcher specifies it.
struct LaunchPlace {
  std::string_view launcher, option;  // "Open MPI", and its name in SMELT_LAUNCHER: "openmpi"
  LaunchNumber rank, size;            // in the run
  std::optional<LaunchNumber> local_rank, local_size;  // on this host; nothing: not specified
};

/// Returns one element for every launcher whose variables are set. If SMELT_LAUNCHER names a launcher, only
/// that one is read; if it is "none", the result is empty. If torchrun's run id is set, only torchrun's
/// variables are read, because launchers that started torchrun may have set theirs. Throws Error naming the
/// variables if they are incomplete or invalid.
std::vector<LaunchPlace> read_places(const Environment& environment);

/// The id of the launcher's job: a text that all ranks of a run have, and no other run. `variable` is the
/// environment variable that specifies it.
struct LaunchJob {
  std::string variable, id;
};
/// Returns nothing if no launcher has set an id.
std::optional<LaunchJob> find_job(const Environment& environment);

/// Returns the variable's value; nothing if it is not set or empty.
std::optional<std::string> find_variable(const Environment& environment, std::string_view name);

}  // namespace smelt

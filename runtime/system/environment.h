// Environment variables that Smelt reads: their table (environment.def), and functions that read and check
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace smelt {

/// A variable of the table. The enumerator has the name of the variable, such as SMELT_DEVICE.
enum class EnvironmentVariable : uint8_t {
#define SMELT_VARIABLE(name, ...) name,
#include "runtime/system/environment.def"
};

/// Groups of variables. `own`: variables of Smelt. `ranks`: variables of Smelt for runs with several ranks.
/// `launchers`: set by launchers of ranks (torchrun, MPI, Slurm). `others`: variables of other programs.
enum class VariableGroup : uint8_t { own, ranks, launchers, others };

/// Description of the valid values of a variable.
struct VariableValues {
  enum class Kind : uint8_t { text, secret, flag, whole, seconds, one_of } kind = Kind::text;
  double least = 0, most = 0;   // range of `whole`; `seconds` has only `least`
  std::string_view words = {};  // values of `one_of`, separated by '|': "copies|whole|nccl"

  /// Returns a description: "1 or 0", "a whole number from 0 to 1023", "copies, whole or nccl".
  std::string str() const;
};

/// A row of the table. `standard` describes the behavior if the variable is not set.
struct VariableInfo {
  std::string_view name;
  VariableGroup group;
  VariableValues values;
  std::string_view standard, help;
};

/// Returns the table, in the order of the enumerators.
std::span<const VariableInfo> variables();
/// Returns the row of a variable.
const VariableInfo& info(EnvironmentVariable variable);

/// Function that returns the value of a variable; nothing if it is not set, or set to an empty text.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;
/// Returns a function that reads the environment of this process. It throws Error (internal) for a name that
/// is not in the table.
Environment process_environment();

/// Return the value of a variable; nothing if it is not set. If the value is invalid, throw Error with the
/// name of the variable and its valid values.
std::optional<std::string> read_text(EnvironmentVariable variable,
                                     const Environment& environment = process_environment());
std::optional<bool> read_flag(EnvironmentVariable variable,
                              const Environment& environment = process_environment());
std::optional<int> read_whole(EnvironmentVariable variable,
                              const Environment& environment = process_environment());
std::optional<double> read_seconds(EnvironmentVariable variable,
                                   const Environment& environment = process_environment());

/// Returns `text` as an integer. Throws Error naming the variable if it is not an integer in [low, high].
int parse_whole(std::string_view variable, const std::string& text, int low, int high);
/// Throws Error if the variable is set to an invalid value. Requires: `variable` is a row of variables().
void check_variable(const VariableInfo& variable, const Environment& environment = process_environment());

/// Returns "a, b or c" for "a|b|c".
std::string alternatives_text(std::string_view words);

}  // namespace smelt

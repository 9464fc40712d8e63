// Environment variables: the table of all that Smelt reads, and the one place that reads them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace smelt {

/// A variable of the table, by its name.
enum class EnvironmentVariable : uint8_t {
#define SMELT_VARIABLE(name, ...) name,
#include "runtime/system/environment.def"
};

/// Groups of variables: Smelt's own, those of runs of several ranks, those that launchers set, and other
/// programs'.
enum class VariableGroup : uint8_t { own, ranks, launchers, others };

/// The values that a variable takes.
struct VariableValues {
  enum class Kind : uint8_t { text, secret, flag, whole, seconds, one_of } kind = Kind::text;
  double least = 0, most = 0;
  std::string_view words = {};  // of one_of: "copies|whole|nccl"

  /// "1 or 0", "a whole number from 0 to 1023", "copies, whole or nccl"
  std::string str() const;
};

struct VariableInfo {
  std::string_view name;
  VariableGroup group;
  VariableValues values;
  std::string_view standard, help;
};

std::span<const VariableInfo> variables();
const VariableInfo& info(EnvironmentVariable variable);

/// Returns the value of a variable; nothing if it is not set, or set to an empty text.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;
/// This process's own. Requires: names of the table.
Environment process_environment();

/// Values of variables; nothing if they are not set. Each throws Error naming the variable and the values
/// that it takes if its value is another.
std::optional<std::string> read_text(EnvironmentVariable variable,
                                     const Environment& environment = process_environment());
std::optional<bool> read_flag(EnvironmentVariable variable,
                              const Environment& environment = process_environment());
std::optional<int> read_whole(EnvironmentVariable variable,
                              const Environment& environment = process_environment());
std::optional<double> read_seconds(EnvironmentVariable variable,
                                   const Environment& environment = process_environment());

/// Returns a whole number within [low, high]. Throws Error naming the variable.
int parse_whole(std::string_view variable, const std::string& text, int low, int high);
/// Throws Error if the variable has a value that it does not take.
void check_variable(const VariableInfo& variable, const Environment& environment = process_environment());

/// Returns "a, b or c" of "a|b|c".
std::string alternatives_text(std::string_view words);

}  // namespace smelt

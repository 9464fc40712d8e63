// The table of environment variables: values that are not understood are errors, and never the default.
#include "runtime/system/environment.h"

#include <gtest/gtest.h>

#include <set>

#include "runtime/base/error.h"

namespace smelt {
namespace {

Environment with(std::string_view value) {
  return [value](std::string_view) { return std::optional<std::string>(value); };
}

std::string problem(EnvironmentVariable variable, std::string_view value) {
  try {
    check_variable(info(variable), with(value));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Environment, ValuesAreOfTheVariablesKind) {
  EXPECT_EQ(read_flag(EnvironmentVariable::SMELT_CHECK_STEPS, with("1")), true);
  EXPECT_EQ(read_flag(EnvironmentVariable::SMELT_CHECK_STEPS, with("")), std::nullopt);
  EXPECT_EQ(read_whole(EnvironmentVariable::SMELT_DEVICE, with("3")), 3);
  EXPECT_EQ(read_seconds(EnvironmentVariable::SMELT_JOIN_TIMEOUT, with("0.5")), 0.5);
  EXPECT_EQ(read_text(EnvironmentVariable::SMELT_GATHERS, with("nccl")), "nccl");
}

TEST(Environment, WhatIsNotUnderstoodNamesTheVariableAndItsValues) {
  EXPECT_EQ(problem(EnvironmentVariable::SMELT_CHECK_STEPS, "yes"),
            "SMELT_CHECK_STEPS is 'yes': expected 1 or 0");
  EXPECT_EQ(problem(EnvironmentVariable::SMELT_GATHERS, "nickel"),
            "SMELT_GATHERS is 'nickel': expected copies, whole or nccl");
  EXPECT_EQ(problem(EnvironmentVariable::SMELT_NUM_THREADS, "0"),
            "SMELT_NUM_THREADS is '0': expected a whole number from 1 to 512");
  EXPECT_EQ(problem(EnvironmentVariable::SMELT_NUM_THREADS, "2 "),
            "SMELT_NUM_THREADS is '2 ': expected a whole number from 1 to 512");
  EXPECT_EQ(problem(EnvironmentVariable::SMELT_JOIN_TIMEOUT, "inf"),
            "SMELT_JOIN_TIMEOUT is 'inf': expected seconds, at least 0.1");
}

TEST(Environment, EveryVariableIsThereOnceAndExplained) {
  std::set<std::string_view> names;
  for (const VariableInfo& variable : variables()) {
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
    EXPECT_FALSE(variable.help.empty() || variable.standard.empty()) << variable.name;
  }
  EXPECT_THROW(process_environment()("SMELT_CACHEDIR"), Error);
}

}  // namespace
}  // namespace smelt

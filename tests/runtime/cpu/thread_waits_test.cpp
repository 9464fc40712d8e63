#include "runtime/cpu/threads.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

namespace smelt {
namespace {

/// A variable of the environment during its life.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~EnvironmentVariable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(ThreadWaits, AreShortUnlessTheEnvironmentSaysHowTheyAre) {
  const EnvironmentVariable policy("OMP_WAIT_POLICY", nullptr), spins(kSpinVariable, nullptr);
  EXPECT_LE(std::stoi(better_spin_count()), 100000);
  const EnvironmentVariable told("OMP_WAIT_POLICY", "active");
  EXPECT_EQ(better_spin_count(), "");
}

TEST(ThreadWaits, LeaveACountThatWasGiven) {
  const EnvironmentVariable policy("OMP_WAIT_POLICY", nullptr), spins(kSpinVariable, "5");
  EXPECT_EQ(better_spin_count(), "");
}

}  // namespace
}  // namespace smelt

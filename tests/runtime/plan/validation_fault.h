// Why a plan is refused, for tests of validation.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "runtime/base/error.h"
#include "runtime/plan/plan_validate.h"

namespace smelt::testing {

/// The message of the Error (invalid_file) that a call throws; "accepted" where it throws none.
inline std::string fault_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_file) << error.what();
    return error.what();
  }
  return "accepted";
}

inline std::string validation_fault(const Plan& plan) {
  return fault_of([&] { validate(plan); });
}

}  // namespace smelt::testing

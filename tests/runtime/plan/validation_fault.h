// Messages of validation errors, for tests of the validation of plans.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "runtime/base/error.h"
#include "runtime/plan/plan_validate.h"

namespace smelt::testing {

/// Returns the message of the Error that `call` throws, and expects that the status of the Error is
/// invalid_file. Returns "accepted" if `call` throws no Error.
inline std::string fault_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_file) << error.what();
    return error.what();
  }
  return "accepted";
}

/// Does the same for the validation of a plan.
inline std::string validation_fault(const Plan& plan) {
  return fault_of([&] { validate(plan); });
}

}  // namespace smelt::testing

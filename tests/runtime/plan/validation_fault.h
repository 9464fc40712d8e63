// Why a plan is refused, for tests of validation.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "runtime/error.h"
#include "runtime/plan/plan_validate.h"

namespace smelt::testing {

/// The message of the Error that validation throws; "accepted" where it throws none.
inline std::string validation_fault(const Plan& plan) {
  try {
    validate(plan);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_file);
    return error.what();
  }
  return "accepted";
}

}  // namespace smelt::testing

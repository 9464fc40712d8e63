// A plan that copies its input, and a fixture with a session of it, for tests of the C interface.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/plan/plan_file.h"
#include "runtime/smelt.h"
#include "tests/runtime/c_api/sized.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {

/// Returns a plan with the entry `run`: y = x, where x is [B,3] and B <= 4. It has a flat state "parameters"
/// with two weights.
inline Plan copy_plan() {
  const Dim b = Dim::symbol("B");
  Plan plan;
  plan.target = "cpu";
  plan.model = R"({"vocab_size": 7})";
  plan.symbols.bound({"B"}, 4);
  State state{.name = "parameters",
              .role = Role::parameter,
              .dtype = DType::f32,
              .shape = {32},
              .init = {},
              .segments = {}};
  state.segments = {{"w", {3, 5}, 0, {Initializer::Kind::normal, 1, 3}, true, {"net.w"}, true},
                    {"b", {4}, 16, {Initializer::Kind::value, 2, 0}, false, {"net.b"}, false}};
  plan.states = {state};
  const auto buffer = [&](const char* name, Role role) {
    Buffer made;
    made.name = name, made.role = role, made.elements = b * 3, made.bytes = 48;
    plan.buffers.push_back(made);
  };
  buffer("x", Role::input), buffer("y", Role::output);
  Buffer parameters;
  parameters.name = "parameters", parameters.role = Role::parameter, parameters.elements = 32,
  parameters.bytes = 128;
  parameters.state = 0;
  plan.buffers.push_back(parameters);
  PlanEntry entry;
  entry.name = "run";
  entry.inputs = {{"x", DType::f32, {b, 3}, 0, false}};
  entry.outputs = {{"y", DType::f32, {b, 3}, 1, false}};
  Step& step = entry.steps.emplace_back();
  step.what = CopyStep{{0, 0}, {1, 0}, {b * 3}, {1}, {1}, DType::f32};
  step.reads = {0}, step.writes = {1}, step.phase = "forward";
  plan.entries = {entry};
  return plan;
}

class CApi : public testing::Test {
 protected:
  void SetUp() override {
    save_plan(copy_plan(), d / "copy.plan");
    ASSERT_EQ(smelt_plan_load((d / "copy.plan").c_str(), &plan), SMELT_OK) << smelt_last_error();
    ASSERT_EQ(smelt_session_create(plan, nullptr, &session), SMELT_OK) << smelt_last_error();
  }
  void TearDown() override {
    smelt_session_free(session);
    smelt_plan_free(plan);
  }
  static smelt_tensor tensor(const char* name, std::vector<int64_t> shape, void* data, size_t bytes) {
    auto t = sized<smelt_tensor>();
    t.name = name, t.dtype = SMELT_F32, t.rank = static_cast<int32_t>(shape.size()), t.data = data,
    t.bytes = bytes;
    std::copy(shape.begin(), shape.end(), t.shape);
    return t;
  }

  TemporaryDirectory d;
  smelt_plan* plan = nullptr;
  smelt_session* session = nullptr;
};

}  // namespace smelt

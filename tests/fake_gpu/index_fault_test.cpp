// Indices that were out of bounds on a GPU: told when results are waited for, never before.
#include "runtime/session/index_faults.h"

#include "runtime/base/error.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

/// train_step also leaves `index` as the lowest index, the highest and the last row of a look-up.
Plan plan_with_fault(int index) {
  Plan plan = linear_plan();
  plan.states.push_back(
      {std::string(kIndexFaultPrefix) + "@loss gather \"table\"", Role::fault, DType::i32, {Dim(3)}, {}, {}});
  plan.buffers.push_back(
      {.name = "fault", .role = Role::fault, .dtype = DType::i32, .elements = 3, .state = 1, .bytes = 12});
  Step fill;
  fill.what = FillStep{{3, 0}, 3, static_cast<double>(index)};
  fill.writes = {3};
  plan.entries[0].steps.push_back(fill);
  return plan;
}

class IndexFaults : public FakeGpu {
 protected:
  static std::string fault(Session& session) {
    try {
      train(session, 0);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }
  /// A run whose results nobody wants.
  static void train_on(Session& session) {
    const std::vector<float> x(kIn);
    const InputTensor input{"x", DType::f32, {1, kIn}, x.data()};
    session.run("train_step", {&input, 1}, {});
  }
};

TEST_F(IndexFaults, AreToldWithTheResultsOfARun) {
  const auto good = session(plan_with_fault(0)), bad = session(plan_with_fault(-7));
  const std::string message =
      "@loss gather \"table\": the index -7 is out of bounds: expected 0 to -7; the nearest row was taken, "
      "so "
      "results are wrong";
  EXPECT_EQ(fault(*good), "none");
  EXPECT_EQ(fault(*bad), message);
  EXPECT_EQ(fault(*bad), message) << "it happened again";
}

TEST_F(IndexFaults, AllPlacesAreToldAtOnce) {
  Plan plan = plan_with_fault(-7);
  State second = plan.states[1];
  second.name = std::string(kIndexFaultPrefix) + "@loss gather \"other\"";
  plan.states.push_back(second);
  Buffer buffer = plan.buffers[3];
  buffer.name = "second", buffer.state = 2;
  plan.buffers.push_back(buffer);
  Step fill = plan.entries[0].steps.back();
  std::get<FillStep>(fill.what).to.buffer = 4, fill.writes = {4};
  plan.entries[0].steps.push_back(fill);
  const auto bad = session(plan);
  EXPECT_EQ(
      fault(*bad),
      "@loss gather \"table\": the index -7 is out of bounds: expected 0 to -7; the nearest row was taken; "
      "@loss gather \"other\": "
      "the index -7 is out of bounds: expected 0 to -7; the nearest row was taken, so results are wrong");
  EXPECT_NO_THROW(bad->executor().synchronize()) << "nothing is left of it";
}

TEST_F(IndexFaults, AreToldToWhoReadsAState) {
  const auto bad = session(plan_with_fault(-7));
  train_on(*bad);
  EXPECT_THROW(std::as_const(*bad).state("parameters"), Error);
  EXPECT_NO_THROW(std::as_const(*bad).state("parameters"));
}

TEST_F(IndexFaults, WaitForResultsOfWhatTheyHappenedBefore) {
  const auto bad = session(plan_with_fault(-7));
  const int downloads = gpu().downloads;
  for (int i = 0; i < 3; ++i) train_on(*bad);
  EXPECT_EQ(gpu().downloads, downloads) << "nothing is looked at in a step";
  EXPECT_THROW(bad->executor().synchronize(), Error);
  EXPECT_NO_THROW(bad->executor().synchronize()) << "a fault is told once";
}

}  // namespace
}  // namespace smelt::fake

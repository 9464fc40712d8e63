// Tensors of the device and streams where there is no GPU. (With one: tests/fake_gpu.)
#include <gtest/gtest.h>

#include "runtime/session/session.h"
#include "tests/runtime/example_plan.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

TEST(DeviceTensors, OfAPlanForCpusAreTheHosts) {
  Session session(std::make_shared<const Plan>(example::plan()));
  session.initialize(1);
  const std::vector<float> x(12, 2);
  std::vector<float> z(12);
  const InputTensor from{"x", DType::f32, {3, 1, 4}, x.data(), true};
  const OutputBuffer to{"z", z.data(), 48, true};
  session.run("run", {&from, 1}, {&to, 1});
  EXPECT_EQ(z, std::vector<float>(12, 3));
  EXPECT_HAS(message_of([&] { session.run("run", {&from, 1}, {&to, 1}, {.stream = z.data()}); }),
             "a plan for CPUs runs on no stream");
  const std::vector<int32_t> ids(3, 9);
  const std::vector<InputTensor> inputs = {from, {"ids", DType::i32, {3, 1}, ids.data(), true}};
  EXPECT_HAS(message_of([&] { session.run("run", inputs, {&to, 1}); }), "element 0 is 9");
}

}  // namespace
}  // namespace smelt

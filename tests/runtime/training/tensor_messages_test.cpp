#include "runtime/training/tensor_messages.h"

#include <gtest/gtest.h>

#include "runtime/error.h"
#include "runtime/training/pipeline_stage.h"
#include "tests/support/thread_ranks.h"

namespace smelt {
namespace {

HostTensor numbers(const std::string& name, std::vector<int64_t> shape) {
  HostTensor tensor{name, DType::f32, std::move(shape), {}};
  for (int64_t i = 0; i < count_elements(tensor.shape); ++i) {
    const auto x = static_cast<float>(i);
    const auto bytes = std::as_bytes(std::span(&x, 1));
    tensor.bytes.insert(tensor.bytes.end(), bytes.begin(), bytes.end());
  }
  return tensor;
}

TEST(TensorMessages, ArriveAsTheyWereSent) {
  const std::vector<HostTensor> sent = {numbers("values.1.0", {2, 3}), numbers("values.1.1", {}),
                                        numbers("values.1.2", {0, 4})};
  test::ThreadRanks({{{"stage", 2}}}).run([&](RankGroups& ranks) {
    if (ranks.rank() == 0) return send_tensors(ranks.along(0), 1, {&sent[0], &sent[1], &sent[2]});
    const std::vector<HostTensor> received = receive_tensors(ranks.along(0), 0);
    ASSERT_EQ(received.size(), sent.size());
    for (size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(received[i].name, sent[i].name);
      EXPECT_EQ(received[i].shape, sent[i].shape);
      EXPECT_EQ(received[i].bytes, sent[i].bytes);
    }
  });
}

TEST(TensorMessages, WhatIsNoneIsAnError) {
  const auto send_text = [](std::string text) {
    test::ThreadRanks({{{"stage", 2}}}).run([&](RankGroups& ranks) {
      Communicator& group = ranks.along(0);
      if (ranks.rank() == 1) return void(receive_tensors(group, 0));
      const int64_t bytes = std::ssize(text);
      group.send(std::as_bytes(std::span(&bytes, 1)), 1);
      group.send(std::as_bytes(std::span(text)), 1);
    });
  };
  for (const char* text : {"[[1]]", "[[\"x\", \"f99\", []]]", "[[\"x\", \"f32\", [-1]]]", "nonsense"})
    EXPECT_THROW(send_text(text), Error) << text;
}

Plan stage_plan(const std::vector<std::string>& entries) {
  Plan plan;
  plan.mesh = {{{"data", 2}, {"stage", 2}}};
  for (const std::string& name : entries) plan.entries.push_back({.name = name});
  return plan;
}

TEST(PipelineStage, IsReadOffTheEntries) {
  const Plan plan = stage_plan({"batch", "forward.1", "backward.1", "forward.3", "backward.3", "apply"});
  const auto stage = pipeline_stage(plan);
  ASSERT_TRUE(stage);
  EXPECT_EQ(stage->stage, 1);
  EXPECT_EQ(stage->parts_a_stage, 2);
  EXPECT_EQ(stage->axis, 1u);
  EXPECT_TRUE(pipeline_stage(plan, 3));
  EXPECT_THROW(pipeline_stage(plan, 2), Error);
  EXPECT_FALSE(pipeline_stage(stage_plan({"train_step"})));
  EXPECT_THROW(pipeline_stage(stage_plan({"forward.1"})), Error);
}

}  // namespace
}  // namespace smelt

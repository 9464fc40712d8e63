// What an application that embeds the library asks for: plans from memory, weights that sessions share,
// memory of its own, tensors of the device, and what the library says of its work.
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "tests/runtime/c_api/copy_plan.h"

namespace smelt {
namespace {

/// Host memory, counted.
struct Counts {
  std::mutex mutex;
  std::map<void*, size_t> blocks;
  size_t limit = SIZE_MAX;

  size_t bytes() {
    size_t all = 0;
    for (const auto& [block, bytes] : blocks) all += bytes;
    return all;
  }
  static void* allocate(void* user, smelt_memory memory, size_t bytes, size_t alignment) {
    auto& self = *static_cast<Counts*>(user);
    const std::lock_guard lock(self.mutex);
    EXPECT_EQ(memory, SMELT_MEMORY_HOST);
    if (self.bytes() + bytes > self.limit) return nullptr;
    void* block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    self.blocks[block] = bytes;
    return block;
  }
  static void release(void* user, smelt_memory, void* data, size_t bytes) {
    auto& self = *static_cast<Counts*>(user);
    const std::lock_guard lock(self.mutex);
    EXPECT_EQ(self.blocks.at(data), bytes);
    self.blocks.erase(data);
    std::free(data);
  }
};

class CApiEmbedding : public CApi {
 protected:
  /// Of copy_plan with weights of 1 MiB.
  smelt_plan* large_plan() {
    Plan large = copy_plan();
    large.states[0].shape = {kWeights / 4};
    large.buffers[2].elements = kWeights / 4, large.buffers[2].bytes = kWeights;
    const std::string bytes = serialize_plan(large);
    smelt_plan* made = nullptr;
    EXPECT_EQ(smelt_plan_from_memory(bytes.data(), bytes.size(), nullptr, &made), SMELT_OK)
        << smelt_last_error();
    return made;
  }
  void expect_copies(smelt_session* s) {
    float x[3] = {1, 2, 3}, y[3] = {};
    smelt_tensor input = tensor("x", {1, 3}, x, sizeof x), output = tensor("y", {}, y, sizeof y);
    ASSERT_EQ(smelt_session_run(s, "run", &input, 1, &output, 1, nullptr), SMELT_OK) << smelt_last_error();
    EXPECT_EQ(std::memcmp(x, y, sizeof x), 0);
  }
  static constexpr int64_t kWeights = int64_t{1} << 20;
};

TEST_F(CApiEmbedding, PlansComeFromMemoryAtAnyAlignment) {
  const std::string bytes = serialize_plan(copy_plan());
  for (const size_t shift : {0, 1, 7}) {
    std::string shifted = std::string(shift, '?') + bytes;
    smelt_plan* made = nullptr;
    ASSERT_EQ(smelt_plan_from_memory(shifted.data() + shift, bytes.size(), "mine", &made), SMELT_OK)
        << smelt_last_error();
    std::ranges::fill(shifted, '?');
    EXPECT_STREQ(smelt_plan_entry_name(made, 0), "run");
    smelt_session* own = nullptr;
    ASSERT_EQ(smelt_session_create(made, nullptr, &own), SMELT_OK);
    expect_copies(own);
    smelt_session_free(own);
    smelt_plan_free(made);
  }
}

TEST_F(CApiEmbedding, DamagedPlansInMemoryAreNamed) {
  std::string bytes = serialize_plan(copy_plan());
  smelt_plan* made = nullptr;
  EXPECT_EQ(smelt_plan_from_memory(bytes.data(), bytes.size() / 2, "mine", &made), SMELT_INVALID_FILE);
  EXPECT_HAS(smelt_last_error(), "'mine'");
  EXPECT_EQ(smelt_plan_from_memory(bytes.data(), 3, nullptr, &made), SMELT_INVALID_FILE);
  EXPECT_HAS(smelt_last_error(), "'memory'");
  EXPECT_EQ(smelt_plan_from_memory(nullptr, 3, nullptr, &made), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_plan_from_memory(bytes.data(), bytes.size(), nullptr, nullptr), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(made, nullptr);
}

TEST_F(CApiEmbedding, APlanForCpusRunsOnNoGpu) {
  auto options = sized<smelt_session_options>();
  options.device = 99;
  smelt_session* session = nullptr;
  smelt_plan* plan = large_plan();
  EXPECT_EQ(smelt_session_create(plan, &options, &session), SMELT_INVALID_ARGUMENT);
  smelt_plan_free(plan);
  EXPECT_NE(std::string(smelt_last_error()).find("device 98: the plan is for"), std::string::npos)
      << smelt_last_error();
}

TEST_F(CApiEmbedding, EightSessionsInEightThreadsShareWeights) {
  smelt_plan* large = large_plan();
  Counts counts;
  smelt_allocator allocator{sizeof allocator, &counts, Counts::allocate, Counts::release};
  auto options = sized<smelt_session_options>();
  options.threads = 1, options.allocator = &allocator;
  smelt_session* first = nullptr;
  ASSERT_EQ(smelt_session_create(large, &options, &first), SMELT_OK) << smelt_last_error();
  ASSERT_EQ(smelt_session_initialize(first, 1), SMELT_OK);
  allocator = {};  // it was copied
  expect_copies(first);
  const size_t rest = counts.bytes() - kWeights;
  std::vector<smelt_session*> sessions = {first};
  for (int i = 0; i < 7; ++i)
    ASSERT_EQ(smelt_session_share(first, nullptr, &sessions.emplace_back()), SMELT_OK) << smelt_last_error();
  std::vector<std::thread> threads;
  for (smelt_session* each : sessions)
    threads.emplace_back([&, each] {
      for (int i = 0; i < 50; ++i) expect_copies(each);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(static_cast<double>(counts.bytes()), 1.05 * kWeights + 8.0 * static_cast<double>(rest));
  const float value = 1;
  EXPECT_EQ(smelt_session_write_state(first, "parameters", 0, &value, 4), SMELT_INVALID_ARGUMENT);
  for (smelt_session* each : sessions) smelt_session_free(each);
  EXPECT_EQ(counts.bytes(), 0U);
  smelt_plan_free(large);
}

TEST_F(CApiEmbedding, AllocatorsThatRefuseOrAreNotWhole) {
  Counts counts;
  counts.limit = 64;
  smelt_allocator allocator{sizeof allocator, &counts, Counts::allocate, Counts::release};
  auto options = sized<smelt_session_options>();
  options.allocator = &allocator;
  smelt_session* other = nullptr;
  EXPECT_EQ(smelt_session_create(plan, &options, &other), SMELT_OUT_OF_MEMORY);
  EXPECT_HAS(smelt_last_error(), "allocator has refused");
  EXPECT_EQ(counts.bytes(), 0U);
  allocator.release = nullptr;
  EXPECT_EQ(smelt_session_create(plan, &options, &other), SMELT_INVALID_ARGUMENT);
  EXPECT_HAS(smelt_last_error(), "release is null");
  allocator.struct_size = 0;
  EXPECT_EQ(smelt_session_create(plan, &options, &other), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(other, nullptr);
}

/// Of a plan for CPUs, whose device has the host's memory.
TEST_F(CApiEmbedding, TensorsOfTheDeviceAndStreams) {
  float x[3] = {1, 2, 3}, y[3] = {};
  smelt_tensor input = tensor("x", {1, 3}, x, sizeof x), output = tensor("y", {}, y, sizeof y);
  input.memory = output.memory = SMELT_MEMORY_DEVICE;
  auto options = sized<smelt_run_options>();
  ASSERT_EQ(smelt_session_run(session, "run", &input, 1, &output, 1, &options), SMELT_OK)
      << smelt_last_error();
  EXPECT_EQ(y[2], 3);
  EXPECT_EQ(smelt_session_synchronize(session), SMELT_OK);
  options.stream = &x;
  EXPECT_EQ(smelt_session_run(session, "run", &input, 1, &output, 1, &options), SMELT_INVALID_ARGUMENT);
  EXPECT_HAS(smelt_last_error(), "stream");
}

}  // namespace
}  // namespace smelt

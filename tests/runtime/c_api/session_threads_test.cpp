// Eight threads with a session each of one plan, from its making to its end, while the log changes its
// listener. Meant for ThreadSanitizer, and of use without.
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/runtime/c_api/copy_plan.h"

namespace smelt {
namespace {

constexpr int kSessionThreads = 8;

class SessionThreads : public CApi {
 protected:
  void use_a_session(int thread) {
    auto options = sized<smelt_session_options>();
    options.threads = 1, options.seed = static_cast<uint32_t>(thread);
    smelt_session* own = nullptr;
    ASSERT_EQ(smelt_session_create(plan, &options, &own), SMELT_OK) << smelt_last_error();
    ASSERT_EQ(smelt_session_initialize(own, options.seed), SMELT_OK);
    for (int64_t rows = 1; rows <= 4; ++rows) {
      std::vector<float> x(static_cast<size_t>(rows) * 3, static_cast<float>(thread)), y(x.size());
      const smelt_tensor input = tensor("x", {rows, 3}, x.data(), x.size() * 4);
      smelt_tensor output = tensor("y", {}, y.data(), y.size() * 4);
      ASSERT_EQ(smelt_session_run(own, "run", &input, 1, &output, 1, nullptr), SMELT_OK);
      EXPECT_EQ(x, y);
    }
    EXPECT_NE(smelt_session_run(own, "none", nullptr, 0, nullptr, 0, nullptr), SMELT_OK);
    EXPECT_STRNE(smelt_last_error(), "");
    smelt_session_free(own);
  }
  template <typename Work>
  static void in_threads(Work work) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kSessionThreads; ++t) threads.emplace_back([&, t] { work(t); });
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_F(SessionThreads, EightSessionsOfOnePlan) {
  in_threads([&](int thread) {
    for (int i = 0; i < 5; ++i) use_a_session(thread);
  });
}

/// Sharing reads the first session's weights and touches nothing else of it.
TEST_F(SessionThreads, EightSessionsThatShareWeights) {
  ASSERT_EQ(smelt_session_initialize(session, 1), SMELT_OK);
  std::vector<smelt_session*> shared(kSessionThreads, nullptr);
  for (smelt_session*& each : shared) ASSERT_EQ(smelt_session_share(session, nullptr, &each), SMELT_OK);
  in_threads([&](int thread) {
    float first = 0;
    const auto& own = shared[static_cast<size_t>(thread)];
    EXPECT_EQ(smelt_session_read_state(own, "parameters", 0, &first, 4), SMELT_OK);
    EXPECT_NE(first, 0);
    smelt_session_free(own);
  });
}

TEST_F(SessionThreads, TheLogsListenerChangesMeanwhile) {
  std::atomic<int> heard = 0;
  const smelt_log listen = [](void* user, smelt_log_level, const char*) {
    ++*static_cast<std::atomic<int>*>(user);
  };
  in_threads([&](int thread) {
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(smelt_set_log(thread % 2 == 0 ? listen : nullptr, &heard), SMELT_OK);
      use_a_session(thread);
    }
  });
  EXPECT_EQ(smelt_set_log(listen, &heard), SMELT_OK);
  use_a_session(0);
  EXPECT_GT(heard, 0);
  EXPECT_EQ(smelt_set_log(nullptr, nullptr), SMELT_OK);
}

}  // namespace
}  // namespace smelt

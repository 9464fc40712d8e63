// A service of several batches: which of them gets a request, and what is left when one has ended.
#ifdef SMELT_SERVER
#include "compiler/server/replicas.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "runtime/engine/serving/api_error.h"
#include "tests/runtime/engine/serving/remembering_model.h"

namespace smelt::server {
namespace {

using std::chrono::milliseconds;
constexpr int64_t kForever = 1 << 19;

Request prompt_of(int32_t first, int64_t fresh = kForever) {
  Request request{.prompt = {first, 2, 3}, .options = {}};
  request.options.max_new_tokens = fresh;
  return request;
}

/// Models of 4 slots, and the service of their batches.
class SeveralBatches : public ::testing::Test {
 protected:
  void make(size_t replicas, size_t most_waiting = 64) {
    std::vector<std::unique_ptr<BatchThread>> batches;
    for (size_t i = 0; i < replicas; ++i) {
      models_.push_back(std::make_unique<RememberingModel>(4, 1 << 20));
      batches.push_back(std::make_unique<BatchThread>(*models_.back()->session,
                                                      ContinuousBatchOptions{.most_waiting = most_waiting}));
      batches_.push_back(batches.back().get());
    }
    service_.emplace(std::move(batches));
  }
  std::vector<size_t> open_requests() const {
    std::vector<size_t> open;
    for (const BatchThread* batch : batches_) open.push_back(batch->open_requests());
    return open;
  }
  /// Ends a batch by an error.
  void break_batch(size_t which) {
    Request faulty = prompt_of(1, 0);  // ends, with its text, when it is submitted
    faulty.text = [](std::optional<int32_t>) -> std::string { throw std::runtime_error("a fault"); };
    EXPECT_THROW(batches_[which]->submit({faulty}), Error);
    while (batches_[which]->is_open()) std::this_thread::yield();
  }

  std::vector<std::unique_ptr<RememberingModel>> models_;
  std::vector<BatchThread*> batches_;
  std::optional<Replicas> service_;
};

TEST_F(SeveralBatches, RequestsAreSpread) {
  make(3);
  for (int32_t i = 0; i < 12; ++i) service_->submit({prompt_of(i)});
  EXPECT_EQ(open_requests(), (std::vector<size_t>{4, 4, 4}));
  const ContinuousBatchCounts counts = service_->counts();
  EXPECT_EQ(counts.slots, 12U);
  service_->submit({prompt_of(12), prompt_of(13)});
  EXPECT_EQ(open_requests(), (std::vector<size_t>{6, 4, 4})) << "the choices of an answer stay together";
}

TEST_F(SeveralBatches, EqualBeginningsMeetWhileTheLoadIsEven) {
  make(2);
  for (int i = 0; i < 2; ++i) service_->submit({prompt_of(1)});
  EXPECT_EQ(open_requests(), (std::vector<size_t>{2, 0}));
  for (int i = 0; i < 20; ++i) {
    service_->submit({prompt_of(1)});
    const std::vector<size_t> open = open_requests();
    EXPECT_LE(std::max(open[0], open[1]), std::min(open[0], open[1]) + 2);
  }
  Request translated = prompt_of(1, 4);
  translated.source = {9, 9};
  EXPECT_THROW(service_->submit({translated}), Error) << "the model reads no sources";
}

TEST_F(SeveralBatches, AFullOneGetsNothing) {
  make(2, 0);
  for (int i = 0; i < 8; ++i) service_->submit({prompt_of(1)});
  EXPECT_EQ(open_requests(), (std::vector<size_t>{4, 4}));
  EXPECT_THROW(service_->submit({prompt_of(1)}), Error);
}

TEST_F(SeveralBatches, OthersGoOnWhenOneHasEnded) {
  make(2);
  int faults = 0;
  service_->on_fault([&] { ++faults; });
  break_batch(0);
  EXPECT_EQ(faults, 1);
  for (int32_t i = 0; i < 3; ++i) service_->submit({prompt_of(i)});
  EXPECT_EQ(batches_[1]->open_requests(), 3U);
  EXPECT_EQ(service_->fault(), "replica 0 of 2: the service has ended: a fault");
  break_batch(1);
  EXPECT_THROW(service_->submit({prompt_of(1)}), ApiError);
  EXPECT_EQ(faults, 2);
}

TEST_F(SeveralBatches, CountsAndTimesAreSums) {
  make(2);
  for (int32_t i = 0; i < 5; ++i) service_->submit({prompt_of(i, 10)});
  EXPECT_TRUE(service_->wait_idle(std::chrono::seconds(60)));
  const ContinuousBatchCounts counts = service_->counts();
  EXPECT_EQ(counts.ended, 5U);
  EXPECT_EQ(counts.new_tokens, 50U);
  EXPECT_NE(service_->times().text().find("first_token_seconds_count 5\n"), std::string::npos);
  service_->submit({prompt_of(1)});
  EXPECT_FALSE(service_->wait_idle(milliseconds(1)));
  service_->close();
  EXPECT_THROW(service_->submit({prompt_of(1)}), ApiError);
}

}  // namespace
}  // namespace smelt::server
#endif

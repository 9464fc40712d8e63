// Many threads that ask for the vectors of texts, and some that go away.
#ifdef SMELT_SERVER
#include "compiler/server/text_service.h"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/text_batch.h"
#include "tests/runtime/engine/serving/encoding_model.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt::server {
namespace {

std::unique_ptr<TextBatch> small_batch(Session& session, size_t most_waiting) {
  return std::make_unique<TextBatch>(session,
                                     TextBatchOptions{.step_tokens = 64, .most_waiting = most_waiting});
}

/// A service of the fake encoder, without a tokenizer.
struct ServedTexts {
  explicit ServedTexts(size_t most_waiting = 1000)
      : batch(small_batch(*model.session, most_waiting), *model.session) {}

  Json vectors_of(const std::vector<std::vector<int32_t>>& texts) {
    const Json body = {{"input", texts}};
    return Json::parse(service.post(route::kEmbeddings, body.dump())->whole())["data"];
  }

  EncodingModel model;
  BatchThread batch;
  const TextMaker maker{cli::Model{}, {}, {.vocabulary = kWords, .capacity = 64}};
  const cli::PromptText texts{cli::Model{}, kWords, true};
  TextService service{
      batch, texts, maker, {.width = kStateSize, .normalizes = false, .dimensions = kStateSize}, "m"};
};

TEST(TextService, AnswersManyThreads) {
  ServedTexts served;
  std::vector<std::thread> threads;
  for (int32_t t = 0; t < 8; ++t)
    threads.emplace_back([&served, t] {
      for (int32_t i = 0; i < 30; ++i) {
        const std::vector<int32_t> text(static_cast<size_t>(1 + (t * 7 + i) % 40), (t + i) % kWords);
        const Json data = served.vectors_of({text, {1, 2}});
        EXPECT_EQ(data[0]["embedding"][1], encoded_text(text, {}));
        EXPECT_EQ(data[1]["embedding"][1], encoded_text({1, 2}, {}));
        const Json left = {{"input", {{1, 2, 3}, {4, 5}}}};
        if (i % 5 == 0) served.service.post(route::kEmbeddings, left.dump())->abandon();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(served.batch.wait_idle(std::chrono::seconds(10)));
  const ContinuousBatchCounts counts = served.batch.counts();
  EXPECT_EQ(counts.ended + counts.cancelled, 8U * (30 * 2 + 6 * 2));
}

TEST(TextService, FaultsOfTheDeviceAreErrors) {
  ServedTexts served;
  served.model.executor->breaks = true;
  try {
    served.vectors_of({{1, 2}});
    ADD_FAILURE() << "no error";
  } catch (const ApiError& error) {
    EXPECT_EQ(error.http_status(), http::kServerError);
    EXPECT_HAS(std::string(error.what()), "the device is gone");
  }
  EXPECT_EQ(served.vectors_of({{1, 2}}).size(), 1U);
}

TEST(TextService, TextsNeedATokenizer) {
  ServedTexts served(3);
  const auto fault = [&](const Json& body) {
    return message_of([&] { served.service.post(route::kEmbeddings, body.dump()); });
  };
  EXPECT_HAS(fault({{"input", "a"}}), "token");
  EXPECT_HAS(fault({{"input", {{1}, {2}, {3}, {4}}}}), "at most 3");
  EXPECT_HAS(message_of([&] { served.service.require_path(route::kChat); }), "computes embeddings");
  EXPECT_HAS(message_of([&] { served.service.reply(route::kTokenize, R"({"prompt": "a"})"); }),
             "no tokenizer");
}

}  // namespace
}  // namespace smelt::server
#endif

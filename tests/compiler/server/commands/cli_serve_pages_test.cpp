// `smelt serve` with caches in pages, where the host chooses tokens and where the plan does: crowds, clients
// that go away, and what it says of memory.
#ifdef SMELT_SERVER
#include <random>

#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

/// Of random lengths, some of which begin alike.
Json random_request(std::mt19937& random) {
  const auto number = [&](uint32_t below) { return static_cast<int>(random() % below); };
  std::string prompt(static_cast<size_t>(20 * number(3)), 'x');
  for (int i = number(40); i >= 0; --i) prompt += static_cast<char>('a' + number(26));
  Json body = {{"prompt", prompt},
               {"max_tokens", 1 + number(24)},
               {"seed", number(1000)},
               {"top_p", 0.9},
               {"temperature", number(3)}};
  if (number(4) == 0) body["logprobs"] = number(3);
  if (number(4) == 0) body["repetition_penalty"] = 1.3;
  if (number(8) == 0) body["no_repeat_ngram_size"] = 3;
  if (number(8) == 0) body["stop"] = "e";
  return body;
}

class PagedServer : public Server, public ::testing::WithParamInterface<bool> {
 protected:
  void start_paged(std::vector<std::string> options) {
    options.emplace_back(GetParam() ? "--sampler" : "--no-sampler");
    start_slow(options);
  }
  void expect_nothing_held() const {
    for (const char* name : {"requests_running", "requests_waiting", "cache_pages_used"})
      EXPECT_EQ(metric(name), 0) << name;
  }
};

TEST_P(PagedServer, TwoHundredAtOnceGetWhatEachGetsAlone) {
  start_paged({"--slots", "16", "--max", "T=160", "--queue", "256", "--cache-pages", "60"});
  std::mt19937 random(7);
  std::vector<Json> bodies;
  for (int i = 0; i < 200; ++i) bodies.push_back(random_request(random));
  std::vector<std::future<Json>> together;
  for (const Json& body : bodies)
    together.push_back(std::async(std::launch::async, [&, body] { return completion(body); }));
  std::vector<Json> found;
  for (auto& each : together) found.push_back(each.get());
  expect_nothing_held();
  for (size_t i = 0; i < bodies.size(); ++i)
    EXPECT_EQ(found[i]["choices"], completion(bodies[i])["choices"]) << bodies[i] << found[i];
  EXPECT_EQ(metric("requests_total{end=\"finished\"}"), 400);
  EXPECT_GT(metric("prefix_pages_found_total"), 100);
  EXPECT_EQ(metric("plan_tokens_total") > 0, GetParam());
  expect_nothing_held();
}

TEST_P(PagedServer, ClientsThatGoAwayLeaveNoPageAndNoSlotTaken) {
  start_paged({"--slots", "3"});
  leave_streams(12);
  EXPECT_TRUE(comes_to("requests_total{end=\"cancelled\"}", 12)) << client().get("/metrics")->body;
  expect_nothing_held();
  EXPECT_EQ(completion({{"prompt", "a"}, {"max_tokens", 2}})["choices"].size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Choices, PagedServer, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "OfThePlan" : "OfTheHost"; });

TEST_F(Server, HasAsManyPagesAsTheMemoryBuys) {
  // Keys and values of 4 layers of 256 floats each: 16 tokens take 128 KiB.
  start_slow({"--cache-memory", "1M"});
  EXPECT_TRUE(has(slurp(path("err.txt")), "caches 1.0 MiB, 8 pages of 16 tokens")) << slurp(path("err.txt"));
  EXPECT_EQ(metric("cache_bytes"), 1 << 20);
  EXPECT_EQ(metric("cache_pages"), 8);
  const auto refused = post({{"prompt", "a"}, {"max_tokens", 129}});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 400);
  EXPECT_TRUE(has(refused->body, "129 tokens take 9 pages of 16, and the caches have 8")) << refused->body;
  EXPECT_EQ(completion({{"prompt", "a"}, {"max_tokens", 128}})["choices"].size(), 1U);
}

TEST_F(Server, HasThePagesOfItsSlotsWhereNothingIsSaid) {
  start_slow({"--slots", "3", "--max", "T=100"});
  EXPECT_EQ(metric("cache_pages"), 3 * 7);
  EXPECT_EQ(metric("slots"), 3);
}

TEST_F(Server, SaysWhatCachesCannotBe) {
  expect_error(smelt("serve $GOLDEN --port 0 --cache-memory 17"), "a page of 16 tokens takes");
  expect_good(smelt("compile $GOLDEN --mode infer --cache-pages 9 -o model.plan"));
  expect_error(smelt("serve model.plan --from-scratch --port 0 --cache-memory 1M"),
               "a plan has its caches already");
  spill(path("t5.json"), R"({"family": "t5", "vocab_size": 43, "hidden": 24, "max_positions": 40,
      "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]},
      "encoder": {"layers": 1, "heads": 2, "ffn": 31}, "decoder": {"layers": 1, "heads": 2, "ffn": 33}})");
  expect_error(smelt("serve t5.json --from-scratch --port 0 --cache-memory 1M"), "has no caches in pages");
  expect_error(smelt("serve t5.json --from-scratch --port 0 --cache-pages 5"),
               "--cache-pages: t5.json has no caches in pages");
}

}  // namespace
}  // namespace smelt::test
#endif

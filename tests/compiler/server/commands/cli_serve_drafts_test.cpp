// `smelt serve` with drafts by a model: the answers are those without drafts.
#ifdef SMELT_SERVER
#include <future>

#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

class DraftingServer : public Server {
 protected:
  static constexpr int kRequests = 6;

  void SetUp() override {
    Server::SetUp();
    write_spec("model.json", 256, 48);
    write_spec("other.json", 256, 16);
    write_spec("words.json", 300, 16);
  }
  void write_spec(const std::string& name, int words, int hidden) const {
    spill(path(name), Json({{"family", "llama"},
                            {"vocab_size", words},
                            {"hidden", hidden},
                            {"max_positions", 128},
                            {"tokenizer", "bytes"},
                            {"init", {{"deviation", 0.3}}},
                            {"decoder", {{"layers", 2}, {"heads", 2}, {"ffn", 40}}}})
                          .dump());
  }
  void start_with(std::vector<std::string> options) {
    options.insert(options.begin(), {"--from-scratch", "--slots", "8"});
    start(path("model.json").string(), options);
  }
  static Json request(int number) {
    Json body = {{"prompt", std::string(static_cast<size_t>(1 + 7 * number), 'a')},
                 {"max_tokens", 40},
                 {"seed", number}};
    if (number % 3 == 0) body["temperature"] = 0;
    if (number % 3 == 1) body["guided_regex"] = "([a-d]{3},)+";
    return body;
  }
  /// Returns the choices of all requests, which are sent at the same time.
  std::vector<Json> answers() const {
    std::vector<std::future<Json>> replies;
    for (int i = 0; i < kRequests; ++i)
      replies.push_back(
          std::async(std::launch::async, [this, i] { return completion(request(i))["choices"]; }));
    std::vector<Json> all;
    for (auto& reply : replies) all.push_back(reply.get());
    return all;
  }
};

TEST_F(DraftingServer, AnswersAsWithoutDrafts) {
  start_with({});
  const std::vector<Json> plain = answers();
  const double cache_bytes = metric("cache_bytes");
  EXPECT_EQ(end(SIGINT), 0);
  for (const std::string name : {"model.json", "other.json"}) {
    start_with({"--draft", path(name).string(), "--draft-tokens", "3", "--draft-users", "8"});
    EXPECT_EQ(answers(), plain) << name;
    EXPECT_GT(metric("cache_bytes"), cache_bytes);
    const double read = metric("draft_tokens_total"), kept = metric("kept_draft_tokens_total");
    EXPECT_GT(read, 20) << name;
    EXPECT_EQ(kept == read, name == "model.json") << kept << " of " << read;
    EXPECT_EQ(end(SIGINT), 0);
  }
}

TEST_F(DraftingServer, MakesNoDraftsForMoreUsersThanItIsTold) {
  start_with({"--draft", path("model.json").string(), "--draft-users", "1"});
  Json two = request(0);
  two["n"] = 2, two["temperature"] = 1;
  completion(two);
  EXPECT_EQ(metric("draft_tokens_total"), 0);
  completion(request(0));
  EXPECT_GT(metric("draft_tokens_total"), 10);
}

TEST_F(DraftingServer, RefusesOtherModelsByName) {
  const std::string serve = "timeout 60 " + binary() + " serve --from-scratch --port 0 ";
  expect_error(shell(serve + "model.json --draft words.json"),
               "words.json: it has a vocabulary of 300 tokens, and ");
  expect_error(shell(serve + "model.json --cache-pages 0 --draft other.json"), "--cache-pages");
  expect_error(shell(serve + "model.json --draft other.json --draft-tokens 0"), "at least one token");
}

TEST_F(DraftingServer, DividesTheMemoryOfCaches) {
  // A page of 16 tokens takes 2 * 2 * 48 floats per token, and one of the draft model 2 * 2 * 16.
  start_with({"--draft", path("other.json").string(), "--cache-memory", "65536"});
  EXPECT_EQ(metric("cache_pages"), 65536 / (16 * 4 * (48 + 16) * 4));
}

}  // namespace
}  // namespace smelt::test
#endif

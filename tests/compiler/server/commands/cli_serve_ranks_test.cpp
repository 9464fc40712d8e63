// `smelt serve` by several processes that share a model.
#ifdef SMELT_SERVER
#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

/// Short texts of bytes: greedy, drawn by a seed, with a text that ends it, and by beams.
const std::vector<Json>& asked_of_ranks() {
  static const std::vector<Json> all = {
      {{"prompt", "abc"}, {"max_tokens", 8}, {"temperature", 0}},
      {{"prompt", "xy"}, {"max_tokens", 9}, {"seed", 5}, {"n", 3}},
      {{"prompt", "a longer prompt, in chunks"}, {"max_tokens", 6}, {"seed", 7}, {"top_k", 40}},
      {{"prompt", "b"}, {"max_tokens", 8}, {"seed", 2}, {"stop", "\x03"}},
      {{"prompt", "cd"}, {"max_tokens", 7}, {"use_beam_search", true}, {"n", 2}, {"best_of", 3}}};
  return all;
}

class ServerOfRanks : public Server {
 protected:
  void start_small(int ranks, const std::vector<std::string>& options = {}) {
    spill(path("small.json"), R"({"family": "gpt2", "vocab_size": 256, "hidden": 16, "max_positions": 64,
        "tokenizer": "bytes", "init": {"deviation": 0.3}, "decoder": {"layers": 1, "heads": 4}})");
    use_ranks(ranks);
    std::vector<std::string> all = {"--from-scratch", "--seed", "3", "--threads", "1", "--chunk", "4"};
    all.insert(all.end(), options.begin(), options.end());
    start(path("small.json").string(), all);
  }
  std::vector<Json> ids_of_all() const {
    std::vector<Json> ids;
    for (const Json& body : asked_of_ranks()) {
      Json& list = ids.emplace_back(Json::array());
      const Json answer = completion(body);
      for (const Json& choice : answer["choices"]) list.push_back(choice["token_ids"]);
    }
    return ids;
  }
  std::vector<Json> ids_of_one(const std::vector<std::string>& options = {}) {
    start_small(1, options);
    const std::vector<Json> ids = ids_of_all();
    EXPECT_EQ(end(SIGINT), 0);
    return ids;
  }
};

TEST_F(ServerOfRanks, GivesWhatOneGives) {
  for (const std::vector<std::string>& options : {std::vector<std::string>{},
                                                  {"--cache-pages", "0", "--weight-type", "int8"},
                                                  {"--sampler"},
                                                  {"--cache-pages", "0", "--sampler"}}) {
    const std::vector<Json> one = ids_of_one(options);
    start_small(2, options);
    EXPECT_EQ(ids_of_all(), one);
    std::vector<std::future<Json>> together;  // whatever runs beside it
    for (size_t i = 0; i < 8; ++i)
      together.push_back(
          std::async(std::launch::async, [&, i] { return completion(asked_of_ranks()[i % one.size()]); }));
    for (size_t i = 0; i < together.size(); ++i) {
      Json choices = together[i].get()["choices"];
      ASSERT_FALSE(choices.empty());
      EXPECT_EQ(choices[0]["token_ids"], one[i % one.size()].at(0)) << i;
    }
    leave_stream({{"prompt", "a"}, {"max_tokens", 60}, {"stream", true}, {"seed", 1}});
    EXPECT_EQ(fault(R"({"prompt": "a", "max_tokens": 100000})"), "400 ");
    EXPECT_EQ(ids_of_all(), one) << "after one that left and one that was refused";
    EXPECT_EQ(end(SIGINT), 0) << slurp(path("err.txt"));
    EXPECT_FALSE(has(slurp(path("err.txt")), "error:")) << slurp(path("err.txt"));
  }
}

/// The plan chooses the beams of an encoder-decoder at each rank, while searches begin and end.
TEST_F(ServerOfRanks, ChoosesTheSameBeamsAtAllRanks) {
  spill(path("searches.json"), R"({"family": "t5", "vocab_size": 256, "hidden": 16, "tokenizer": "bytes",
      "init": {"deviation": 0.3}, "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]},
      "encoder": {"layers": 1, "heads": 4, "ffn": 32}, "decoder": {"layers": 1, "heads": 4, "ffn": 32}})");
  const auto ids_of = [&](int ranks) {
    use_ranks(ranks);
    start(path("searches.json").string(), {"--from-scratch", "--seed", "3", "--threads", "1", "--sampler",
                                           "--slots", "7", "--max", "T=24,S=16"});
    std::vector<std::future<Json>> replies;
    for (int i = 0; i < 7; ++i)
      replies.push_back(std::async(std::launch::async, [&, i] {
        return completion({{"prompt", {3 + i, 7, 9 + i}},
                           {"max_tokens", 6 + 2 * i},
                           {"use_beam_search", true},
                           {"beam_width", 3},
                           {"n", 2}});
      }));
    std::vector<Json> ids;
    for (std::future<Json>& reply : replies) {
      const Json choices = reply.get()["choices"];
      for (const Json& choice : choices) ids.push_back(choice["token_ids"]);
    }
    EXPECT_EQ(metric("plan_tokens_total"), metric("new_tokens_total"));
    EXPECT_EQ(end(SIGINT), 0) << slurp(path("err.txt"));
    return ids;
  };
  const std::vector<Json> one = ids_of(1);
  EXPECT_EQ(one.size(), 14U);
  EXPECT_EQ(ids_of(2), one);
}

TEST_F(ServerOfRanks, ALostRankEndsAll) {
  start_small(2);
  const std::vector<pid_t> ranks = this->ranks();
  ASSERT_EQ(ranks.size(), 2U);
  ::kill(ranks[1], SIGKILL);
  EXPECT_EQ(status(), 128 + SIGKILL);
  const std::string err = slurp(path("err.txt"));
  const size_t at = err.find("error: rank 1 (host ");
  ASSERT_NE(at, std::string::npos) << err;
  EXPECT_EQ(err.find("(host ", at + 20), std::string::npos) << "one message: " << err;
}

TEST_F(ServerOfRanks, ASignalToAllIsOneEnd) {
  start_small(2);
  for (const pid_t rank : ranks()) ::kill(rank, SIGTERM);
  EXPECT_EQ(status(), 0) << slurp(path("err.txt"));
}

}  // namespace
}  // namespace smelt::test
#endif

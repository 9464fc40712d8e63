// `smelt serve --replicas`: several copies of the model with one port.
#ifdef SMELT_SERVER
#include <future>

#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

class ServedReplicas : public Server {
 protected:
  /// The answers to requests of several users at the same time, some of which are sampled.
  std::vector<std::string> answers(const std::vector<std::string>& options) {
    start_slow(options);
    std::vector<std::future<std::string>> asked;
    for (int i = 0; i < 12; ++i)
      asked.push_back(std::async(std::launch::async, [&, i] {
        const std::string prompt(1, static_cast<char>('a' + i));
        const Json body = {
            {"prompt", prompt}, {"max_tokens", 9}, {"temperature", i % 2}, {"seed", i}, {"n", 2}};
        return completion(body)["choices"].dump();
      }));
    std::vector<std::string> result;
    for (auto& each : asked) result.push_back(each.get());
    return result;
  }
};

TEST_F(ServedReplicas, AnswerAsOneDoes) {
  const std::vector<std::string> expected = answers({"--slots", "4"});
  EXPECT_EQ(end(SIGTERM), 0);
  EXPECT_EQ(answers({"--slots", "4", "--replicas", "2"}), expected);
  EXPECT_EQ(metric("slots"), 8);
  EXPECT_EQ(metric("requests_total{end=\"finished\"}"), 24);
  EXPECT_TRUE(has(slurp(path("err.txt")), "2 replicas, 8 slots")) << slurp(path("err.txt"));
  EXPECT_EQ(end(SIGTERM), 0);
}

TEST_F(ServedReplicas, AreRefusedByName) {
  spill(path("slow.json"), kSlowModel);
  const std::string serve = "serve slow.json --from-scratch --port 0 --replicas 2";
  expect_error(smelt(serve + " --draft slow.json"), "it makes drafts for one replica");
  expect_error(smelt(serve + " --adapters 2"), "slots for adapters, which one replica takes");
  expect_error(smelt("launch -n 2 -- smelt " + serve + " --mesh model=2"),
               "ranks hold one copy of the model together");
}

}  // namespace
}  // namespace smelt::test
#endif

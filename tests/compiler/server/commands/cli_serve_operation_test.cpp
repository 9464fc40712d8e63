// Operation of `smelt serve`: how it ends while requests run, keys from a file, and the log of requests.
#ifdef SMELT_SERVER
#include <future>

#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

class DrainedServer : public Server {
 protected:
  /// Waits at most about 10 seconds for the state of /health; returns whether it is "draining".
  bool comes_to_drain() const {
    for (int i = 0; i < 1000; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
      const auto health = client().get("/health");
      if (!health) return false;
      if (health->body == R"({"status":"draining"})") return true;
    }
    return false;
  }
};

TEST_F(DrainedServer, AnswersWhatItHasBeforeItEnds) {
  start_slow({"--slots", "1", "--drain-seconds", "60"});
  const Json body = {{"prompt", "a"}, {"max_tokens", 200}, {"seed", 1}, {"stream", true}};
  std::vector<std::future<std::vector<std::string>>> streams;
  for (int i = 0; i < 2; ++i)  // of which the second waits
    streams.push_back(std::async(std::launch::async, [&] { return events(body); }));
  ASSERT_TRUE(comes_to("requests_running", 1) && comes_to("requests_waiting", 1));
  ::kill(process(), SIGTERM);
  ASSERT_TRUE(comes_to_drain());
  const auto refused = post(body);
  EXPECT_EQ(refused->status, 503);
  EXPECT_TRUE(has(refused->body, "shutting_down"));
  for (auto& stream : streams) {
    const std::vector<std::string> events = stream.get();
    EXPECT_EQ(events.back(), "[DONE]");
    EXPECT_EQ(Json::parse(events[events.size() - 2])["choices"][0]["finish_reason"], "length");
  }
  EXPECT_EQ(status(), 0) << slurp(path("err.txt"));
  EXPECT_TRUE(has(slurp(path("err.txt")), "draining: open requests have 60 s"));
}

TEST_F(DrainedServer, CutsOffWhatDoesNotEndInTime) {
  start_slow({"--drain-seconds", "1"});
  auto stream = std::async(std::launch::async, [&] {
    return events({{"prompt", "a"}, {"max_tokens", 4000}, {"seed", 1}, {"stream", true}});
  });
  ASSERT_TRUE(comes_to("requests_running", 1));
  EXPECT_EQ(end(SIGTERM), 0) << slurp(path("err.txt"));
  const std::vector<std::string> events = stream.get();
  ASSERT_GE(events.size(), 2U);
  EXPECT_TRUE(has(events[events.size() - 2], "the server ends")) << events[events.size() - 2];
  EXPECT_TRUE(has(slurp(path("err.txt")), "cut off"));
}

TEST_F(DrainedServer, ASecondSignalEndsItAtOnce) {
  start_slow({"--drain-seconds", "600"});
  auto answer = std::async(std::launch::async, [&] {
    return client().post("/v1/completions", Json{{"prompt", "a"}, {"max_tokens", 4000}, {"seed", 1}}.dump());
  });
  ASSERT_TRUE(comes_to("requests_running", 1));
  ::kill(process(), SIGTERM);
  ASSERT_TRUE(comes_to_drain());
  EXPECT_EQ(end(SIGTERM), 128 + SIGTERM);
}

TEST_F(Server, AsksForKeysAndLogsRequests) {
  spill(path("keys"), "alice sk-0123456789abcdef\n");
  start_slow({"--api-keys", path("keys").string(), "--most-per-key", "4", "--log-requests"});
  EXPECT_EQ(post({{"prompt", "a"}})->status, 401);
  EXPECT_EQ(client().get("/health")->status, 200);
  EXPECT_EQ(end(SIGTERM), 0) << slurp(path("err.txt"));
  EXPECT_TRUE(has(slurp(path("err.txt")), R"("path":"/v1/completions","status":401)"));
}

TEST_F(Server, OptionsOfAccessAreCheckedBeforeTheModel) {
  EXPECT_TRUE(has(smelt("serve nothing.json --most-per-key 2").err, "--api-keys"));
  EXPECT_TRUE(has(smelt("serve nothing.json --api-keys missing").err, "missing"));
  spill(path("keys"), "short\n");
  EXPECT_TRUE(has(smelt("serve nothing.json --api-keys " + path("keys").string()).err, ":1: expected a key"));
}

}  // namespace
}  // namespace smelt::test
#endif

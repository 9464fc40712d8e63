// Memory of `smelt serve` under mixed load, and a second server at a port that is taken.
#ifdef SMELT_SERVER
#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

class LoadedServer : public Server {
 protected:
  /// Resident KiB of the process.
  int64_t resident() const {
    std::istringstream status(slurp("/proc/" + std::to_string(process()) + "/status"));
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
    return -1;
  }
  /// Good requests, bad ones, streams that are left, noise, and heads without an end.
  void one_request(int kind, int number) const {
    const Json body = {{"prompt", {1 + number % 100, 2}},
                       {"max_tokens", 1 + number % 7},
                       {"n", 1 + number % 2},
                       {"stream", number % 3 == 0}};
    if (kind < 4) {
      const auto reply = post(body);
      EXPECT_TRUE(reply && (reply->status == 200 || reply->status == 503)) << (reply ? reply->body : "none");
    } else if (kind == 4) {
      EXPECT_EQ(fault(R"({"prompt": [1], "max_tokens": -1})"), "400 max_tokens");
    } else if (kind == 5) {
      leave_stream({{"prompt", {1}}, {"max_tokens", 40}, {"stream", true}});
    } else {
      raw(kind == 6 ? "\x16\x03\x01noise\r\n\r\n" : "GET / HTTP/1.1\r\nX: " + std::string(20000, 'a'), false);
    }
  }
  void load(int requests) const {
    std::vector<std::future<void>> clients;
    for (int client = 0; client < 6; ++client)
      clients.push_back(std::async(std::launch::async, [=, this] {
        for (int i = client; i < requests; i += 6) one_request(i % 8, i);
      }));
    for (auto& each : clients) each.get();
  }
};

TEST_F(LoadedServer, KeepsNothingOfWhatHasEnded) {
  start(kGolden.string());
  load(400);
  const int64_t before = resident();
  load(1200);
  const int64_t limit = before + (kAddressSanitizer ? 400 << 10 : 2048);  // what it keeps of freed memory
  EXPECT_LT(resident(), limit) << "KiB behind 400 requests: " << before;
  EXPECT_TRUE(comes_to("requests_running", 0)) << client().get("/metrics")->body;
  EXPECT_EQ(end(SIGTERM), 0) << slurp(path("err.txt"));
}

TEST_F(LoadedServer, ASecondOneAtItsPortIsAnError) {
  start(kGolden.string());
  const std::string port = url().substr(url().rfind(':') + 1);
  expect_error(smelt("serve $GOLDEN --port " + port),
               "127.0.0.1:" + port + ": cannot be listened at (Address already in use)");
  expect_error(smelt("serve $GOLDEN --port 0 --allow-host http://a"), "--allow-host http://a: expected");
  EXPECT_EQ(completion({{"prompt", {1}}, {"max_tokens", 2}})["choices"].size(), 1U);
}

TEST_F(LoadedServer, EndsWellAsSoonAsItHasSaidWhereItIs) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    start(kGolden.string());
    EXPECT_EQ(end(signal), 0) << slurp(path("err.txt"));
  }
}

TEST_F(LoadedServer, OptionsThatLeaveNoTokenAreTheClientsFault) {
  start(kGolden.string());
  Json all = Json::array(), words = Json::array();
  for (int id = 0; id < 131; ++id) all.push_back(id), words.push_back({id});
  const Json body = {{"prompt", {1}}, {"max_tokens", 3}, {"suppress_tokens", all}};
  EXPECT_EQ(fault(body.dump()), "400 ");
  const auto reply = post(body);
  ASSERT_TRUE(reply);
  EXPECT_TRUE(has(reply->body, "leave none of the 131 tokens")) << reply->body;
  EXPECT_EQ(fault(Json{{std::string(3000000, 'k'), 1}}.dump()).size(), 2000 + 4 + 7U) << "a long name is cut";
}

}  // namespace
}  // namespace smelt::test
#endif

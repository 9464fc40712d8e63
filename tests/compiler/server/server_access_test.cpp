// Who may use a server, what it says of its state, and what it logs and counts of requests.
#ifdef SMELT_SERVER
#include <future>

#include "compiler/server/allowed_origins.h"
#include "tests/compiler/server/served_batch.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt::server {
namespace {

constexpr const char *kFirst = "sk-0123456789abcdef", *kSecond = "sk-fedcba9876543210";

class ServerAccess : public ServedBatch {
 protected:
  ApiKeys keys(const std::string& text) const { return ApiKeys::load(files_.write("keys", text)); }
  /// Returns the start of a POST with a key, up to the field that a caller may add.
  std::string post(const char* key, int64_t tokens, bool streams = false) const {
    std::string text = request(tokens, streams);
    return text.insert(text.find("\r\n") + 2, fmt::format("Authorization: Bearer {}\r\n", key));
  }
  TemporaryDirectory files_;
};

TEST_F(ServerAccess, FilesOfKeysAreReadOrRefusedWithTheLine) {
  const ApiKeys read = keys("# who may\n\nalice  sk-0123456789abcdef\r\nsk-fedcba9876543210\n");
  EXPECT_EQ(read.name_of("Bearer sk-0123456789abcdef"), "alice");
  EXPECT_EQ(read.name_of("bearer  sk-fedcba9876543210"), "key 2");
  for (const char* wrong : {"Bearer sk-0123456789abcde", "Bearer sk-0123456789abcdef0", "sk-0123456789abcdef",
                            "Basic sk-0123456789abcdef", "Bearer ", "Bearer", ""})
    EXPECT_THROW(read.name_of(wrong), ApiError) << wrong;
  EXPECT_THROW(read.name_of(std::nullopt), ApiError);
  EXPECT_EQ(ApiKeys().name_of(std::nullopt), "");
  EXPECT_HAS(message_of([&] { keys("a b sk-0123456789abcdef"); }), ":1: expected KEY or NAME KEY");
  EXPECT_HAS(message_of([&] { keys("\nshort"); }), ":2: expected a key of 16 to 256");
  EXPECT_HAS(message_of([&] { keys("a sk-0123456789abcdef\nb sk-0123456789abcdef"); }),
             ":2: the key was given");
  EXPECT_HAS(message_of([&] { keys("a sk-0123456789abcdef\na sk-fedcba9876543210"); }),
             "the name 'a' was given");
  EXPECT_HAS(message_of([&] { keys("# none\n"); }), "at least one key");
  EXPECT_HAS(message_of([&] { ApiKeys::load(files_ / "missing"); }), "cannot be read");
}

TEST_F(ServerAccess, KeysAreAskedForBelowV1Alone) {
  start({.keys = keys(std::string("alice ") + kFirst)});
  http_->serve(batch_, completions_);
  const auto refused = client().get("/v1/models");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 401);
  EXPECT_EQ(refused->field("www-authenticate"), "Bearer");
  EXPECT_HAS(refused->body, "invalid_api_key");
  EXPECT_EQ(client().status(request(1, false)), "401");
  EXPECT_EQ(client().status(post(kSecond, 1)), "401");
  EXPECT_EQ(client().status(post(kFirst, 1)), "200");
  for (const char* open : {"/", "/health", "/metrics"}) EXPECT_EQ(client().get(open)->status, 200) << open;
}

class PagesOfOthers : public ServerAccess {
 protected:
  std::optional<test::HttpReply> send(const std::string& method, const std::string& path,
                                      const std::string& more) const {
    return client().send(client().head(method, path) + more + "\r\n");
  }
  static constexpr const char* kAsked = "Access-Control-Request-Method: POST\r\n";
};

TEST_F(PagesOfOthers, MayReadRepliesIfTheyAreNamed) {
  start({.allowed_origins = {"https://App.example", "http://localhost:3000"},
         .keys = keys(std::string(kFirst))});
  http_->serve(batch_, completions_);
  const auto found = send("GET", "/health", "Origin: https://app.example\r\n");
  EXPECT_EQ(found->status, 200);
  EXPECT_EQ(found->field("access-control-allow-origin"), "https://app.example");
  EXPECT_EQ(found->field("vary"), "Origin");
  const auto refused = send("GET", "/v1/models", "Origin: http://localhost:3000\r\n");
  EXPECT_EQ(refused->status, 401) << "which the page can read, too";
  EXPECT_EQ(refused->field("access-control-allow-origin"), "http://localhost:3000");
  const auto other = send("GET", "/health", "Origin: https://other.example\r\n");
  EXPECT_EQ(other->status, 403);
  EXPECT_EQ(other->field("access-control-allow-origin"), "");
  EXPECT_EQ(send("GET", "/health", "")->field("access-control-allow-origin"), "");
}

TEST_F(PagesOfOthers, AskBeforeTheySendAKey) {
  start({.allowed_origins = {"https://app.example"}, .keys = keys(std::string(kFirst))});
  http_->serve(batch_, completions_);
  const std::string origin = "Origin: https://app.example\r\n";
  const auto found =
      send("OPTIONS", "/v1/completions",
           origin + kAsked + "Access-Control-Request-Headers: authorization,x-stainless-os\r\n");
  EXPECT_EQ(found->status, 200);
  EXPECT_EQ(found->body, "");
  EXPECT_EQ(found->field("access-control-allow-origin"), "https://app.example");
  EXPECT_EQ(found->field("access-control-allow-methods"), "POST");
  EXPECT_EQ(found->field("access-control-allow-headers"), "authorization,x-stainless-os");
  EXPECT_HAS(send("OPTIONS", "/v1/completions", origin + kAsked)->field("access-control-allow-headers"),
             "Authorization");
  EXPECT_EQ(send("OPTIONS", "/nowhere", origin + kAsked)->status, 404);
  EXPECT_EQ(
      send("OPTIONS", "/v1/completions", std::string("Origin: https://other.example\r\n") + kAsked)->status,
      403);
  EXPECT_EQ(send("OPTIONS", "/v1/completions", kAsked)->status, 405);
}

TEST_F(PagesOfOthers, MayReadNothingByDefaultAndEverythingWithAStar) {
  start({});
  http_->serve(batch_, completions_);
  const std::string origin = "Origin: https://app.example\r\n";
  EXPECT_EQ(send("OPTIONS", "/v1/completions", origin + kAsked)->status, 403);
  stop();
  start({.allowed_origins = {"*"}});
  http_->serve(batch_, completions_);
  EXPECT_EQ(send("GET", "/health", origin)->field("access-control-allow-origin"), "*");
  EXPECT_EQ(send("GET", "/health", "Origin: null\r\n")->field("access-control-allow-origin"), "*");
}

TEST_F(PagesOfOthers, AreOriginsOrRefused) {
  for (const char* wrong : {"", "app.example", "https://", "https://app.example/page", "https://a b", "://a"})
    EXPECT_HAS(message_of([&] { AllowedOrigins({wrong}); }), "--allow-origin") << wrong;
  AllowedOrigins({"https://[::1]:8080", "chrome-extension://abc", "*"});
}

TEST_F(ServerAccess, AKeyHasAsManyOpenRequestsAsItMay) {
  start({.keys = keys(fmt::format("alice {}\nbob {}\n", kFirst, kSecond)), .most_per_key = 1});
  http_->serve(batch_, completions_);
  {
    const test::Connection open(port_);
    open.send(post(kFirst, kLong - 2, true));
    EXPECT_HAS(open.until("data: "), "200 OK");
    const auto more = client().send(post(kFirst, 1));
    ASSERT_TRUE(more);
    EXPECT_EQ(more->status, 429);
    EXPECT_EQ(more->field("retry-after"), "1");
    EXPECT_HAS(more->body, "'alice' has 1 open requests");
    EXPECT_EQ(client().status(post(kSecond, 1)), "200");
  }
  ASSERT_TRUE(comes_to_run(0));  // alice has left
  for (int i = 0; i < 20; ++i) ASSERT_EQ(client().status(post(kFirst, 1)), "200") << i;
}

TEST_F(ServerAccess, HealthTellsStartingReadyAndDrainingApart) {
  start({});
  EXPECT_EQ(client().get("/health")->status, 503);
  EXPECT_EQ(client().get("/health")->body, R"({"status":"starting"})");
  EXPECT_EQ(client().get("/")->status, 200);
  for (const char* path : {"/metrics", "/v1/models", "/v1/models/m"})
    EXPECT_HAS(client().get(path)->body, "\"starting\"") << path;
  EXPECT_EQ(client().status(request(1, false)), "503");
  http_->serve(batch_, completions_);
  EXPECT_EQ(client().get("/health")->body, R"({"status":"ok"})");
  EXPECT_EQ(client().status(request(1, false)), "200");
  http_->drain();
  EXPECT_EQ(client().get("/health")->body, R"({"status":"draining"})");
  EXPECT_EQ(client().get("/v1/models")->status, 200);
  const auto refused = client().send(request(1, false));
  EXPECT_EQ(refused->status, 503);
  EXPECT_HAS(refused->body, "shutting_down");
}

TEST_F(ServerAccess, DrainingLetsRequestsEndThatRunAndWait) {
  serve();
  EXPECT_TRUE(batch_.wait_idle(std::chrono::seconds(0)));
  std::vector<std::future<std::string>> answers;
  for (int i = 0; i < 8; ++i)  // of which four run at once
    answers.push_back(
        std::async(std::launch::async, [this, i] { return client().status(request(2000, i % 2 == 0)); }));
  while (batch_.counts().running + batch_.counts().waiting < 8) std::this_thread::yield();
  http_->drain();
  EXPECT_FALSE(batch_.wait_idle(std::chrono::milliseconds(1)));
  EXPECT_TRUE(batch_.wait_idle(std::chrono::seconds(60)));
  for (auto& answer : answers) EXPECT_EQ(answer.get(), "200");
}

TEST_F(ServerAccess, RequestsAreLoggedWithTheirIds) {
  std::mutex mutex;
  std::vector<std::string> lines;
  start({.keys = keys(std::string("alice ") + kFirst), .log = [&](const RequestRecord& record) {
           const std::lock_guard lock(mutex);
           lines.push_back(log_line(record));
         }});
  http_->serve(batch_, completions_);
  std::string own = post(kFirst, 3, true);
  own.insert(own.find("\r\n") + 2, "X-Request-Id: mine-1.a\r\n");
  EXPECT_EQ(client().send(own)->field("x-request-id"), "mine-1.a");
  const auto forged = client().send(client().head("GET", "/%22%0Anone") + "X-Request-Id: a\"b\r\n\r\n");
  EXPECT_TRUE(forged->field("x-request-id").starts_with("req-"));
  stop();
  ASSERT_EQ(lines.size(), 2U);
  const auto first = nlohmann::json::parse(lines[0]), second = nlohmann::json::parse(lines[1]);
  EXPECT_EQ(first["request_id"], "mine-1.a");
  EXPECT_EQ(first["client"], "alice");
  EXPECT_EQ(first["status"], 200);
  EXPECT_EQ(first["prompt_tokens"], 2);
  EXPECT_EQ(first["new_tokens"], 3);
  EXPECT_EQ(first["finish"], nlohmann::json({"length"}));
  EXPECT_LE(first["first_event_seconds"], first["seconds"]);
  EXPECT_EQ(second["status"], 404);
  EXPECT_FALSE(second.contains("client") || second.contains("new_tokens"));
}

TEST_F(ServerAccess, MetricsHaveHistogramsOfTimes) {
  serve();
  EXPECT_EQ(client().status(request(5, false)), "200");
  EXPECT_EQ(client().status(request(1, true)), "200");
  const std::string text = client().get("/metrics")->body;
  EXPECT_HAS(text, "# TYPE smelt_first_token_seconds histogram");
  EXPECT_HAS(text, "smelt_queue_seconds_count 2\n");
  EXPECT_HAS(text, "smelt_first_token_seconds_count 2\n");
  EXPECT_HAS(text, "smelt_first_token_seconds_bucket{le=\"+Inf\"} 2\n");
  EXPECT_HAS(text, "smelt_between_tokens_seconds_count 4\n");
  EXPECT_HAS(text, "smelt_request_seconds_count 2\n");
  EXPECT_HAS(text, "smelt_step_requests_bucket{le=\"1\"}");
}

TEST(HistogramOfServer, CountsByBoundsThatBelongToTheirBuckets) {
  static constexpr double kBounds[] = {1, 2.5};
  Histogram histogram(kBounds);
  for (const double value : {0.5, 1.0, 1.5, 2.5, 100.0}) histogram.add(value);
  EXPECT_EQ(
      histogram.text("x", "Help."),
      "# HELP smelt_x Help.\n# TYPE smelt_x histogram\nsmelt_x_bucket{le=\"1\"} 2\n"
      "smelt_x_bucket{le=\"2.5\"} 4\nsmelt_x_bucket{le=\"+Inf\"} 5\nsmelt_x_sum 105.5\nsmelt_x_count 5\n");
}

}  // namespace
}  // namespace smelt::server
#endif

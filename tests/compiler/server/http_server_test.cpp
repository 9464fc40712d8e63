// Requests as they are written against a server: too long, too slow, too many, or for another one.
#ifdef SMELT_SERVER
#include "compiler/server/http_server.h"

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "compiler/server/http_limits.h"
#include "tests/compiler/server/served_batch.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt::server {
namespace {

using test::Connection;

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST_F(ServedBatch, HeadsAreBounded) {
  serve();
  const std::string health = client().head("GET", "/health");
  EXPECT_EQ(client().status(health + "X: " + std::string(8000, 'a') + "\r\n\r\n"), "200");
  EXPECT_EQ(client().status(health + "X: " + std::string(20000, 'a') + "\r\n\r\n"), "431");
  EXPECT_EQ(client().status(health + repeated("X: y\r\n", 200) + "\r\n"), "431");
  EXPECT_EQ(client().status(client().head("GET", "/" + std::string(20000, 'a')) + "\r\n"), "431");
  EXPECT_EQ(client().status(health + repeated("X: y\r\n", 20000) + "\r\n"), "431");
}

TEST_F(ServedBatch, ALineWithoutAnEndIsNotReadOn) {
  serve();
  const Connection connection(port_);
  connection.send("GET / HTTP/1.1\r\nX: ");
  size_t sent = 0;
  const std::string piece(1 << 16, 'a');
  while (sent < 4 * kMostSkippedBytes && connection.send(piece)) sent += piece.size();
  EXPECT_LT(sent, 2 * kMostSkippedBytes) << "which is read, not kept, for the client to see why";
}

TEST_F(ServedBatch, RangesAreNotForAnswers) {
  serve();
  const std::string ranges = "Range: bytes=" + repeated("0-,", 2600) + "0-\r\n\r\n";
  const auto whole = client().get("/v1/models"),
             asked = client().send(client().head("GET", "/v1/models") + ranges);
  ASSERT_TRUE(whole && asked);
  EXPECT_EQ(asked->status, 200);
  EXPECT_EQ(asked->body, whole->body);
}

TEST_F(ServedBatch, WhatTwoReadersReadDifferentlyIsRefused) {
  serve();
  const std::string post = client().head("POST", "/v1/completions");
  const std::string chunks = "2\r\n{}\r\n0\r\n\r\n";
  for (const auto& [fields, status] : std::vector<std::pair<std::string, const char*>>{
           {"Content-Length: 2\r\nContent-Length: 9\r\n\r\n{}", "400"},
           {"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", "400"},
           {"Content-Length: 2, 2\r\n\r\n{}", "400"},
           {"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, "400"},
           {"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n" + chunks, "400"},
           {"Transfer-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", "400"},
           {"Transfer-Encoding: gzip\r\n\r\n" + chunks, "501"},
           {"Transfer-Encoding: gzip, chunked\r\n\r\n" + chunks, "501"},
           {"Content-Length: -1\r\n\r\n{}", "400"},
           {"Content-Length: 99999999999999999999\r\n\r\n{}", "400"},
           {"Content-Length: 5000000\r\n\r\n{}", "413"},
           {"Transfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n", "400"},
           {"Transfer-Encoding: chunked\r\n\r\nffffffffff\r\n{}\r\n", "413"},
           {"Transfer-Encoding: chunked\r\n\r\n2;" + std::string(100000, 'x') + "\r\n{}\r\n", "400"},
           {"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", "415"},
           {"Content-Type: multipart/form-data\r\nContent-Length: 2\r\n\r\n{}", "415"},
           {"Expect: a miracle\r\nContent-Length: 2\r\n\r\n{}", "417"},
           {"Host: localhost\r\nContent-Length: 2\r\n\r\n{}", "400"},
           {"\r\n", "411"}})
    EXPECT_EQ(client().status(post + fields), status) << fields.substr(0, 80);
  EXPECT_EQ(client().status("GET / HTTP/9.9\r\n\r\n"), "400");
  EXPECT_EQ(client().status("GET / HTTP/1.1\r\n\r\n"), "400") << "no Host";
  EXPECT_EQ(client().status("GET / HTTP/1.1\nHost: localhost\n\n"), "400");
  EXPECT_EQ(client().status("nonsense\r\n\r\n"), "400");
}

/// A client that waits for a reply is woken once.
TEST_F(ServedBatch, SendsAReplyAtOnce) {
  serve();
  const Connection connection(port_);
  for (int i = 0; i < 50; ++i) {
    connection.send("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const std::string reply = connection.some();
    EXPECT_HAS(reply, "HTTP/1.1 200");
    ASSERT_TRUE(reply.ends_with("}")) << reply;
  }
}

/// Replies that are shorter and longer than a piece arrive whole.
TEST_F(ServedBatch, SendsLongRepliesInPieces) {
  serve();
  size_t longest = 0;
  for (int tokens = 50; tokens < 1000; tokens += 150) {
    const nlohmann::json body = {
        {"prompt", {1, 2}}, {"max_tokens", tokens}, {"temperature", 0}, {"logprobs", 5}};
    const auto reply = client().post("/v1/completions", body.dump());
    ASSERT_TRUE(reply);
    ASSERT_EQ(reply->field("content-length"), std::to_string(reply->body.size()));
    EXPECT_EQ(nlohmann::json::parse(reply->body).at("usage").at("completion_tokens"), tokens);
    longest = std::max(longest, reply->body.size());
  }
  EXPECT_GT(longest, kPieceBytes);
}

TEST_F(ServedBatch, MethodsOfAPathAreNamed) {
  serve();
  for (const char* method : {"GET", "PUT", "DELETE", "OPTIONS", "BREW"}) {
    const auto reply = client().send(client().head(method, "/v1/completions") + "\r\n");
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 405);
    EXPECT_EQ(reply->field("allow"), "POST");
  }
  const auto head = client().send(client().head("HEAD", "/v1/models") + "\r\n");
  const auto models = client().get("/v1/models");
  ASSERT_TRUE(head && models);
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(head->field("content-length"), std::to_string(models->body.size()));
  EXPECT_EQ(client().get("/v1/models/m")->status, 200);
  EXPECT_EQ(client().get("/v1/models/other")->status, 404);
  EXPECT_EQ(client().get("/v1/models?limit=20")->status, 200);
}

/// The status of a request with these fields, "" being none.
std::string status_of(const test::Client& client, const std::string& host, const std::string& origin) {
  return client.status("GET /health HTTP/1.1\r\nConnection: close\r\nHost: " + host +
                       (origin.empty() ? "" : "\r\nOrigin: " + origin) + "\r\n\r\n");
}

TEST_F(ServedBatch, AnswersForItsOwnHostsAlone) {
  serve(64, {"smelt.example", "other.example:9000"});
  const std::string port = std::to_string(port_), at = ":" + port;
  for (const std::string& host :
       {"localhost" + at, "LocalHost" + at, "127.0.0.1" + at, "[::1]" + at, std::string("127.0.0.1"),
        std::string("smelt.example"), std::string("smelt.example:81"), std::string("other.example:9000")}) {
    EXPECT_EQ(status_of(client(), host, ""), "200") << host;
    EXPECT_EQ(status_of(client(), host, "http://" + (host == "127.0.0.1" ? host + at : host)), "200") << host;
    EXPECT_EQ(status_of(client(), host, "http://evil.example"), "403") << host;
    EXPECT_EQ(status_of(client(), host, "null"), "403") << host;
  }
  for (const std::string& host :
       {"evil.example" + at, std::string("evil.example"), std::string("localhost:1"),
        "localhost.evil.example" + at, "127.0.0.1.evil.example" + at, "10.0.0.1" + at,
        std::string("other.example:9001"), "a b" + at, "user@localhost" + at,
        std::string("localhost:") + port + "0", std::string()})
    EXPECT_EQ(status_of(client(), host, ""), "403") << host;
  EXPECT_EQ(status_of(client(), "localhost" + at, "http://127.0.0.1" + at), "200") << "one machine";
  EXPECT_EQ(status_of(client(), "localhost" + at, "http://localhost:1"), "403") << "a page of another server";
  const auto told =
      client().send("GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(told);
  EXPECT_HAS(told->body, "--allow-host evil.example");
}

TEST_F(ServedBatch, OfAnAddressForOthersAnswersAsAnyAddress) {
  serve(64, {}, "0.0.0.0");
  for (const std::string host : {"192.0.2.7", "192.0.2.7:9000", "[2001:db8::1]:80"}) {
    EXPECT_EQ(status_of(client(), host, ""), "200") << host;
    EXPECT_EQ(status_of(client(), host, "http://" + host), "200") << host;
    EXPECT_EQ(status_of(client(), host, "http://192.0.2.8"), "403") << host;
  }
  EXPECT_EQ(status_of(client(), "evil.example", ""), "403");
}

TEST_F(ServedBatch, WhatIsNoHostIsRefused) {
  for (const char* host : {"http://a", "a b", "a:b", "[::", ""})
    EXPECT_HAS(message_of([&] { HttpServer({.connections = 1, .allowed_hosts = {host}}); }), "--allow-host")
        << host;
}

TEST_F(ServedBatch, ATakenPortIsAnError) {
  serve();
  HttpServer second({.connections = 1});
  EXPECT_HAS(message_of([&] { second.bind("127.0.0.1", port_); }), "Address already in use");
  EXPECT_HAS(message_of([&] { second.bind("0.0.0.0", port_); }), "Address already in use");
}

TEST_F(ServedBatch, RequestsOfOneConnectionAreAnsweredInTurn) {
  serve();
  const std::string host = "HTTP/1.1\r\nHost: localhost\r\n";
  const Connection connection(port_);
  connection.send("POST /v1/completions " + host + "Transfer-Encoding: chunked\r\n\r\n" +
                  "5\r\n{\"pro\r\n18\r\nmpt\":[1],\"max_tokens\":2}\r\n0\r\n\r\n" + "GET /none " + host +
                  "\r\n" + "GET /health " + host + "Connection: close\r\n\r\n");
  const std::string all = connection.all();
  const size_t first = all.find("200 OK"), second = all.find("404 Not Found"), third = all.rfind("200 OK");
  EXPECT_TRUE(first < second && second < third && third != std::string::npos) << all;
  EXPECT_HAS(all, "text_completion");
  EXPECT_TRUE(all.ends_with(R"({"status":"ok"})")) << all;
}

TEST_F(ServedBatch, ContinuesWhatItWouldTake) {
  serve();
  const std::string body = R"({"prompt":[1],"max_tokens":2})";
  const std::string fields =
      "Expect: 100-continue\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  const Connection taken(port_), refused(port_);
  taken.send(client().head("POST", "/v1/completions") + fields);
  EXPECT_EQ(taken.until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  taken.send(body);
  EXPECT_TRUE(taken.until("\r\n\r\n").starts_with("HTTP/1.1 200"));
  refused.send(client().head("POST", "/none") + fields);
  EXPECT_TRUE(refused.until("\r\n\r\n").starts_with("HTTP/1.1 404"));
}

TEST_F(ServedBatch, ClientsOfTheFirstVersionReadToTheEnd) {
  serve();
  const std::string old = "POST /v1/completions HTTP/1.0\r\nContent-Length: 45\r\n\r\n";
  const Connection connection(port_);
  connection.send(old + R"({"prompt":[1],"max_tokens":3,"stream":true}  )");
  const std::string all = connection.all();
  EXPECT_TRUE(all.starts_with("HTTP/1.1 200")) << all;
  EXPECT_TRUE(all.ends_with("data: [DONE]\n\n")) << all;
  EXPECT_EQ(all.find("chunked"), std::string::npos);
}

TEST_F(ServedBatch, SlowClientsKeepNobodyOut) {
  serve(8);
  std::vector<std::unique_ptr<Connection>> slow;
  for (int i = 0; i < 50; ++i) {
    slow.push_back(std::make_unique<Connection>(port_));
    slow.back()->send("GET /health HTTP/1.1\r\nX: ");
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client().status(request(3, false)), "200");
  EXPECT_EQ(slow.front()->some(), "") << "closed for those that came later";
}

TEST_F(ServedBatch, AnswersThatRunAreNotClosedForOthers) {
  serve(2);
  const Connection first(port_), second(port_);
  first.send(request(kLong / 2, true));
  second.send(request(kLong / 2, true));
  ASSERT_TRUE(comes_to_run(2));
  const auto refused = client().get("/health");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->field("retry-after"), "1");
  EXPECT_HAS(first.some(), "200 OK");
}

TEST_F(ServedBatch, WhoGoesAwayEndsWhatRuns) {
  serve();
  for (const bool streams : {false, true}) {
    auto connection = std::make_unique<Connection>(port_);
    connection->send(request(kLong / 2, streams));
    ASSERT_TRUE(comes_to_run(1));
    connection.reset();
    EXPECT_TRUE(comes_to_run(0)) << streams;
  }
  const Connection half(port_);
  half.send(request(kLong / 2, false));
  ASSERT_TRUE(comes_to_run(1));
  half.end_sending();
  EXPECT_HAS(half.all(), "keep it open until then");
}

TEST_F(ServedBatch, AStreamThatIsNotReadDelaysNobody) {
  serve();
  const Connection deaf(port_);
  deaf.read_slowly();
  deaf.send(request(kLong / 2, true));
  ASSERT_TRUE(comes_to_run(1));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client().status(request(3, i % 2 == 0)), "200");
}

TEST_F(ServedBatch, EndsInBoundedTimeWhateverIsOpen) {
  serve();
  std::vector<std::unique_ptr<Connection>> open;
  const std::vector<std::string> beginnings = {
      "", "GET / HTTP/1.1\r\nX: ", client().head("POST", "/v1/completions") + "Content-Length: 9\r\n\r\n{",
      request(kLong / 2, false), request(kLong / 2, true)};
  for (const std::string& beginning : beginnings)
    for (int i = 0; i < 2; ++i) {
      open.push_back(std::make_unique<Connection>(port_));
      open.back()->read_slowly();
      open.back()->send(beginning);
    }
  ASSERT_TRUE(comes_to_run(4));
  const auto begin = std::chrono::steady_clock::now();
  stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2 * kMostEndTime);
  EXPECT_HAS(open[6]->all(), "the server ends");
}

TEST_F(ServedBatch, SlowRequestsAreToldSo) {
  serve();
  const Connection connection(port_);
  connection.send("GET / HTTP/1.1\r\nX: ");
  std::thread feed([&] {
    for (int i = 0; i < 8; ++i, std::this_thread::sleep_for(std::chrono::seconds(1))) connection.send("a");
  });
  const std::string reply = connection.until("\r\n\r\n");
  feed.join();
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 408")) << reply;
}

/// What many clients do at the same time, for ThreadSanitizer.
TEST_F(ServedBatch, ManyClientsAtOnce) {
  serve(16);
  std::vector<std::future<void>> clients;
  for (int t = 0; t < 6; ++t)
    clients.push_back(std::async(std::launch::async, [&, t] {
      for (int i = 0; i < 12; ++i) {
        const std::string status = client().status(request(1 + (t + i) % 9, i % 2 == 0));
        EXPECT_TRUE(status == "200" || status == "503") << status;
        client().get("/metrics");
        const Connection leaves(port_);
        leaves.send(request(kLong / 2, i % 3 == 0));
        if (i % 3 == 0) leaves.some();
      }
    }));
  for (auto& each : clients) each.get();
  EXPECT_TRUE(comes_to_run(0));
}

}  // namespace
}  // namespace smelt::server
#endif

// Test fixture with an HTTP server in the process of the test. Its model is RememberingModel
// (tests/runtime/engine/serving/remembering_model.h).
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "compiler/server/completion_service.h"
#include "compiler/server/http_server.h"
#include "tests/compiler/http_client.h"
#include "tests/runtime/engine/serving/remembering_model.h"

namespace smelt::server {

class ServedBatch : public ::testing::Test {
 protected:
  /// Capacity of the model in tokens per request, so that a request can run for as long as a test needs.
  static constexpr int64_t kLong = int64_t{1} << 20;

  /// Starts the server at a free port of `host`, with the parameters of HttpServer.
  void serve(size_t connections = 64, const std::vector<std::string>& allowed_hosts = {},
             const std::string& host = "127.0.0.1") {
    start({.connections = connections, .allowed_hosts = allowed_hosts}, host);
    http_->serve(batch_, completions_);
  }
  /// Starts a server that has no model yet.
  void start(HttpOptions options, const std::string& host = "127.0.0.1") {
    http_.emplace(std::move(options));
    port_ = http_->bind(host, 0);
    thread_ = std::thread([this] { http_->listen(); });
  }
  void TearDown() override { stop(); }
  void stop() {
    if (!thread_.joinable()) return;
    batch_.close();
    http_->stop();
    thread_.join();
  }

  test::Client client() const { return test::Client(port_); }
  std::string request(int64_t tokens, bool streams) const {
    const nlohmann::json body = {
        {"prompt", {1, 2}}, {"max_tokens", tokens}, {"temperature", 0}, {"stream", streams}};
    return client().post_text("/v1/completions", body.dump());
  }
  /// Waits at most about 5 seconds until exactly `count` requests run; returns whether they do.
  bool comes_to_run(size_t count) const {
    for (int i = 0; i < 5000; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(1)))
      if (batch_.counts().running == count) return true;
    return false;
  }

  RememberingModel model_{4, kLong};
  BatchThread batch_{*model_.session, {}};
  const cli::PromptText texts_{cli::Model{}, kWords, false};
  const RequestMaker maker_{texts_, "", false, batch_.capacity()};
  CompletionService completions_{batch_, texts_, maker_, "m"};
  std::optional<HttpServer> http_;
  std::thread thread_;
  int port_ = 0;
};

}  // namespace smelt::server

// Test fixture that runs `smelt serve` as a process on a free port of this machine, and sends requests to it.
#pragma once

#ifdef SMELT_SERVER
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <future>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "tests/compiler/cli.h"
#include "tests/compiler/http_client.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt::test {

using Json = nlohmann::json;
using Seconds = std::chrono::seconds;

/// Description of a byte-level model that takes some milliseconds per token and generates up to 4096 tokens.
inline constexpr const char* kSlowModel = R"({"family": "llama", "vocab_size": 256, "hidden": 256,
    "max_positions": 4096, "tokenizer": "bytes", "decoder": {"layers": 4, "heads": 4, "ffn": 512}})";

class Server : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    std::signal(SIGPIPE, SIG_IGN);  // a server may reply and close before it has read the whole request
  }
  void TearDown() override {
    if (child_ > 0) end(SIGKILL);
    CommandLine::TearDown();
  }

  /// Starts the server, and waits until it listens.
  void start(const std::string& model, const std::vector<std::string>& options = {}) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    child_ = ::fork();
    if (child_ == 0) exec(model, options, ends[1]);
    ::close(ends[1]);
    std::string line;
    for (char c = 0; ::read(ends[0], &c, 1) == 1 && c != '\n';) line += c;
    ::close(ends[0]);
    ASSERT_TRUE(line.starts_with("listening on http://127.0.0.1:")) << line << slurp(path("err.txt"));
    port_ = std::stoi(line.substr(line.rfind(':') + 1));
  }
  void start_slow(const std::vector<std::string>& options = {}) {
    spill(path("slow.json"), kSlowModel);
    std::vector<std::string> all = {"--from-scratch"};
    all.insert(all.end(), options.begin(), options.end());
    start(path("slow.json").string(), all);
  }

  /// Makes start() launch a server of `count` ranks.
  void use_ranks(int count) { ranks_ = count; }
  /// Returns the ids of the rank processes that `smelt launch` has started.
  std::vector<pid_t> ranks() const {
    std::istringstream ids(shell("pgrep -P " + std::to_string(child_)).out);
    return {std::istream_iterator<pid_t>(ids), {}};
  }
  /// Waits for the end of the server, and returns its exit status; 128 + n for signal n, as in a shell.
  int status() {
    int status = 0;
    ::waitpid(std::exchange(child_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  /// Sends a signal to the server, and returns status().
  int end(int signal) {
    ::kill(child_, signal);
    return status();
  }

  pid_t process() const { return child_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  Client client() const { return Client(port_); }
  std::optional<HttpReply> post(const Json& body, const char* path = "/v1/completions") const {
    return client().post(path, body.dump());
  }
  Json completion(const Json& body) const {
    const auto result = post(body);
    if (result && result->status == 200) return Json::parse(result->body);
    ADD_FAILURE() << body << ": " << (result ? result->body : "no answer");
    return {{"choices", Json::array()}};
  }
  /// Sends a faulty request, and checks that the reply has the members of an error of the API. Returns
  /// "STATUS PARAM", where PARAM is the parameter that the error names.
  std::string fault(const std::string& body, const char* path = "/v1/completions") const {
    const auto result = client().post(path, body);
    if (!result) return "no answer";
    const Json error = Json::parse(result->body)["error"];
    for (const char* member : {"message", "type", "param", "code"}) EXPECT_TRUE(error.contains(member));
    return std::to_string(result->status) + " " +
           (error["param"].is_null() ? "" : error["param"].get<std::string>());
  }

  /// Returns the data of all events of a streamed reply.
  std::vector<std::string> events(const Json& body) const {
    std::vector<std::string> result;
    std::istringstream text(post(body)->body);
    for (std::string line; std::getline(text, line);)
      if (line.starts_with("data: ")) result.push_back(line.substr(6));
    return result;
  }

  /// Sends a request for a stream, and closes the connection after the first event.
  void leave_stream(const Json& body) const {
    const Connection connection(port_);
    connection.send(client().post_text("/v1/completions", body.dump()));
    EXPECT_HAS(connection.until("data: "), "data: ");
  }

  /// Does the same for `count` concurrent requests for long texts.
  void leave_streams(int count) const {
    const Json body = {{"prompt", "a"}, {"max_tokens", 4000}, {"stream", true}, {"seed", 1}};
    std::vector<std::future<void>> clients;
    for (int i = 0; i < count; ++i)
      clients.push_back(std::async(std::launch::async, [&] { leave_stream(body); }));
    for (auto& each : clients) each.get();
  }

  /// Returns the value of the metric smelt_NAME; -1 if there is none.
  double metric(const std::string& name) const {
    const std::string text = client().get("/metrics")->body;
    const size_t at = text.find("\nsmelt_" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 8));
  }
  /// Waits at most about 10 seconds until a metric has a value; returns whether it has.
  bool comes_to(const std::string& name, double value) const {
    for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(20)))
      if (metric(name) == value) return true;
    return false;
  }

  /// Sends bytes on a new connection. If `leave`, closes it at once and returns ""; else returns the first
  /// bytes of the reply.
  std::string raw(const std::string& bytes, bool leave) const {
    const Connection connection(port_);
    EXPECT_TRUE(connection.send(bytes));
    return leave ? "" : connection.some();
  }
  /// Returns the request line and the first header fields of a request to this server.
  std::string head(const std::string& method, const std::string& path) const {
    return client().head(method, path);
  }

 private:
  [[noreturn]] void exec(const std::string& model, const std::vector<std::string>& options, int out) const {
    const int err = ::open(path("err.txt").c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    ::dup2(out, STDOUT_FILENO), ::dup2(err, STDERR_FILENO);
    ::setenv("OMP_NUM_THREADS", "1", 1);
    const std::string program = (fs::path(SMELT_BINARY_DIR) / "smelt").string();
    std::vector<std::string> words = {program, "serve", model, "--port", "0"};
    if (ranks_ > 1) words.insert(words.begin(), {program, "launch", "-n", std::to_string(ranks_), "--"});
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(program.c_str(), arguments.data());
    ::_exit(127);
  }

  int ranks_ = 1;  // number of processes of the server
  pid_t child_ = 0;
  int port_ = 0;
};

}  // namespace smelt::test
#endif

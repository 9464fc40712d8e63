// `smelt serve` on a free port of this machine: what clients get, and what becomes of those that misbehave.
#ifdef SMELT_SERVER
#include <arpa/inet.h>
#include <fcntl.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using Json = nlohmann::json;
using Seconds = std::chrono::seconds;

/// A model of bytes of some milliseconds a token, whose texts may be long.
constexpr const char* kSlowModel = R"({"family": "llama", "vocab_size": 256, "hidden": 256,
    "max_positions": 4096, "tokenizer": "bytes", "decoder": {"layers": 4, "heads": 4, "ffn": 512}})";

class Server : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    std::signal(SIGPIPE, SIG_IGN);  // a server may answer before it has read all
  }
  void TearDown() override {
    if (child_ > 0) end(SIGKILL);
    CommandLine::TearDown();
  }

  /// Returns when the server listens.
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

  /// The exit status, as a shell has it.
  int end(int signal) {
    int status = 0;
    ::kill(child_, signal);
    ::waitpid(std::exchange(child_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  httplib::Client client() const {
    httplib::Client result("127.0.0.1", port_);
    result.set_read_timeout(Seconds(60));
    return result;
  }
  httplib::Result post(const Json& body, const char* path = "/v1/completions") const {
    return client().Post(path, body.dump(), "application/json");
  }
  Json completion(const Json& body) const {
    const auto result = post(body);
    if (result && result->status == 200) return Json::parse(result->body);
    ADD_FAILURE() << body << ": " << (result ? result->body : httplib::to_string(result.error()));
    return {{"choices", Json::array()}};
  }
  /// "status param", and that the body has the API's shape.
  std::string fault(const std::string& body, const char* path = "/v1/completions") const {
    const auto result = client().Post(path, body, "application/json");
    if (!result) return "no answer";
    const Json error = Json::parse(result->body)["error"];
    for (const char* member : {"message", "type", "param", "code"}) EXPECT_TRUE(error.contains(member));
    return std::to_string(result->status) + " " +
           (error["param"].is_null() ? "" : error["param"].get<std::string>());
  }

  /// Events of a stream, without what stands around their data.
  std::vector<std::string> events(const Json& body) const {
    std::vector<std::string> result;
    std::istringstream text(post(body)->body);
    for (std::string line; std::getline(text, line);)
      if (line.starts_with("data: ")) result.push_back(line.substr(6));
    return result;
  }

  /// Sends a request whose stream is left after its first event.
  void leave_stream(const Json& body) const {
    httplib::Request request;
    request.method = "POST", request.path = "/v1/completions", request.body = body.dump();
    request.content_receiver = [](const char*, size_t, uint64_t, uint64_t) { return false; };
    EXPECT_FALSE(client().send(request));
  }

  double metric(const std::string& name) const {
    const std::string text = client().Get("/metrics")->body;
    const size_t at = text.find("\nsmelt_" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 8));
  }
  bool comes_to(const std::string& name, double value) const {
    for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(20)))
      if (metric(name) == value) return true;
    return false;
  }

  /// A connection of its own, on which bytes are sent as they are; returns what comes back until it closes.
  std::string raw(const std::string& bytes, bool leave) const {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET, address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
    std::string answer(1024, '\0');
    const ssize_t size = leave ? 0 : ::recv(socket, answer.data(), answer.size(), 0);
    ::close(socket);
    return answer.substr(0, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  }

 private:
  [[noreturn]] void exec(const std::string& model, const std::vector<std::string>& options, int out) const {
    const int err = ::open(path("err.txt").c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    ::dup2(out, STDOUT_FILENO), ::dup2(err, STDERR_FILENO);
    ::setenv("OMP_NUM_THREADS", "1", 1);
    const std::string program = (fs::path(SMELT_BINARY_DIR) / "smelt").string();
    std::vector<std::string> words = {program, "serve", model, "--port", "0"};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(program.c_str(), arguments.data());
    ::_exit(127);
  }

  pid_t child_ = 0;
  int port_ = 0;
};

TEST_F(Server, GivesWhatGenerateGives) {
  const Outcome generated = smelt("generate $GOLDEN --ids '3 1 4 1 5' --max-new-tokens 8");
  start(kGolden.string());
  const Json body = {{"prompt", {3, 1, 4, 1, 5}}, {"max_tokens", 8}, {"temperature", 0}, {"model", "gpt2"}};
  const Json found = completion(body);
  std::string ids = "3 1 4 1 5";
  for (const Json& id : found["choices"][0]["token_ids"]) ids += " " + id.dump();
  EXPECT_TRUE(has(generated.out, ids)) << generated.out << ids;
  EXPECT_EQ(found["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(found["usage"], (Json{{"prompt_tokens", 5}, {"completion_tokens", 8}, {"total_tokens", 13}}));
  EXPECT_EQ(Json::parse(client().Get("/v1/models")->body)["data"][0]["id"], "gpt2");
  EXPECT_TRUE(has(client().Get("/")->body, "/v1/completions"));
  EXPECT_EQ(client().Get("/health")->body, R"({"status":"ok"})");
  EXPECT_EQ(end(SIGINT), 0) << slurp(path("err.txt"));
}

TEST_F(Server, StreamsWhatItGivesAtOnce) {
  start_slow();
  Json body = {{"prompt", "ab"}, {"max_tokens", 40}, {"seed", 5},  {"n", 2},
               {"echo", true},   {"stop", "\x03"},   {"top_k", 40}};
  const Json whole = completion(body)["choices"];
  body["stream"] = true, body["stream_options"] = {{"include_usage", true}};
  Json joined = Json::array({{{"token_ids", Json::array()}}, {{"token_ids", Json::array()}}});
  std::vector<std::string> events = this->events(body);
  ASSERT_GE(events.size(), 4U);
  EXPECT_EQ(events.back(), "[DONE]");
  events.pop_back();
  EXPECT_GT(Json::parse(events.back())["usage"]["completion_tokens"], 2);
  events.pop_back();
  for (const std::string& event : events) {
    const Json choice = Json::parse(event)["choices"][0];
    Json& all = joined[choice["index"].get<size_t>()];
    for (const Json& id : choice["token_ids"]) all["token_ids"].push_back(id);
    all["finish_reason"] = choice["finish_reason"];
  }
  ASSERT_EQ(whole.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(joined[i]["token_ids"], whole[i]["token_ids"]);
    EXPECT_EQ(joined[i]["finish_reason"], whole[i]["finish_reason"]);
    EXPECT_TRUE(whole[i]["text"].get<std::string>().starts_with("ab"));
  }
  EXPECT_NE(whole[0]["token_ids"], whole[1]["token_ids"]);
}

TEST_F(Server, StreamsOfBytesHaveWholeCharacters) {
  start_slow();
  // Two bytes of a character of two bytes, in an order that is drawn: some pairs are characters.
  Json body = {
      {"prompt", "a"}, {"max_tokens", 48}, {"seed", 3}, {"logit_bias", {{"195", 100}, {"169", 100}}}};
  const std::string whole = completion(body)["choices"][0]["text"];
  EXPECT_TRUE(has(whole, "\u00e9") && has(whole, "\uFFFD")) << whole;
  body["stream"] = true;
  std::string joined;
  for (const std::string& event : events(body))
    if (event != "[DONE]") joined += Json::parse(event)["choices"][0]["text"].get<std::string>();
  EXPECT_EQ(joined, whole);
}

TEST_F(Server, ErrorsHaveTheApisShape) {
  start(kGolden.string());
  EXPECT_EQ(fault("{"), "400 ");
  EXPECT_EQ(fault(std::string(100000, '[')), "400 ");
  EXPECT_EQ(fault(R"({"prompt": "no tokenizer"})"), "400 prompt");
  EXPECT_EQ(fault(R"({"prompt": [1], "tools": []})"), "400 tools");
  EXPECT_EQ(fault(R"({"prompt": [1], "model": "other"})"), "404 model");
  EXPECT_EQ(fault(R"({"prompt": [1], "max_tokens": 100000})"), "400 ");
  EXPECT_EQ(fault(R"({"prompt": [1], "suppress_tokens": [9999]})"), "400 ");
  for (const char* name : {"eos_token_id", "stop_token_ids", "forced_eos_token_id", "begin_suppress_tokens"})
    EXPECT_EQ(fault(Json{{"prompt", {1}}, {name, {2000000000}}, {"min_new_tokens", 2}}.dump()), "400 ")
        << name;
  EXPECT_EQ(fault(R"({"prompt": [9999]})"), "400 ");
  EXPECT_EQ(fault(std::string(5 << 20, ' ')), "413 ");
  EXPECT_EQ(fault(R"({"messages": []})", "/v1/chat/completions"), "400 messages");
  EXPECT_EQ(fault("{}", "/v1/embeddings"), "404 ");
  const std::string head = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n";
  raw(head + "{\"prompt\":", true);  // cut off
  EXPECT_TRUE(
      raw(head + "{\"prompt\":", false).starts_with("HTTP/1.1 400"));  // and then nothing, for seconds
  EXPECT_TRUE(raw("nonsense\r\n\r\n", false).starts_with("HTTP/1.1 400"));
  EXPECT_EQ(completion({{"prompt", {1}}, {"max_tokens", 2}})["choices"].size(), 1U);
}

TEST_F(Server, FiftyAtOnceGetWhatEachGetsAlone) {
  start_slow({"--slots", "5", "--chunk", "16"});
  std::vector<Json> bodies;
  for (int i = 0; i < 50; ++i)
    bodies.push_back(
        {{"prompt", std::string(static_cast<size_t>(1 + i * 7 % 60), static_cast<char>('a' + i % 26))},
         {"max_tokens", 3 + i % 20},
         {"seed", i},
         {"top_p", 0.9},
         {"logprobs", 1},
         {"temperature", i % 3}});
  std::vector<std::future<Json>> together;
  for (const Json& body : bodies)
    together.push_back(std::async(std::launch::async, [&, body] { return completion(body); }));
  std::vector<Json> found;
  for (auto& each : together) found.push_back(each.get());
  for (size_t i = 0; i < bodies.size(); ++i)
    EXPECT_EQ(found[i]["choices"], completion(bodies[i])["choices"]) << bodies[i] << found[i];
  EXPECT_EQ(metric("requests_running"), 0);
  EXPECT_EQ(metric("requests_total{end=\"finished\"}"), 100);
}

TEST_F(Server, ClientsThatGoAwayLeaveNoSlotTaken) {
  start_slow({"--slots", "3"});
  const Json body = {{"prompt", "a"}, {"max_tokens", 4000}, {"stream", true}, {"seed", 1}};
  std::vector<std::future<void>> clients;
  for (int i = 0; i < 12; ++i) clients.push_back(std::async(std::launch::async, [&] { leave_stream(body); }));
  for (auto& each : clients) each.get();
  EXPECT_TRUE(comes_to("requests_total{end=\"cancelled\"}", 12)) << client().Get("/metrics")->body;
  EXPECT_EQ(metric("requests_running"), 0);
  EXPECT_EQ(metric("requests_waiting"), 0);
  EXPECT_EQ(completion({{"prompt", "a"}, {"max_tokens", 2}})["choices"].size(), 1U);
}

TEST_F(Server, RefusesWhatTheQueueCannotHoldAndEndsWhileItStreams) {
  start_slow({"--slots", "1", "--queue", "1"});
  EXPECT_EQ(fault(R"({"prompt": "a", "n": 3})"), "400 n") << "which no later time would take";
  const Json body = {{"prompt", "a"}, {"max_tokens", 4000}, {"stream", true}, {"seed", 1}};
  std::vector<std::future<void>> streams;
  const auto stream = [&] { post(body); };
  streams.push_back(std::async(std::launch::async, stream));
  ASSERT_TRUE(comes_to("requests_running", 1));
  streams.push_back(std::async(std::launch::async, stream));
  ASSERT_TRUE(comes_to("requests_waiting", 1));
  const auto refused = post({{"prompt", "a"}});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->get_header_value("Retry-After"), "1");
  EXPECT_TRUE(has(refused->body, "1 requests run and 1 wait")) << refused->body;
  EXPECT_EQ(end(SIGTERM), 0) << slurp(path("err.txt"));
  for (auto& each : streams) each.get();
}

TEST_F(Server, SaysWhatItCannotServe) {
  spill(path("t5.json"), R"({"family": "t5", "vocab_size": 43, "hidden": 24, "max_positions": 40,
      "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]},
      "encoder": {"layers": 1, "heads": 2, "ffn": 31}, "decoder": {"layers": 1, "heads": 2, "ffn": 33}})");
  expect_error(smelt("serve t5.json --from-scratch --port 0"), "only decoders are served");
  expect_error(smelt("serve $GOLDEN --port 0 --slots 17"), "17 slots: expected at most 16");
  expect_error(smelt("serve $GOLDEN --port 0 --host 203.0.113.1"), "cannot be listened at");
}

TEST_F(Server, OpenAIsClientWorks) {
  if (shell("python3 -c 'import openai'").status != 0) GTEST_SKIP() << "python3 has no package openai";
  start_slow();
  const std::string script = (fs::path(SMELT_SOURCE_DIR) / "tests/python/check_openai_client.py").string();
  const Outcome outcome = shell("python3 '" + script + "' " + url());
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
}

}  // namespace
}  // namespace smelt::test
#endif

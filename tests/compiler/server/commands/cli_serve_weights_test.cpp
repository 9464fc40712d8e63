// POST /update_weights of `smelt serve`: new weights from a directory while the server runs.
#ifdef SMELT_SERVER
#include <future>

#include "compiler/driver/compile.h"
#include "frontend/build_transformer.h"
#include "runtime/session/session.h"
#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

constexpr const char* kServedSpec =
    R"({"family": "llama", "vocab_size": 256, "hidden": 32, "max_positions": 64,
    "tokenizer": "bytes", "init": {"deviation": 0.3}, "decoder": {"layers": 1, "heads": 4, "ffn": 64}})";

void write_weights(const fs::path& file, uint32_t seed) {
  CompileOptions options;
  options.mode = Mode::infer;
  const Description description{Description::Kind::spec, "spec.json", spec_from_json(kServedSpec), nullptr,
                                Json::object(),          {}};
  Session session(std::make_shared<const Plan>(compile(description, options).plan));
  session.initialize(seed);
  session.save_weights(file);
}

class ServerWithWeights : public Server {
 protected:
  void SetUp() override {
    Server::SetUp();
    spill(path("model.json"), kServedSpec);
    fs::create_directories(path("weights"));
    write_weights(path("weights/first.safetensors"), 1), write_weights(path("weights/second.safetensors"), 2);
  }
  void serve_first(const std::vector<std::string>& options) {
    std::vector<std::string> all = {"--weights", path("weights/first.safetensors").string()};
    all.insert(all.end(), options.begin(), options.end());
    start(path("model.json").string(), all);
  }
  Json ids() const {
    return completion({{"prompt", "abc"}, {"max_tokens", 12}, {"temperature", 0}})["choices"][0]["token_ids"];
  }
  std::string updated(const Json& body) const {
    const auto reply = post(body, "/update_weights");
    return reply ? reply->body : "no answer";
  }
  std::string refused(const Json& body) const { return fault(body.dump(), "/update_weights"); }
};

TEST_F(ServerWithWeights, EveryReplicaHasThem) {
  start(path("model.json").string(), {"--weights", path("weights/second.safetensors").string()});
  const Json expected = ids();
  end(SIGKILL);
  serve_first({"--weights-from", path("weights").string(), "--replicas", "3", "--slots", "1"});
  EXPECT_EQ(updated({{"path", "second.safetensors"}}), R"({"weights_version":1})");
  ASSERT_TRUE(comes_to("weights_version", 1)) << "the oldest of all replicas";
  std::vector<std::future<Json>> answers;
  for (int i = 0; i < 9; ++i) answers.push_back(std::async(std::launch::async, [&] { return ids(); }));
  for (auto& answer : answers) EXPECT_EQ(answer.get(), expected);
  EXPECT_EQ(metric("weight_updates_total"), 1);
}

TEST_F(ServerWithWeights, AnswersWithTheNewOnes) {
  start(path("model.json").string(), {"--weights", path("weights/second.safetensors").string()});
  const Json expected = ids();
  end(SIGKILL);
  serve_first({"--weights-from", path("weights").string()});
  const Json before = ids();
  EXPECT_NE(before, expected);
  EXPECT_EQ(updated({{"path", "second.safetensors"}, {"version", 7}}), R"({"weights_version":7})");
  ASSERT_TRUE(comes_to("weights_version", 7));
  EXPECT_EQ(ids(), expected);
  const std::string whole = path("weights/first.safetensors").string();
  EXPECT_EQ(updated({{"path", whole}, {"wait", true}, {"keep_prefixes", false}}), R"({"weights_version":8})");
  ASSERT_TRUE(comes_to("weight_updates_total", 2));
  EXPECT_EQ(ids(), before);
}

TEST_F(ServerWithWeights, RefusesOthersByName) {
  spill(path("secret.safetensors"), "secret");
  fs::create_symlink(path("secret.safetensors"), path("weights/link.safetensors"));
  spill(path("weights/broken.safetensors"), "broken");
  fs::create_directories(path("weights-too"));
  serve_first({"--weights-from", path("weights").string()});
  const Json before = ids();
  for (const std::string& wrong :
       {std::string("../secret.safetensors"), std::string("link.safetensors"),
        path("secret.safetensors").string(), std::string("../weights-too/a"), std::string("none.safetensors"),
        std::string("broken.safetensors"), std::string("")})
    EXPECT_EQ(refused({{"path", wrong}}), "400 path") << wrong;
  EXPECT_EQ(refused(Json::object()), "400 path");
  EXPECT_EQ(refused({{"path", 3}}), "400 path");
  const Json good = {{"path", "second.safetensors"}};
  for (const auto& [name, value] : {std::pair<const char*, Json>("version", -1),
                                    {"version", "1"},
                                    {"wait", 1},
                                    {"keep_prefixes", "no"},
                                    {"group", 1}}) {
    Json body = good;
    body[name] = value;
    EXPECT_EQ(refused(body), std::string("400 ") + name);
  }
  EXPECT_EQ(fault("[]", "/update_weights"), "400 ");
  EXPECT_EQ(metric("weight_updates_total"), 0);
  EXPECT_EQ(ids(), before);
}

TEST_F(ServerWithWeights, TakesNoneUnlessADirectoryIsGiven) {
  serve_first({});
  EXPECT_EQ(refused({{"path", path("weights/second.safetensors").string()}}), "404 ");
}

}  // namespace
}  // namespace smelt::test
#endif

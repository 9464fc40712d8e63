// Adapters of `smelt serve`: chosen by the model's name, loaded and dropped over HTTP.
#ifdef SMELT_SERVER
#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

constexpr const char* kModelWithAdapter = SMELT_SOURCE_DIR "/tests/goldens/llama-lora";

class ServerWithAdapters : public Server {
 protected:
  void SetUp() override {
    Server::SetUp();
    fs::create_directories(path("adapters/first"));
    for (const char* name : {"adapter_config.json", "adapter_model.safetensors"})
      fs::copy_file(fs::path(kModelWithAdapter) / name, path("adapters/first") / name);
  }
  void serve(std::vector<std::string> options) {
    options.insert(options.end(), {"--name", "base", "--max", "T=64"});
    start(kModelWithAdapter, options);
  }
  void serve_slots(std::vector<std::string> options = {}) {
    options.insert(options.end(), {"--adapters", "2", "--adapters-from", path("adapters").string()});
    serve(options);
  }
  Json ids(const Json& model, bool streams = false) const {
    const Json body = {{"model", model},
                       {"prompt", {3, 1, 4, 1, 5}},
                       {"max_tokens", 12},
                       {"temperature", 0},
                       {"logprobs", 0}};
    if (!streams) return completion(body)["choices"][0]["logprobs"]["tokens"];
    Json streamed = body, all = Json::array();
    streamed["stream"] = true;
    for (const std::string& event : events(streamed)) {
      if (event == "[DONE]") continue;
      const Json tokens = Json::parse(event)["choices"][0]["logprobs"]["tokens"];
      all.insert(all.end(), tokens.begin(), tokens.end());
    }
    return all;
  }
  std::string load(const Json& body) const { return post(body, "/v1/load_lora_adapter")->body; }
  std::string refused(const Json& body) const { return fault(body.dump(), "/v1/load_lora_adapter"); }
  std::string unload(const std::string& name) const {
    const auto reply = post({{"lora_name", name}}, "/v1/unload_lora_adapter");
    return reply->status == 200 ? reply->body : std::to_string(reply->status);
  }
};

TEST_F(ServerWithAdapters, AnswersAsAServerWithTheAdapterOfAllRequests) {
  serve({"--adapter", kModelWithAdapter});
  const Json expected = ids("base");
  end(SIGKILL);
  serve_slots({"--adapter", std::string("first=") + kModelWithAdapter});
  EXPECT_EQ(ids("first"), expected);
  EXPECT_EQ(ids("first", true), expected);
  EXPECT_NE(ids("base"), expected);
  EXPECT_EQ(ids(nullptr), ids("base"));
  EXPECT_EQ(completion({{"model", "first"}, {"prompt", {3}}, {"max_tokens", 1}})["model"], "first");
}

TEST_F(ServerWithAdapters, LoadsAndDropsThem) {
  serve_slots();
  EXPECT_EQ(fault(R"({"model": "new", "prompt": [3]})"), "404 model");
  EXPECT_EQ(load({{"lora_name", "new"}, {"lora_path", "first"}}),
            "Success: LoRA adapter 'new' added successfully.");
  const Json adapted = ids("new");
  EXPECT_NE(adapted, ids("base"));
  const Json models = Json::parse(client().get("/v1/models")->body)["data"];
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[1]["id"], "new");
  EXPECT_EQ(models[1]["parent"], "base");
  EXPECT_EQ(Json::parse(client().get("/v1/models/new")->body)["parent"], "base");
  EXPECT_EQ(unload("new"), "Success: LoRA adapter 'new' removed successfully.");
  EXPECT_EQ(unload("new"), "404");
  EXPECT_EQ(fault(R"({"model": "new", "prompt": [3]})"), "404 model");
  for (const char* name : {"one", "two"}) load({{"lora_name", name}, {"lora_path", "first"}});
  EXPECT_EQ(refused({{"lora_name", "three"}, {"lora_path", "first"}}), "503 ");
  EXPECT_EQ(ids("two"), adapted);
  EXPECT_EQ(metric("adapter_slots"), 2);
  EXPECT_EQ(metric("adapters_loaded"), 2);
  EXPECT_EQ(metric("adapter_loads_total"), 3);
  EXPECT_EQ(metric("adapter_drops_total"), 1);
  EXPECT_EQ(metric("adapter_requests_total{adapter=\"new\"}"), 1);
  EXPECT_EQ(metric("adapter_new_tokens_total{adapter=\"two\"}"), 12);
}

TEST_F(ServerWithAdapters, RefusesOthersByName) {
  fs::create_directories(path("adapters-too"));
  fs::create_directory_symlink(path("adapters-too"), path("adapters/link"));
  fs::create_directories(path("adapters/broken"));
  spill(path("adapters/broken/adapter_config.json"), "{}");
  serve_slots();
  for (const char* wrong : {"../adapters-too", "link", "none", "broken", ""})
    EXPECT_EQ(refused({{"lora_name", "new"}, {"lora_path", wrong}}), "400 lora_path") << wrong;
  EXPECT_EQ(refused({{"lora_name", "base"}, {"lora_path", "first"}}), "400 lora_name");
  EXPECT_EQ(refused({{"lora_name", 3}, {"lora_path", "first"}}), "400 lora_name");
  EXPECT_EQ(refused({{"lora_path", "first"}}), "400 lora_name");
  EXPECT_EQ(refused({{"lora_name", "new"}, {"lora_path", "first"}, {"load_inplace", true}}),
            "400 load_inplace");
  load({{"lora_name", "new"}, {"lora_path", "first"}});
  EXPECT_EQ(refused({{"lora_name", "new"}, {"lora_path", "first"}}), "400 lora_name");
}

TEST_F(ServerWithAdapters, LoadsNoneUnlessADirectoryIsGiven) {
  serve({"--adapters", "2", "--adapter", "one=" + path("adapters/first").string()});
  EXPECT_EQ(refused({{"lora_name", "new"}, {"lora_path", "first"}}), "404 ");
  EXPECT_EQ(unload("one"), "404");
  EXPECT_EQ(ids("one").size(), 12U);
}

/// A request gets the adapter or is refused by its name, and others are not changed.
TEST_F(ServerWithAdapters, LoadsAndDropsThemUnderLoad) {
  serve_slots({"--adapter", "fixed=" + path("adapters/first").string()});
  const Json base = ids("base"), adapted = ids("fixed");
  std::vector<std::future<int>> clients;
  for (const char* name : {"base", "fixed", "new", "new"})
    clients.push_back(std::async(std::launch::async, [&, name] {
      int answers = 0;
      for (int i = 0; i < 25; ++i) {
        const Json body = {{"model", name},
                           {"prompt", {3, 1, 4, 1, 5}},
                           {"max_tokens", 12},
                           {"temperature", 0},
                           {"logprobs", 0}};
        const auto reply = post(body);
        if (!reply || (reply->status == 404 && std::string(name) == "new")) continue;
        const Json found = Json::parse(reply->body)["choices"][0]["logprobs"]["tokens"];
        answers += found == (std::string(name) == "base" ? base : adapted);
        EXPECT_EQ(found, std::string(name) == "base" ? base : adapted) << name;
      }
      return answers;
    }));
  for (int i = 0; i < 40; ++i) {
    (void)load({{"lora_name", "new"}, {"lora_path", "first"}});
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    (void)unload("new");
  }
  EXPECT_EQ(clients[0].get(), 25);
  EXPECT_EQ(clients[1].get(), 25);
  EXPECT_GT(clients[2].get() + clients[3].get(), 0);
}

TEST_F(ServerWithAdapters, EndsAtItsStartIfAnAdapterIsWrong) {
  const std::string serve = std::string("serve ") + kModelWithAdapter + " --port 0 --max T=64 ";
  expect_error(smelt(serve + "--adapter one=" + path("adapters/first").string()), "--adapters N");
  expect_error(smelt(serve + "--adapters 2 --adapter one=" + path("adapters").string()),
               "adapter_config.json");
  expect_error(
      smelt(serve + "--adapters 2 --adapter-rank 2 --adapter one=" + path("adapters/first").string()),
      "expected at most 2");
  expect_error(smelt(serve + "--adapter a=b --adapter " + path("adapters/first").string()), "NAME=DIR");
  expect_error(smelt(serve + "--adapters-from " + path("adapters").string()), "no slots for adapters");
}

}  // namespace
}  // namespace smelt::test
#endif

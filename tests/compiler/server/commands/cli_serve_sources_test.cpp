// Answers of `smelt serve` to clients of an encoder-decoder.
#ifdef SMELT_SERVER
#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

class SourceServer : public Server {
 protected:
  void SetUp() override {
    Server::SetUp();
    model_ = (kGolden.parent_path() / "t5-gated").string();
  }
  /// Returns the new ids that `smelt generate` writes.
  Json generated(const std::string& options) const {
    return Json::parse(smelt("generate " + model_ + " --json " + options).out)["new_ids"];
  }
  std::string model_;
};

TEST_F(SourceServer, GivesWhatGenerateGives) {
  const Json ids = generated("--ids '3 1 4 9 5' --num-beams 1 --no-do-sample --max-new-tokens 8"),
             other = generated("--ids '7 8' --num-beams 1 --no-do-sample --max-new-tokens 5");
  start(model_, {"--slots", "4"});
  const Json body = {{"prompt", {{3, 1, 4, 9, 5}, {7, 8}}}, {"max_tokens", 8}, {"temperature", 0}, {"n", 2}};
  const Json found = completion(body);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(found["choices"][i]["token_ids"], ids);
  for (size_t i = 0; i < other.size(); ++i) EXPECT_EQ(found["choices"][2]["token_ids"][i], other[i]);
  EXPECT_EQ(found["usage"]["prompt_tokens"], 7);
  Json joined = Json::array(), stream = {{"prompt", {7, 8}}, {"max_tokens", 5}, {"temperature", 0}};
  stream["stream"] = true;
  for (const std::string& event : events(stream)) {
    const Json part = event == "[DONE]" ? Json::object() : Json::parse(event)["choices"][0];
    for (const Json& id : part.value("token_ids", Json::array())) joined.push_back(id);
  }
  EXPECT_EQ(joined, other);
  EXPECT_EQ(end(SIGINT), 0) << slurp(path("err.txt"));
}

TEST_F(SourceServer, TakesTokensOfTheDecoder) {
  start(model_);
  Json body = {{"prompt", {3, 1, 4}}, {"max_tokens", 3}, {"temperature", 0}, {"forced_bos_token_id", 17}};
  const Json forced = completion(body)["choices"][0]["token_ids"];
  EXPECT_EQ(forced[0], 17);
  body["forced_bos_token_id"] = nullptr, body["decoder_start_token_id"] = 17, body["max_tokens"] = 2;
  const Json begun = completion(body)["choices"][0]["token_ids"];
  EXPECT_EQ(begun.size(), 2U);
  body["logprobs"] = 1;
  EXPECT_EQ(completion(body)["choices"][0]["logprobs"]["tokens"].size(), 2U);
}

/// The length of a prompt is that of a source.
TEST_F(SourceServer, TellsTheLengthOfASource) {
  spill(path("bytes.json"), R"({"family": "t5", "vocab_size": 256, "hidden": 16, "tokenizer": "bytes",
      "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}, "encoder": {"layers": 1, "heads": 4, "ffn": 32},
      "decoder": {"layers": 1, "heads": 4, "ffn": 32}})");
  start(path("bytes.json").string(), {"--from-scratch", "--max", "T=12,S=30"});
  const auto reply = post({{"prompt", "abc"}}, "/tokenize");
  EXPECT_EQ(reply->status, 200) << reply->body;
  EXPECT_EQ(Json::parse(reply->body)["max_model_len"], 30);
}

TEST_F(SourceServer, RefusesByName) {
  start(model_, {"--max", "T=12,S=6"});
  EXPECT_EQ(fault(R"({"prompt": [1], "echo": true})"), "400 echo");
  EXPECT_EQ(fault(R"({"prompt": [1], "prompt_logprobs": 1})"), "400 prompt_logprobs");
  EXPECT_EQ(fault(R"({"prompt": [1], "decoder_start_token_id": 99})"), "400 ");
  EXPECT_EQ(fault(R"({"prompt": [1], "decoder_start_token_id": -1})"), "400 decoder_start_token_id");
  EXPECT_EQ(fault(R"({"messages": [{"role": "user", "content": "a"}]})", "/v1/chat/completions"),
            "400 messages");
  EXPECT_HAS(post({{"prompt", {1, 2, 3, 4, 5, 6, 7}}, {"max_tokens", 1}})->body, "--max S=");
  EXPECT_HAS(post({{"prompt", {1}}, {"max_tokens", 13}})->body, "--max T=");
  EXPECT_EQ(post({{"prompt", {1, 2, 3, 4, 5, 6}}, {"max_tokens", 12}})->status, 200);
  EXPECT_EQ(end(SIGINT), 0) << slurp(path("err.txt"));
  start(kGolden.string());
  EXPECT_EQ(fault(R"({"prompt": [1], "decoder_start_token_id": 0})"), "400 decoder_start_token_id");
}

}  // namespace
}  // namespace smelt::test
#endif

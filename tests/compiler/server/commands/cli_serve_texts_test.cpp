// Embeddings, classes and scores of `smelt serve`, compared with those of sentence-transformers and
// transformers (tests/compiler/texts/record_texts.py).
#ifdef SMELT_SERVER
#include <bit>
#include <cmath>

#include "runtime/tokenizers/base64.h"
#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

class TextServer : public Server {
 protected:
  static fs::path folder(const char* name) {
    return fs::path(SMELT_SOURCE_DIR) / "tests/compiler/texts" / name;
  }
  /// Starts a server of a recorded model, and returns what is expected of it.
  Json start_recorded(const char* name, const std::vector<std::string>& options = {}) {
    start(folder(name).string(), options);
    return Json::parse(slurp(folder(name) / "expected.json"));
  }
  Json reply(const Json& body, const char* path) const {
    const auto result = post(body, path);
    if (result && result->status == 200) return Json::parse(result->body);
    ADD_FAILURE() << body << ": " << (result ? result->body : "no answer");
    return nullptr;
  }
  Json embeddings(Json body) const {
    Json list = Json::array();
    const Json found = reply(body, "/v1/embeddings");
    for (const Json& each : found["data"]) {
      EXPECT_EQ(each["index"], list.size());
      list.push_back(each["embedding"]);
    }
    return list;
  }
  std::string status(const Json& body, const char* path) const { return fault(body.dump(), path); }
};

void expect_near(const Json& found, const Json& expected) {
  constexpr double kNear = 1e-5;
  if (expected.is_number()) {
    EXPECT_NEAR(found.get<double>(), expected.get<double>(), kNear);
    return;
  }
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) expect_near(found[i], expected[i]);
}

double length_of(const Json& vector) {
  double squares = 0;
  for (const Json& x : vector) squares += x.get<double>() * x.get<double>();
  return std::sqrt(squares);
}

TEST_F(TextServer, EmbeddingsAreThoseOfSentenceTransformers) {
  const Json expected = start_recorded("sentence-bert");
  const Json& texts = expected["texts"];
  expect_near(embeddings({{"input", texts}}), expected["embeddings"]);
  expect_near(embeddings({{"input", texts}, {"prompt_name", "query"}}), expected["queries"]);
  expect_near(embeddings({{"input", texts}, {"prompt", "what is "}}), expected["queries"]);
  const Json one = reply({{"input", texts[1]}, {"model", "sentence-bert"}, {"user", "u"}}, "/v1/embeddings");
  EXPECT_EQ(one["object"], "list");
  EXPECT_EQ(one["model"], "sentence-bert");
  EXPECT_EQ(one["usage"], (Json{{"prompt_tokens", 3}, {"total_tokens", 3}}));
  EXPECT_EQ(client().get("/health")->body, R"({"status":"ok"})");
  EXPECT_EQ(Json::parse(client().get("/v1/models")->body)["data"][0]["id"], "sentence-bert");
  EXPECT_EQ(client().get("/")->status, 404);
  EXPECT_EQ(metric("requests_total{end=\"finished\"}"), static_cast<double>(3 * texts.size() + 1));
  EXPECT_EQ(end(SIGTERM), 0) << slurp(path("err.txt"));
}

TEST_F(TextServer, EmbeddingsHaveTheFormsOfOpenAI) {
  const Json expected = start_recorded("sentence-bert");
  const Json text = expected["texts"][0];
  const Json whole = embeddings({{"input", text}})[0];
  const std::string bytes =
      *decode_base64(embeddings({{"input", text}, {"encoding_format", "base64"}})[0].get<std::string>());
  ASSERT_EQ(bytes.size(), 4 * whole.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    uint32_t bits = 0;
    for (size_t byte = 4; byte-- > 0;) bits = bits << 8 | static_cast<unsigned char>(bytes[4 * i + byte]);
    EXPECT_EQ(std::bit_cast<float>(bits), whole[i].get<float>());
  }
  const Json cut = embeddings({{"input", text}, {"dimensions", 5}})[0];
  ASSERT_EQ(cut.size(), 5U);
  EXPECT_NEAR(length_of(cut), 1, 1e-6);
  EXPECT_NEAR(cut[0].get<double>() * whole[1].get<double>(), cut[1].get<double>() * whole[0].get<double>(),
              1e-6);
  EXPECT_GT(std::abs(length_of(embeddings({{"input", text}, {"normalize", false}})[0]) - 1), 1e-3);
  const Json ids = {2, 5, 6, 3};
  expect_near(embeddings({{"input", {ids, {2, 11, 3}}}})[0], embeddings({{"input", ids}})[0]);
}

TEST_F(TextServer, LongTextsAreTruncatedOnlyIfAsked) {
  start_recorded("sentence-bert");
  std::string text = "iron";
  for (int i = 0; i < 30; ++i) text += " ore";
  EXPECT_EQ(status({{"input", text}}, "/v1/embeddings"), "400 input");
  std::string fits = "iron";
  for (int i = 0; i < 17; ++i) fits += " ore";
  const Json whole = embeddings({{"input", fits}});
  EXPECT_EQ(embeddings({{"input", text}, {"truncate_prompt_tokens", -1}}), whole);
  EXPECT_EQ(embeddings({{"input", text}, {"truncate_prompt_tokens", 20}}), whole);
  EXPECT_EQ(
      reply({{"input", text}, {"truncate_prompt_tokens", 6}}, "/v1/embeddings")["usage"]["prompt_tokens"], 6);
  EXPECT_EQ(status({{"input", text}, {"truncate_prompt_tokens", 21}}, "/v1/embeddings"),
            "400 truncate_prompt_tokens");
  EXPECT_EQ(status({{"input", text}, {"truncate_prompt_tokens", 1}}, "/v1/embeddings"),
            "400 truncate_prompt_tokens");
}

TEST_F(TextServer, BadBodiesAreRefusedByName) {
  start_recorded("sentence-bert", {"--queue", "8"});
  const auto of = [&](const Json& body) { return status(body, "/v1/embeddings"); };
  EXPECT_EQ(of({{"input", ""}}), "400 input");
  EXPECT_EQ(of({{"input", 3}}), "400 input");
  EXPECT_EQ(of({{"input", {9999}}}), "400 ");
  EXPECT_EQ(of({{"input", "a"}, {"dimensions", 13}}), "400 dimensions");
  EXPECT_EQ(of({{"input", "a"}, {"dimensions", "3"}}), "400 dimensions");
  EXPECT_EQ(of({{"input", "a"}, {"temperature", 1}}), "400 temperature");
  EXPECT_EQ(of({{"input", "a"}, {"prompt_name", "passage"}}), "400 prompt_name");
  EXPECT_EQ(of({{"input", "a"}, {"model", "other"}}), "404 model");
  EXPECT_EQ(of({{"input", std::vector<std::string>(9, "hot")}}), "400 ");
  EXPECT_EQ(status({{"prompt", "a"}}, "/v1/completions"), "404 ");
  EXPECT_EQ(status({{"query", "a"}, {"documents", {"b"}}}, "/rerank"), "404 ");
  EXPECT_EQ(embeddings({{"input", "hot"}}).size(), 1U);
}

TEST_F(TextServer, ManyClientsGetWhatEachGetsAlone) {
  const Json expected = start_recorded("sentence-bert", {"--step-tokens", "48"});
  const Json &texts = expected["texts"], &vectors = expected["embeddings"];
  std::vector<std::future<void>> clients;
  for (size_t number = 0; number < 24; ++number)
    clients.push_back(std::async(std::launch::async, [&, number] {
      Json own = Json::array(), of_own = Json::array();
      for (size_t i = 0; i < 1 + number % 5; ++i)
        own.push_back(texts[(number + i) % texts.size()]),
            of_own.push_back(vectors[(number + i) % texts.size()]);
      expect_near(embeddings({{"input", own}}), of_own);
    }));
  for (auto& each : clients) each.get();
  EXPECT_EQ(metric("requests_waiting"), 0);
}

TEST_F(TextServer, ClientsThatGoAwayLeaveNothing) {
  const Json expected = start_recorded("sentence-bert");
  const std::string body = Json{{"input", std::vector<std::string>(2000, "the ore melts")}}.dump();
  for (int i = 0; i < 4; ++i) raw(client().post_text("/v1/embeddings", body), true);
  EXPECT_TRUE(comes_to("requests_waiting", 0));
  expect_near(embeddings({{"input", expected["texts"]}}), expected["embeddings"]);
}

TEST_F(TextServer, ScoresAreThoseOfCrossEncoder) {
  const Json expected = start_recorded("cross-encoder");
  Json firsts = Json::array(), seconds = Json::array();
  for (const Json& pair : expected["pairs"]) firsts.push_back(pair[0]), seconds.push_back(pair[1]);
  Json scores = Json::array();
  const Json found = reply({{"text_1", firsts}, {"text_2", seconds}}, "/score");
  for (const Json& each : found["data"]) scores.push_back(each["score"]);
  expect_near(scores, expected["scores"]);
  const Json raw =
      reply({{"text_1", firsts[0]}, {"text_2", seconds}, {"use_activation", false}}, "/v1/score");
  expect_near(raw["data"][2]["score"], expected["logits"][2]);
  const Json ranked = reply({{"query", firsts[0]}, {"documents", seconds}}, "/rerank")["results"];
  ASSERT_EQ(ranked.size(), seconds.size());
  for (size_t i = 0; i < ranked.size(); ++i) {
    const auto index = ranked[i]["index"].get<size_t>();
    EXPECT_EQ(ranked[i]["document"]["text"], seconds[index]);
    expect_near(ranked[i]["relevance_score"], expected["scores"][index]);
    EXPECT_LE(ranked[i]["relevance_score"], ranked[i == 0 ? 0 : i - 1]["relevance_score"]);
  }
  const Json best =
      reply({{"query", firsts[0]}, {"documents", seconds}, {"top_n", 2}, {"return_documents", false}},
            "/v1/rerank");
  EXPECT_EQ(best["results"].size(), 2U);
  EXPECT_FALSE(best["results"][0].contains("document"));
  EXPECT_EQ(status({{"query", firsts[0]}, {"documents", Json::array()}}, "/rerank"), "400 documents");
  EXPECT_EQ(status({{"input", "a"}}, "/v1/embeddings"), "404 ");
  EXPECT_EQ(reply({{"input", "hot"}}, "/classify")["data"][0]["label"], "LABEL_0");
}

TEST_F(TextServer, ClassesAreThoseOfTransformers) {
  const Json expected = start_recorded("classifier");
  const Json found = reply({{"input", expected["texts"]}}, "/classify");
  EXPECT_EQ(found["object"], "list");
  for (size_t i = 0; i < expected["texts"].size(); ++i) {
    EXPECT_EQ(found["data"][i]["label"], expected["labels"][i]);
    EXPECT_EQ(found["data"][i]["num_classes"], 3);
    expect_near(found["data"][i]["probs"], expected["probabilities"][i]);
  }
  EXPECT_EQ(status({{"text_1", "a"}, {"text_2", "b"}}, "/score"), "404 ");
}

TEST_F(TextServer, TextsAreTokenizedAsTheModelReadsThem) {
  start_recorded("sentence-bert");
  const Json found = reply({{"prompt", "hot"}}, "/tokenize");
  EXPECT_EQ(found["count"], 3);
  EXPECT_EQ(found["max_model_len"], 20);
  expect_near(embeddings({{"input", found["tokens"]}}), embeddings({{"input", "hot"}}));
  EXPECT_EQ(reply({{"prompt", "hot"}, {"add_special_tokens", false}}, "/tokenize")["count"], 1);
  EXPECT_HAS(reply({{"tokens", found["tokens"]}}, "/detokenize")["prompt"].get<std::string>(), "hot");
  EXPECT_EQ(status({{"messages", {{{"role", "user"}, {"content", "hot"}}}}}, "/tokenize"), "400 messages");
  EXPECT_EQ(status({{"input", "hot"}}, "/v1/responses"), "404 ");
}

TEST_F(TextServer, KeysAreNeededForAllTexts) {
  spill(path("keys"), "alice 0123456789abcdef\n");
  start_recorded("cross-encoder", {"--api-keys", path("keys").string()});
  for (const char* route : {"/rerank", "/score", "/classify", "/v1/rerank"})
    EXPECT_EQ(status({{"query", "a"}, {"documents", {"b"}}}, route), "401 ") << route;
}

TEST_F(TextServer, MaskedModelsEmbedWithoutTheirHeads) {
  start((kGolden / "../roberta").string());
  const Json two = embeddings({{"input", {{5, 6, 7}, {5, 8}}}});
  EXPECT_EQ(two[0].size(), 30U);
  expect_near(embeddings({{"input", {5, 6, 7}}})[0], two[0]);
}

TEST_F(TextServer, PlansSayWhatTheyAreFor) {
  expect_good(smelt("compile $GOLDEN/../bert-multi --mode=infer --max B=4,T=16 -o " + quoted("m.plan")));
  start(path("m.plan").string(), {"--weights", (kGolden / "../bert-multi").string()});
  const Json found = reply({{"input", {{5, 6, 7}, {5, 6, 7}}}}, "/classify");
  EXPECT_EQ(found["data"][0]["num_classes"], 5);
  expect_near(found["data"][0]["probs"], found["data"][1]["probs"]);
  EXPECT_EQ(status({{"input", std::vector<int>(17, 5)}}, "/classify"), "400 input");
  expect_error(smelt("serve " + quoted("m.plan") + " --port 0 --task embed --from-scratch"), "--task embed");
}

TEST_F(TextServer, DecodersEmbed) {
  spill(path("tiny.json"), R"({"family": "llama", "vocab_size": 256, "hidden": 32, "max_positions": 64,
      "tokenizer": "bytes", "decoder": {"layers": 2, "heads": 2, "ffn": 48}})");
  start(path("tiny.json").string(), {"--from-scratch", "--task", "embed", "--pooling", "lasttoken"});
  const Json two = embeddings({{"input", {"some text", "other"}}});
  EXPECT_EQ(two[0].size(), 32U);
  expect_near(embeddings({{"input", "some text"}})[0], two[0]);
}

TEST_F(TextServer, OptionsOfOtherTasksAreRefused) {
  const std::string bert = "serve '" + folder("sentence-bert").string() + "' --port 0 ",
                    cross = "serve '" + folder("cross-encoder").string() + "' --port 0 ";
  expect_error(smelt(bert + "--chunk 3"), "--chunk");
  expect_error(smelt(bert + "--cache-pages 3"), "--cache-pages");
  expect_error(smelt(bert + "--pooling max"), "another pooling");
  expect_error(smelt(bert + "--task generate"), "--task generate");
  expect_error(smelt(bert + "--task classify"), "no head of classes");
  expect_error(smelt(bert + "--step-tokens 10"), "--step-tokens=10");
  expect_error(smelt(cross + "--pooling max"), "needs no pooling");
  expect_error(smelt("serve $GOLDEN --port 0 --pooling max"), "--pooling");
}

}  // namespace
}  // namespace smelt::test
#endif

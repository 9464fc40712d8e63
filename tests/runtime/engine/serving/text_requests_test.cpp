// Bodies about whole texts, and their replies.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/text_reply.h"
#include "runtime/tokenizers/base64.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

/// "status param code"
std::string text_fault(TextTask task, const std::string& body) {
  try {
    read_text_request(task, body);
  } catch (const ApiError& error) {
    return fmt::format("{} {} {}", error.http_status(), error.param(), error.code());
  }
  return "no ApiError";
}

TEST(TextRequests, HaveTheFieldsOfOpenAI) {
  const TextRequest request = read_text_request(TextTask::embed, R"({"model": "m", "input": ["a", "b"],
      "encoding_format": "base64", "dimensions": 3, "user": "u", "truncate_prompt_tokens": -1, "normalize": false,
      "prompt_name": "query", "add_special_tokens": false})");
  EXPECT_EQ(request.model, "m");
  ASSERT_EQ(request.inputs.size(), 2U);
  EXPECT_EQ(request.inputs[1].text, "b");
  EXPECT_TRUE(request.base64);
  EXPECT_EQ(request.dimensions, 3);
  EXPECT_EQ(request.truncated_tokens, -1);
  EXPECT_EQ(request.normalizes, false);
  EXPECT_EQ(request.prompt_name, "query");
  EXPECT_FALSE(request.add_special_tokens);
}

TEST(TextRequests, InputsAreTextsOrTokens) {
  const auto inputs = [](const char* body) { return read_text_request(TextTask::embed, body).inputs; };
  EXPECT_EQ(inputs(R"({"input": "a b"})")[0].text, "a b");
  EXPECT_EQ(inputs(R"({"input": [1, 2]})")[0].tokens, (std::vector<int32_t>{1, 2}));
  const auto mixed = inputs(R"({"input": [[1, 2], "x", [3]]})");
  ASSERT_EQ(mixed.size(), 3U);
  EXPECT_EQ(mixed[1].text, "x");
  EXPECT_EQ(mixed[2].tokens, std::vector<int32_t>{3});
}

TEST(TextRequests, PairsAreOneTextWithEachOrTwoLists) {
  const auto pairs = [](const char* body) { return read_text_request(TextTask::score, body).inputs; };
  EXPECT_EQ(pairs(R"({"text_1": "a", "text_2": "b"})").size(), 1U);
  const auto each = pairs(R"({"text_1": "a", "text_2": ["b", "c"]})");
  EXPECT_EQ(each[1].text + *each[1].second, "ac");
  const auto two = pairs(R"({"text_1": ["a", "d"], "text_2": ["b", "c"]})");
  EXPECT_EQ(two[1].text + *two[1].second, "dc");
}

TEST(TextRequests, RerankTakesTextsAndObjects) {
  const TextRequest request = read_text_request(
      TextTask::rerank,
      R"({"query": "q", "documents": ["a", {"text": "b"}], "top_n": 0, "use_activation": false})");
  EXPECT_EQ(*request.inputs[1].second, "b");
  EXPECT_FALSE(request.most);
  EXPECT_TRUE(request.returns_documents && request.raw_scores);
}

TEST(TextRequests, AreRefusedByName) {
  const std::pair<const char*, const char*> embeddings[] = {
      {"[", "400  invalid_json"},
      {"[]", "400  invalid_json"},
      {"{}", "400 input missing_required_parameter"},
      {R"({"input": ""})", "400 input invalid_value"},
      {R"({"input": []})", "400 input invalid_value"},
      {R"({"input": ["a", ""]})", "400 input invalid_value"},
      {R"({"input": [[]]})", "400 input invalid_value"},
      {R"({"input": [-1]})", "400 input invalid_value"},
      {R"({"input": [1.5]})", "400 input invalid_value"},
      {R"({"input": [4294967296]})", "400 input invalid_value"},
      {R"({"input": {"text": "a"}})", "400 input invalid_value"},
      {R"({"input": "a", "model": 3})", "400 model invalid_value"},
      {R"({"input": "a", "user": 3})", "400 user invalid_value"},
      {R"({"input": "a", "encoding_format": "int8"})", "400 encoding_format invalid_value"},
      {R"({"input": "a", "dimensions": 0})", "400 dimensions invalid_value"},
      {R"({"input": "a", "dimensions": 1.5})", "400 dimensions invalid_value"},
      {R"({"input": "a", "truncate_prompt_tokens": 0})", "400 truncate_prompt_tokens invalid_value"},
      {R"({"input": "a", "truncate_prompt_tokens": -2})", "400 truncate_prompt_tokens invalid_value"},
      {R"({"input": "a", "prompt": "p", "prompt_name": "n"})", "400 prompt invalid_value"},
      {R"({"input": [1], "prompt_name": "n"})", "400 prompt_name invalid_value"},
      {R"({"input": "a", "use_activation": true})", "400 use_activation unknown_parameter"},
      {R"({"input": "a", "stream": true})", "400 stream unknown_parameter"}};
  for (const auto& [body, expected] : embeddings)
    EXPECT_EQ(text_fault(TextTask::embed, body), expected) << body;
  const std::pair<const char*, const char*> reranks[] = {
      {R"({"documents": ["a"]})", "400 query missing_required_parameter"},
      {R"({"query": ["q"], "documents": ["a"]})", "400 query invalid_value"},
      {R"({"query": "q", "documents": "a"})", "400 documents invalid_value"},
      {R"({"query": "q", "documents": [{"title": "a"}]})", "400 documents invalid_value"},
      {R"({"query": "q", "documents": ["a"], "top_n": -1})", "400 top_n invalid_value"},
      {R"({"query": "q", "texts": ["a"]})", "400 texts unknown_parameter"}};
  for (const auto& [body, expected] : reranks)
    EXPECT_EQ(text_fault(TextTask::rerank, body), expected) << body;
  EXPECT_EQ(text_fault(TextTask::score, R"({"text_1": ["a", "b"], "text_2": ["c"]})"),
            "400 text_1 invalid_value");
  const std::string many = Json{{"input", std::vector<std::string>(kMostTexts + 1, "a")}}.dump();
  EXPECT_EQ(text_fault(TextTask::classify, many), "400 input invalid_value");
}

const TextReplyHead kHead = {.id = "x-1", .model = "m\"", .created = 7, .tokens = 5};

TEST(TextReplies, HaveVectorsAsNumbersOrBase64) {
  const Json numbers = Json::parse(embeddings_body(kHead, {{0.1F, -2}, {3, 4}}, false));
  EXPECT_EQ(numbers["model"], "m\"");
  EXPECT_EQ(numbers["usage"], (Json{{"prompt_tokens", 5}, {"total_tokens", 5}}));
  EXPECT_EQ(numbers["data"][0]["embedding"].dump(), "[0.1,-2]");
  EXPECT_EQ(numbers["data"][1]["index"], 1);
  const Json coded = Json::parse(embeddings_body(kHead, {{1, -2}}, true));
  EXPECT_EQ(coded["data"][0]["embedding"], "AACAPwAAAMA=");
}

TEST(TextReplies, RankDocuments) {
  TextRequest request =
      read_text_request(TextTask::rerank, R"({"query": "q", "documents": ["a", "b", "c"]})");
  const TextResults scores = {{0.5F}, {0.75F}, {0.5F}};
  Json results = Json::parse(rerank_body(kHead, scores, request))["results"];
  EXPECT_EQ(results[0], (Json{{"index", 1}, {"relevance_score", 0.75}, {"document", {{"text", "b"}}}}));
  EXPECT_EQ(results[1]["index"], 0);
  request.most = 1, request.returns_documents = false;
  results = Json::parse(rerank_body(kHead, scores, request))["results"];
  EXPECT_EQ(results, Json::array({{{"index", 1}, {"relevance_score", 0.75}}}));
}

TEST(TextReplies, NameTheLikeliestClass) {
  const Json reply = Json::parse(classification_body(kHead, {{0.25F, 0.75F}}, {"no", "yes"}));
  EXPECT_EQ(reply["data"][0].dump(), R"({"index":0,"label":"yes","num_classes":2,"probs":[0.25,0.75]})");
  EXPECT_EQ(Json::parse(scores_body(kHead, {{0.5F}}))["data"][0]["score"], 0.5);
}

TEST(ClassScores, FollowTheConfig) {
  const TemporaryDirectory directory;
  const auto read = [&](const char* config, size_t classes) {
    return read_class_scores(Json::parse(config), directory.path(), classes);
  };
  EXPECT_EQ(read("null", 2).labels, (std::vector<std::string>{"LABEL_0", "LABEL_1"}));
  EXPECT_EQ(read(R"({"id2label": {"0": "a", "1": "b"}})", 2).labels[1], "b");
  EXPECT_EQ(read("{}", 2).classification, ScoreFunction::softmax);
  EXPECT_EQ(read("{}", 1).classification, ScoreFunction::sigmoid);
  EXPECT_EQ(read(R"({"problem_type": "regression"})", 1).classification, ScoreFunction::identity);
  EXPECT_EQ(read(R"({"problem_type": "multi_label_classification"})", 3).classification,
            ScoreFunction::sigmoid);
  EXPECT_EQ(read("{}", 1).similarity, ScoreFunction::sigmoid);
  constexpr const char* kIdentity =
      R"({"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}})";
  EXPECT_EQ(read(kIdentity, 1).similarity, ScoreFunction::identity);
  directory.write("config_sentence_transformers.json",
                  R"({"activation_fn": "torch.nn.modules.linear.Identity"})");
  EXPECT_EQ(read("{}", 1).similarity, ScoreFunction::identity);
  EXPECT_HAS(message_of([&] { read(R"({"sbert_ce_default_activation_function": "my.Function"})", 1); }),
             "my.Function");
}

TEST(ClassScores, AreProbabilities) {
  std::vector<float> x = {0, std::log(3.0F)};
  score_logits(ScoreFunction::softmax, x);
  EXPECT_NEAR(x[0], 0.25, 1e-6);
  EXPECT_NEAR(x[1], 0.75, 1e-6);
  x = {0, std::log(3.0F)};
  score_logits(ScoreFunction::sigmoid, x);
  EXPECT_NEAR(x[0], 0.5, 1e-6);
  EXPECT_NEAR(x[1], 0.75, 1e-6);
}

TEST(Base64, IsWrittenAsItIsRead) {
  std::string bytes;
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes);
    bytes += static_cast<char>(i * 37);
  }
  EXPECT_EQ(encode_base64("a"), "YQ==");
}

}  // namespace
}  // namespace smelt

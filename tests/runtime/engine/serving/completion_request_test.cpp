#include "runtime/engine/serving/completion_request.h"

#include <gtest/gtest.h>

#include "runtime/engine/serving/api_error.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

CompletionRequest read(const char* body) { return read_completion_request(body, completion_defaults("")); }

/// "status param: message"
std::string fault(const char* body) {
  try {
    read(body);
  } catch (const ApiError& error) {
    return fmt::format("{} {}: {}", error.http_status(), error.param(), error.what());
  }
  return "no ApiError";
}

TEST(CompletionRequests, SayWhatOpenAIsClientsSay) {
  const CompletionRequest request = read(
      R"({"model": "m", "prompt": ["a", "b"], "max_tokens": 5, "temperature": 0.5, "top_p": 0.9, "n": 2,
          "stream": true, "stream_options": {"include_usage": true}, "logprobs": 3, "stop": ["x", "yz"],
          "stop_token_ids": [7], "seed": 9, "user": "u", "best_of": 2, "suffix": null,
          "presence_penalty": -0.5, "frequency_penalty": 2, "logit_bias": {"4": -100}, "top_k": 3, "repetition_penalty": 1.5,
          "keep_special_tokens": ["<call>"]})");
  EXPECT_EQ(*request.model, "m");
  ASSERT_EQ(request.prompts.size(), 2U);
  EXPECT_EQ(request.prompts[1].text, "b");
  EXPECT_EQ(request.options.max_new_tokens, 5);
  EXPECT_EQ(request.options.temperature, 0.5);
  EXPECT_EQ(request.options.top_k, 3);
  EXPECT_EQ(request.options.repetition_penalty, 1.5);
  EXPECT_EQ(request.options.presence_penalty, -0.5);
  EXPECT_EQ(request.options.frequency_penalty, 2);
  EXPECT_EQ(request.options.eos_token_id, std::vector<int32_t>{7});
  EXPECT_EQ(request.options.sequence_bias[0].bias, -100);
  EXPECT_EQ(request.stop, (std::vector<std::string>{"x", "yz"}));
  EXPECT_EQ(request.n, 2);
  EXPECT_EQ(request.kept_special_tokens, std::vector<std::string>{"<call>"});
  EXPECT_EQ(request.log_probabilities, 3);
  EXPECT_EQ(request.seed, 9U);
  EXPECT_TRUE(request.stream && request.include_usage && !request.echo);
}

TEST(CompletionRequests, SayWhatVllmsClientsSay) {
  GenerationOptions model = completion_defaults("");
  model.eos_token_id = {2, 3};
  const auto read_of_model = [&](const char* body) { return read_completion_request(body, model); };
  const CompletionRequest request = read_of_model(
      R"({"prompt": "a", "min_tokens": 4, "ignore_eos": true, "stop_token_ids": [7], "top_k": -1,
          "include_stop_str_in_output": true, "skip_special_tokens": false, "truncate_prompt_tokens": -1,
          "bad_words": ["x", " y"], "allowed_token_ids": [1, 7], "priority": -3})");
  EXPECT_EQ(request.options.min_new_tokens, 4);
  EXPECT_EQ(request.min_tokens, 4);
  EXPECT_EQ(request.options.eos_token_id, std::vector<int32_t>{7});
  EXPECT_EQ(request.options.top_k, 0);
  EXPECT_TRUE(request.includes_stop && !request.skips_special_tokens);
  EXPECT_EQ(request.truncated_tokens, -1);
  EXPECT_EQ(request.bad_words, (std::vector<std::string>{"x", " y"}));
  EXPECT_EQ(request.options.allowed_token_ids, (std::vector<int32_t>{1, 7}));
  EXPECT_EQ(request.priority, -3);
  const CompletionRequest none = read_of_model(R"({"prompt": "a", "ignore_eos": false, "min_tokens": 0})");
  EXPECT_EQ(none.options.eos_token_id, (std::vector<int32_t>{2, 3}));
  EXPECT_TRUE(none.skips_special_tokens && !none.includes_stop && !none.truncated_tokens);
}

TEST(CompletionRequests, SayLittle) {
  const CompletionRequest request = read(R"({"prompt": [1, 2, 3], "stop": "x", "temperature": null})");
  EXPECT_EQ(request.prompts[0].tokens, (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(request.options.max_new_tokens, 16);
  EXPECT_TRUE(request.options.do_sample);
  EXPECT_EQ(request.options.temperature, 1);
  EXPECT_EQ(request.options.top_k, 0);
  EXPECT_FALSE(request.seed || request.stream || request.log_probabilities || request.model);
  EXPECT_EQ(read(R"({"prompt": [[1], [2, 3]]})").prompts.size(), 2U);
}

TEST(CompletionRequests, ScorePromptsAndRankChoices) {
  const CompletionRequest echo = read(R"({"prompt": "a", "echo": true, "logprobs": 2, "max_tokens": 0})");
  EXPECT_EQ(echo.scored_prompt(), 2);
  EXPECT_EQ(echo.options.max_new_tokens, 0);
  EXPECT_FALSE(read(R"({"prompt": "a", "echo": true})").scored_prompt());
  EXPECT_FALSE(read(R"({"prompt": "a", "logprobs": 2})").scored_prompt());
  EXPECT_EQ(read(R"({"prompt": "a", "prompt_logprobs": 0, "logprobs": 2})").scored_prompt(), 0);
  const CompletionRequest best = read(R"({"prompt": ["a", "b"], "n": 2, "best_of": 64})");
  EXPECT_EQ(best.n, 2);
  EXPECT_EQ(best.best_of, 64);
  EXPECT_EQ(read(R"({"prompt": "a", "n": 3})").best_of, 3);
}

TEST(CompletionRequests, AskForBeamSearches) {
  const CompletionRequest plain = read(R"({"prompt": "a", "use_beam_search": false, "best_of": 3})");
  EXPECT_EQ(plain.requests_per_prompt(), 3);
  EXPECT_EQ(plain.options.num_beams, 1);
  const CompletionRequest beams = read(
      R"({"prompt": "a", "use_beam_search": true, "n": 2, "best_of": 5, "length_penalty": 2, "early_stopping": "never"})");
  EXPECT_EQ(beams.requests_per_prompt(), 1);
  EXPECT_EQ(beams.options.num_beams, 5);
  EXPECT_EQ(beams.options.num_return_sequences, 2);
  EXPECT_FALSE(beams.options.do_sample);
  EXPECT_EQ(beams.options.length_penalty, 2);
  EXPECT_EQ(beams.options.early_stopping, EarlyStopping::never);
  EXPECT_EQ(read(R"({"prompt": "a", "use_beam_search": true, "beam_width": 64})").beams, 64);
  EXPECT_EQ(read(R"({"prompt": "a", "use_beam_search": true, "n": 2})").beams, 2);
}

TEST(CompletionRequests, WhatIsNotHonouredIsNamed) {
  const std::pair<const char*, const char*> faults[] = {
      {R"({})", "400 prompt: there is no prompt"},
      {R"([])", "400 : the body: expected a JSON object"},
      {R"({"prompt": "a")", "400 : 'the body'"},
      {R"({"prompt": "a", "tools": []})", "400 tools: there is no option 'tools'"},
      {R"({"prompt": "a", "num_beams": 2})", "400 num_beams:"},
      {R"({"prompt": []})", "400 prompt:"},
      {R"({"prompt": [1, -2]})", "400 prompt:"},
      {R"({"prompt": "a", "max_tokens": -1})", "400 max_tokens:"},
      {R"({"prompt": "a", "max_tokens": 18446744073709551615})", "400 max_tokens:"},
      {R"({"prompt": "a", "temperature": 3})", "400 temperature:"},
      {R"({"prompt": "a", "top_p": 0})", "400 top_p:"},
      {R"({"prompt": "a", "top_k": -2})", "400 top_k:"},
      {R"({"prompt": "a", "min_tokens": 17})",
       "400 min_tokens: min_tokens = 17: expected at most max_tokens"},
      {R"({"prompt": "a", "min_tokens": 2, "min_new_tokens": 2})", "400 min_tokens:"},
      {R"({"prompt": "a", "ignore_eos": true, "eos_token_id": 3})", "400 ignore_eos:"},
      {R"({"prompt": "a", "ignore_eos": 1})", "400 ignore_eos:"},
      {R"({"prompt": "a", "include_stop_str_in_output": "x"})", "400 include_stop_str_in_output:"},
      {R"({"prompt": "a", "include_stop_str_in_output": true, "use_beam_search": true, "n": 2})",
       "400 include_stop_str_in_output:"},
      {R"({"prompt": "a", "skip_special_tokens": 0})", "400 skip_special_tokens:"},
      {R"({"prompt": "a", "truncate_prompt_tokens": 0})", "400 truncate_prompt_tokens:"},
      {R"({"prompt": "a", "truncate_prompt_tokens": -2})", "400 truncate_prompt_tokens:"},
      {R"({"prompt": "a", "bad_words": "x"})", "400 bad_words:"},
      {R"({"prompt": "a", "bad_words": ["x", "  "]})", "400 bad_words:"},
      {R"({"prompt": "a", "allowed_token_ids": []})", "400 allowed_token_ids:"},
      {R"({"prompt": "a", "allowed_token_ids": [[1]]})", "400 allowed_token_ids:"},
      {R"({"prompt": "a", "priority": 2147483648})", "400 priority:"},
      {R"({"prompt": "a", "priority": "high"})", "400 priority:"},
      {R"({"prompt": "a", "n": 0})", "400 n:"},
      {R"({"prompt": "a", "n": 2, "best_of": 1})", "400 best_of:"},
      {R"({"prompt": "a", "best_of": 3, "stream": true})", "400 best_of:"},
      {R"({"prompt": ["a", "b"], "best_of": 65})", "400 best_of:"},
      {R"({"prompt": "a", "stop": [""]})", "400 stop:"},
      {R"({"prompt": "a", "keep_special_tokens": "<call>"})", "400 keep_special_tokens:"},
      {R"({"prompt": "a", "keep_special_tokens": [3]})", "400 keep_special_tokens:"},
      {R"({"prompt": "a", "stream_options": {}})", "400 stream_options:"},
      {R"({"prompt": "a", "presence_penalty": 2.5})", "400 presence_penalty:"},
      {R"({"prompt": "a", "frequency_penalty": "1"})", "400 frequency_penalty:"},
      {R"({"prompt": "a", "suffix": "b"})", "400 suffix:"},
      {R"({"prompt": "a", "logit_bias": {"x": 1}})", "400 logit_bias:"},
      {R"({"prompt": "a", "prompt_logprobs": 21})", "400 prompt_logprobs:"},
      {R"({"prompt": "a", "prompt_logprobs": 1, "stream": true})", "400 prompt_logprobs:"},
      {R"({"prompt": "a", "prompt_logprobs": 1, "logprobs": 2, "echo": true})", "400 prompt_logprobs:"},
      {R"({"prompt": "a", "bad_words_ids": [1]})", "400 bad_words_ids:"}};
  for (const auto& [body, part] : faults) EXPECT_HAS(fault(body), part);
}

std::string repeated(const std::string& text, size_t count) {
  std::string result = text;
  for (size_t i = 1; i < count; ++i) result += "," + text;
  return result;
}

TEST(CompletionRequests, ListsAreBounded) {
  const auto fault_of = [](const std::string& fields) {
    return fault((R"({"prompt": "a", )" + fields + "}").c_str());
  };
  EXPECT_EQ(fault_of(R"("bad_words_ids": [)" + repeated("[1]", 1024) + "]"), "no ApiError");
  EXPECT_HAS(fault_of(R"("bad_words_ids": [)" + repeated("[1]", 1025) + "]"),
             "400 bad_words_ids: bad_words_ids: 1025 entries");
  EXPECT_HAS(fault_of(R"("sequence_bias": [)" + repeated("[[1], 2]", 1025) + "]"), "400 sequence_bias:");
  EXPECT_HAS(fault_of(R"("bad_words_ids": [)" + repeated("[1,2,3,4,5]", 1000) + "]"),
             "400 bad_words_ids: bad_words_ids: more than 4096");
  EXPECT_EQ(fault_of(R"("suppress_tokens": [)" + repeated("1", 4096) + "]"), "no ApiError");
  EXPECT_HAS(fault_of(R"("suppress_tokens": [)" + repeated("1", 4096) + R"(], "eos_token_id": 1)"),
             "400 eos_token_id:");
  EXPECT_EQ(fault_of(R"("stop": ")" + std::string(256, 'x') + '"'), "no ApiError");
  EXPECT_HAS(fault_of(R"("stop": ["a", ")" + std::string(257, 'x') + R"("])"),
             "400 stop: stop: a text of 257 bytes");
}

TEST(ApiErrors, HaveOpenAIsShape) {
  EXPECT_EQ(error_body(ApiError(400, "a \"b\"", "stop", "invalid_value")),
            R"({"error":{"code":"invalid_value","message":"a \"b\"","param":"stop",)"
            R"("type":"invalid_request_error"}})");
  EXPECT_EQ(api_error(Error("full", Status::unavailable)).http_status(), 503);
  EXPECT_EQ(api_error(Error("numbers", Status::numeric)).http_status(), 500);
  EXPECT_EQ(api_error(Error("length")).http_status(), 400);
}

}  // namespace
}  // namespace smelt

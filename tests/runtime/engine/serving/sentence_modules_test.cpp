// Pooling, and the files of sentence-transformers.
#include "runtime/engine/serving/sentence_modules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "runtime/engine/weights/safetensors.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;
using Floats = std::vector<float>;

const Floats kStates = {1, 8, 3, -2, 5, 6};  // three tokens of two numbers

Floats pooled(Pooling pooling, size_t unpooled = 0) {
  Floats result(2);
  pool(pooling, kStates, unpooled, result);
  return result;
}

TEST(PoolingOfStates, IsThatOfSentenceTransformers) {
  EXPECT_EQ(pooled(Pooling::cls), (Floats{1, 8}));
  EXPECT_EQ(pooled(Pooling::lasttoken), (Floats{5, 6}));
  EXPECT_EQ(pooled(Pooling::max), (Floats{5, 8}));
  EXPECT_EQ(pooled(Pooling::mean), (Floats{3, 4}));
  EXPECT_NEAR(pooled(Pooling::mean_sqrt_len_tokens)[1], 12 / std::sqrt(3.0), 1e-6);
  EXPECT_EQ(pooled(Pooling::weightedmean), (Floats{22.0F / 6, 22.0F / 6}));
}

TEST(PoolingOfStates, LeavesAPromptOut) {
  EXPECT_EQ(pooled(Pooling::cls, 1), (Floats{3, -2}));
  EXPECT_EQ(pooled(Pooling::mean, 1), (Floats{4, 2}));
  EXPECT_EQ(pooled(Pooling::weightedmean, 1), (Floats{21.0F / 5, 14.0F / 5}));
  EXPECT_EQ(pooled(Pooling::max, 9), (Floats{5, 6}));
}

TEST(PoolingOfStates, KindsHaveNames) {
  EXPECT_EQ(find_pooling("weightedmean"), Pooling::weightedmean);
  EXPECT_FALSE(find_pooling("Mean"));
}

TEST(PoolingOfStates, VectorsOfZerosStayZeros) {
  Floats x = {0, 0}, y = {3, 4};
  normalize(x), normalize(y);
  EXPECT_EQ(x, (Floats{0, 0}));
  EXPECT_EQ(y, (Floats{0.6F, 0.8F}));
}

/// A directory with modules.json and the files of its modules.
class SentenceFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"1_Pooling", "2_Dense", "3_Normalize"}) fs::create_directory(directory_ / name);
    write("modules.json", R"([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"},
        {"idx": 3, "name": "3", "path": "3_Normalize", "type": "sentence_transformers.models.Normalize"}])");
    write("1_Pooling/config.json", R"({"word_embedding_dimension": 2, "pooling_mode_cls_token": false,
        "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true})");
    write("2_Dense/config.json", R"({"in_features": 4, "out_features": 3, "bias": true,
        "activation_function": "torch.nn.modules.activation.Tanh"})");
    const Floats weight = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0.5}, bias = {0, 0, -1};
    const auto bytes = [](const Floats& x) { return std::as_bytes(std::span(x)); };
    const TensorView tensors[] = {{"linear.weight", DType::f32, {3, 4}, bytes(weight)},
                                  {"linear.bias", DType::f32, {3}, bytes(bias)}};
    write_safetensors(directory_ / "2_Dense/model.safetensors", tensors);
  }
  void write(const char* name, const char* text) const { directory_.write(name, text); }
  SentenceModules read(bool pools = true) const { return read_sentence_modules(directory_.path(), pools); }
  std::string read_text(const char* name) const {
    std::ifstream file(directory_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string fault(bool pools = true) const {
    return message_of([&] { read(pools); });
  }

  TemporaryDirectory directory_;
};

TEST_F(SentenceFiles, GiveTheModules) {
  const SentenceModules modules = read();
  EXPECT_EQ(modules.pooling, (std::vector<Pooling>{Pooling::max, Pooling::mean}));
  EXPECT_TRUE(modules.normalizes);
  EXPECT_EQ(modules.width(2), 3U);
  const Floats vector = modules.vector_of(kStates, 2, 0);
  ASSERT_EQ(vector.size(), 3U);
  EXPECT_NEAR(vector[0], std::tanh(5.0F), 1e-6);
  EXPECT_NEAR(vector[1], std::tanh(8.0F), 1e-6);
  EXPECT_NEAR(vector[2], std::tanh(4 * 0.5F - 1), 1e-6);
  EXPECT_HAS(message_of([&] { static_cast<void>(modules.width(3)); }), "in_features 4");
}

TEST_F(SentenceFiles, GiveLimitsAndPrompts) {
  write("sentence_bert_config.json", R"({"max_seq_length": 128, "do_lower_case": true})");
  write("tokenizer_config.json", R"({"model_max_length": 64})");
  write("config_sentence_transformers.json", R"({"__version__": {}, "prompts": {"query": "q: "},
      "default_prompt_name": "query", "similarity_fn_name": "cosine", "truncate_dim": 2})");
  const SentenceModules modules = read();
  EXPECT_EQ(modules.most_tokens, 64U);
  EXPECT_TRUE(modules.lower_case);
  EXPECT_EQ(modules.prompts.at("query"), "q: ");
  EXPECT_EQ(modules.default_prompt, "query");
  EXPECT_EQ(modules.dimensions, 2U);
  write("tokenizer_config.json", R"({"model_max_length": 1000000000000000019884624838656})");
  EXPECT_EQ(read().most_tokens, 128U);
}

TEST_F(SentenceFiles, OfNewVersionsAreRead) {
  write("1_Pooling/config.json",
        R"({"embedding_dimension": 2, "pooling_mode": "lasttoken", "include_prompt": false})");
  write("sentence_bert_config.json", R"({"transformer_task": "feature-extraction", "unpad_inputs": null,
      "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
      "module_output_name": "token_embeddings", "processing_kwargs": {}})");
  EXPECT_EQ(read().pooling, std::vector<Pooling>{Pooling::lasttoken});
  EXPECT_FALSE(read().pools_prompt);
}

TEST_F(SentenceFiles, ThatAreMissingGiveTheMean) {
  fs::remove(directory_ / "modules.json");
  EXPECT_EQ(read().pooling, std::vector<Pooling>{Pooling::mean});
  EXPECT_FALSE(read().normalizes);
}

TEST_F(SentenceFiles, AreRefusedByName) {
  EXPECT_HAS(fault(false), "the module Pooling is not supported there");
  const std::pair<const char*, const char*> faults[] = {
      {"1_Pooling/config.json", R"({"pooling_mode": "first"})"},
      {"1_Pooling/config.json", R"({"pooling_mode_cls_token": 1})"},
      {"1_Pooling/config.json", R"({"weights": []})"},
      {"2_Dense/config.json",
       R"({"in_features": 4, "out_features": 3, "activation_function": "my.Function"})"},
      {"2_Dense/config.json", R"({"in_features": 5, "out_features": 3})"},
      {"2_Dense/config.json", R"({"in_features": 4, "out_features": 3, "use_residual": true})"},
      {"3_Normalize/config.json", R"({"module_input_name": "token_embeddings"})"},
      {"sentence_bert_config.json", R"({"max_seq_length": "long"})"},
      {"sentence_bert_config.json", R"({"query_length": 32})"},
      {"config_sentence_transformers.json", R"({"default_prompt_name": "query"})"},
      {"config_sentence_transformers.json", R"({"model_type": "SparseEncoder"})"},
      {"modules.json", "{}"},
      {"modules.json", R"([{"type": "my.Transformer", "path": ""}])"},
      {"modules.json", R"([{"type": "sentence_transformers.models.Transformer", "path": "0_Transformer"}])"},
      {"modules.json", R"([{"type": "sentence_transformers.models.Transformer", "path": ""}])"},
      {"modules.json", R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
                           {"type": "sentence_transformers.models.WordWeights", "path": "1_Weights"}])"},
      {"modules.json", R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
                           {"type": "sentence_transformers.models.Pooling", "path": "../1_Pooling"}])"}};
  for (const auto& [name, text] : faults) {
    SCOPED_TRACE(text);
    const bool existed = fs::exists(directory_ / name);
    std::string before;
    if (existed) before = read_text(name);
    write(name, text);
    EXPECT_HAS(fault(), std::string(name).substr(0, std::string(name).find('/')));
    existed ? write(name, before.c_str()) : static_cast<void>(fs::remove(directory_ / name));
  }
  fs::remove(directory_ / "2_Dense/model.safetensors");
  EXPECT_HAS(fault(), "save_pretrained");
}

}  // namespace
}  // namespace smelt

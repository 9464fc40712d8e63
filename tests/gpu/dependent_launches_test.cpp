// Decoding with launches that begin early gives the bits of launches that begin late, as single launches and
// as a graph.
#include <cstdlib>
#include <cstring>

#include "frontend/description.h"
#include "tests/gpu/small_model.h"

namespace smelt {
namespace {

class GpuDependentLaunches : public GpuTest, public ::testing::WithParamInterface<const char*> {};

std::shared_ptr<const Plan> plan_of(const char* model) {
  CompileOptions options;
  options.target = "sm_" + std::to_string(this_gpu());
  options.mode = Mode::infer;
  options.entries = {"decode"};
  options.build.caches = true;
  options.build.cache_type = DType::bf16;
  options.storage = DType::bf16;
  options.build.bounds = {{{"B"}, 8}, {{"T"}, 64}};
  const auto directory = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens" / model;
  return std::make_shared<const Plan>(compile(read_description(directory), options).plan);
}

/// Logits of one token after the other, `rows` rows at a time.
std::vector<float> decoded(const std::shared_ptr<const Plan>& plan, bool early, int32_t rows) {
  ::setenv("SMELT_DEPENDENT_LAUNCHES", early ? "1" : "0", 1);
  Session session(plan);
  ::unsetenv("SMELT_DEPENDENT_LAUNCHES");
  session.initialize(5);
  std::vector<float> all;
  for (int32_t step = 0; step < 40; ++step) {
    std::vector<int32_t> ids, past(static_cast<size_t>(rows), step);
    for (int32_t row = 0; row < rows; ++row) ids.push_back((7 * step + 11 * row) % 37 + 3);
    const InputTensor inputs[] = {{"input_ids", DType::i32, {rows, 1}, ids.data()},
                                  {"past_length", DType::i32, {rows}, past.data()}};
    const auto outputs = session.run("decode", inputs);
    const auto logits = outputs[0].as<float>();
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

TEST_P(GpuDependentLaunches, GiveTheSameBits) {
  const auto plan = plan_of(GetParam());
  for (const int32_t rows : {1, 5, 8}) {
    const std::vector<float> late = decoded(plan, false, rows), early = decoded(plan, true, rows);
    ASSERT_EQ(late.size(), early.size());
    EXPECT_EQ(std::memcmp(late.data(), early.data(), late.size() * sizeof(float)), 0) << rows << " rows";
    for (const float logit : late) ASSERT_TRUE(std::isfinite(logit));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GpuDependentLaunches, ::testing::Values("gpt2", "llama-llama3"));

}  // namespace
}  // namespace smelt

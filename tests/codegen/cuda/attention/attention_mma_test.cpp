// The kernels of attention on the tensor cores compile to code that needs registers alone.
#include "codegen/cuda/attention/attention_mma.h"

#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/codegen/cuda/attention/attention_bodies.h"

namespace smelt::test {
namespace {

constexpr AttentionPart kParts[] = {AttentionPart::forward, AttentionPart::key_gradients,
                                    AttentionPart::query_gradients};

struct WithBody {
  MmaAttention attention;
  const BodyText* body;

  WithBody(const std::string& name, const MmaAttention& with) : attention(with), body(&body_named(name)) {
    attention.hooks = hooks_of(*body);
  }
};

/// Of each, some of its tiles must have code without a stack: round by round, those that are left.
void expect_lean(std::vector<WithBody> attentions, int compute_capability) {
  for (size_t round = 0; !attentions.empty(); ++round) {
    std::vector<CudaSource> sources;
    for (auto& [attention, body] : attentions) {
      const std::vector<AttentionTiles> tiles =
          mma_tiles(attention.part, attention.head_size, compute_capability, 1 << 20);
      ASSERT_LT(round, tiles.size()) << "part " << static_cast<int>(attention.part) << ", heads of "
                                     << attention.head_size << ", sm_" << compute_capability << ":\n"
                                     << body->name;
      attention.tiles = tiles[round];
      sources.push_back({kernel_text(attention, *body, "kernel"), "kernel"});
    }
    const std::vector<Cubin> code = compile_cuda(sources, compute_capability);
    std::vector<WithBody> left;
    for (size_t i = 0; i < code.size(); ++i)
      if (!is_lean(code[i].resources)) left.push_back(attentions[i]);
    attentions = std::move(left);
  }
}

class AttentionMma : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  }
};

TEST_F(AttentionMma, EveryHeadSizeIsLean) {
  DType dtype = DType::bf16;
  for (const int compute_capability : {80, 90}) {
    const std::string body = compute_capability == 80 ? "bias_dropout" : "causal_dropout";
    std::vector<WithBody> attentions;
    for (const int64_t head_size : {32, 40, 64, 80, 96, 128, 256})
      for (const AttentionPart part : kParts) {
        if (compute_capability == 80 && head_size % 64 != 0 && head_size != 40)
          continue;  // it takes its time
        dtype = dtype == DType::bf16 ? DType::f16 : DType::bf16;
        attentions.push_back(
            {body, {.part = part, .dtype = dtype, .head_size = head_size, .has_rest = true}});
      }
    expect_lean(attentions, compute_capability);
  }
}

TEST_F(AttentionMma, EveryBodyIsLean) {
  std::vector<WithBody> attentions;
  for (const BodyText& body : attention_bodies()) {
    if (body.plain && !body.name.starts_with("window") && !body.name.starts_with("seg"))
      continue;  // less than others
    for (const AttentionPart part : kParts) attentions.push_back({body.name, {.part = part}});
    for (const int64_t head_size : {64, 256})
      if (body.element > 0)
        attentions.push_back({body.name, {.part = AttentionPart::element_gradient, .head_size = head_size}});
  }
  expect_lean(attentions, 90);
}

TEST_F(AttentionMma, EveryAlignmentIsLean) {
  std::vector<WithBody> attentions;
  for (const int vector : {1, 2, 4})
    for (const AttentionPart part : kParts)
      attentions.push_back(
          {"causal", {.part = part, .head_size = 4 * vector + 60, .vector = vector, .has_rest = true}});
  expect_lean(attentions, 90);
}

/// All tiles for parts of keys, because they differ in their number of rows.
TEST_F(AttentionMma, PartsOfKeysAreLean) {
  for (const int64_t head_size : {64, 128, 256})
    for (const AttentionTiles& tiles : mma_tiles(AttentionPart::forward, head_size, 90, 1 << 20, kPartKeys)) {
      WithBody one("causal_dropout",
                   {.head_size = head_size, .tiles = tiles, .has_rest = true, .part_keys = kPartKeys});
      const Cubin code = compile_cuda({kernel_text(one.attention, *one.body, "kernel"), "kernel"}, 90);
      EXPECT_TRUE(is_lean(code.resources)) << head_size << ", " << tiles.rows() << " rows";
    }
}

TEST_F(AttentionMma, SoAreLargeHeadsWithLittleSharedMemory) {
  std::vector<WithBody> attentions;
  for (const AttentionPart part : kParts)
    attentions.push_back({"causal_dropout", {.part = part, .head_size = 256}});
  expect_lean(attentions, 89);
}

TEST(AttentionMmaTiles, LeaveOutWhatDoesNotFit) {
  MmaAttention attention{.head_size = 64};
  for (const AttentionTiles& tiles : mma_tiles(attention.part, attention.head_size, 90, 64))
    EXPECT_EQ(tiles.rows(), 64);
  attention.part = AttentionPart::query_gradients;
  EXPECT_EQ(mma_tiles(attention.part, attention.head_size, 90, 128).front().rows(), 128);
  EXPECT_EQ(mma_tiles(attention.part, attention.head_size, 90, 127).front().rows(), 64);
  for (const AttentionPart part : {AttentionPart::forward, AttentionPart::key_gradients,
                                   AttentionPart::query_gradients, AttentionPart::element_gradient}) {
    attention = {.part = part, .head_size = 256};
    const std::vector<AttentionTiles> small = mma_tiles(attention.part, attention.head_size, 86, 4096);
    ASSERT_FALSE(small.empty());
    for (const AttentionTiles& tiles : small) {
      attention.tiles = tiles;
      EXPECT_LE(attention_mma_shared_bytes(attention.part, attention.head_size, attention.tiles), 99 << 10);
    }
  }
  attention.head_size = 257;
  EXPECT_THROW(mma_tiles(attention.part, attention.head_size, 90, 64), Error);
}

}  // namespace
}  // namespace smelt::test

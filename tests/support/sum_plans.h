// Test plans with small all_reduce collectives in sequence, and their expected results.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/base/half.h"
#include "runtime/plan/plan.h"
#include "runtime/session/session.h"
#include "tests/runtime/example_plan.h"

namespace smelt::test {

/// An all_reduce of `elements` elements.
struct Summing {
  DType dtype = DType::f32;
  int64_t elements = 1;
  CollectiveSum sum = CollectiveSum::add;
};

/// Returns a plan with the entry "sums": output y<i> is the sum (or maximum) of the inputs x<i> of all ranks.
inline Plan sum_plan(const std::string& target, int64_t ranks, const std::vector<Summing>& all) {
  Plan plan;
  plan.target = target, plan.mesh = parse_mesh("data=" + std::to_string(ranks));
  PlanEntry entry{.name = "sums"};
  const auto port = [&](std::vector<Port>& ports, const std::string& name, Role role, const Summing& one) {
    const auto made = static_cast<int>(plan.buffers.size());
    plan.buffers.push_back(example::buffer(name, role, one.dtype, one.elements, one.elements));
    ports.push_back({name, one.dtype, {Dim(one.elements)}, made});
    return made;
  };
  for (size_t i = 0; i < all.size(); ++i) {
    const int x = port(entry.inputs, "x" + std::to_string(i), Role::input, all[i]);
    const int y = port(entry.outputs, "y" + std::to_string(i), Role::output, all[i]);
    const CollectiveStep step{
        CollectiveKind::all_reduce, "data", {x, 0}, {y, 0}, all[i].elements, ranks, all[i].dtype, all[i].sum};
    entry.steps.push_back(example::step(step, {x}, {y}, "summed"));
  }
  plan.entries = {entry};
  return plan;
}

inline float widened(DType type, const std::byte* element) {
  uint16_t narrow = 0;
  float wide = 0;
  if (type == DType::f32) return std::memcpy(&wide, element, sizeof wide), wide;
  std::memcpy(&narrow, element, sizeof narrow);
  return type == DType::bf16 ? from_bf16(narrow) : from_f16(narrow);
}

inline void put_narrowed(DType type, float value, std::byte* element) {
  const uint16_t narrow = type == DType::bf16 ? to_bf16(value) : to_f16(value);
  type == DType::f32 ? std::memcpy(element, &value, sizeof value)
                     : std::memcpy(element, &narrow, sizeof narrow);
}

/// Returns input `number` of a rank in a run: pseudo-random numbers in about [-8, 9).
inline std::vector<std::byte> summed_input(const Summing& one, int64_t rank, int64_t run, size_t number) {
  const auto size = static_cast<size_t>(size_of(one.dtype));
  std::vector<std::byte> bytes(static_cast<size_t>(one.elements) * size);
  uint64_t state = static_cast<uint64_t>(rank * 1000003 + run * 7919) + number * 104729 + 1;
  for (size_t at = 0; at < bytes.size(); at += size) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    put_narrowed(one.dtype, static_cast<float>(static_cast<int64_t>(state >> 40)) / 1e6F - 8,
                 bytes.data() + at);
  }
  return bytes;
}

/// Returns the expected output: the sum in f32 in the order of the ranks, rounded once to the dtype.
inline std::vector<std::byte> expected_sum(const Summing& one, int64_t ranks, int64_t run, size_t number) {
  std::vector<std::vector<std::byte>> given;
  for (int64_t rank = 0; rank < ranks; ++rank) given.push_back(summed_input(one, rank, run, number));
  std::vector<std::byte> sum = given[0];
  const auto size = static_cast<size_t>(size_of(one.dtype));
  for (size_t at = 0; at < sum.size(); at += size) {
    float total = widened(one.dtype, given[0].data() + at);
    for (size_t rank = 1; rank < given.size(); ++rank) {
      const float term = widened(one.dtype, given[rank].data() + at);
      total = one.sum == CollectiveSum::add ? total + term : std::max(total, term);
    }
    put_narrowed(one.dtype, total, sum.data() + at);
  }
  return sum;
}

/// Runs the entry, and expects the outputs of expected_sum, bit by bit.
inline void expect_summed(Session& session, const std::vector<Summing>& all, int64_t ranks, int64_t rank,
                          int64_t run) {
  std::vector<std::vector<std::byte>> given;
  std::vector<InputTensor> inputs;
  for (size_t i = 0; i < all.size(); ++i) given.push_back(summed_input(all[i], rank, run, i));
  for (size_t i = 0; i < all.size(); ++i)
    inputs.push_back({"x" + std::to_string(i), all[i].dtype, {all[i].elements}, given[i].data()});
  const std::vector<HostTensor> made = session.run("sums", inputs);
  ASSERT_EQ(made.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_TRUE(made[i].bytes == expected_sum(all[i], ranks, run, i))
        << i << ", rank " << rank << ", run " << run;
}

}  // namespace smelt::test

// Test plans with all_gather and all_to_all collectives of various sizes, and their expected results.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/session/session.h"
#include "tests/runtime/example_plan.h"

namespace smelt::test {

/// A collective (all_gather or all_to_all) over `rows` rows. A row has one block of `elements` elements per
/// rank (in the input of an all_gather, only the block of the rank itself), and `gap` unused elements follow
/// each row.
struct Gathering {
  CollectiveKind kind = CollectiveKind::all_gather;
  DType dtype = DType::f32;
  int64_t elements = 1, rows = 1, gap = 0;

  bool exchanges() const { return kind == CollectiveKind::all_to_all; }
  int64_t from_stride(int64_t ranks) const { return elements * (exchanges() ? ranks : 1) + gap; }
  int64_t to_stride(int64_t ranks) const { return elements * ranks + gap; }
};

/// Plan with the entries "forward" and "backward". Each entry fills buffers with the number 2. Then all
/// collectives run concurrently and write to these buffers; in "backward" they are in reverse order. Then the
/// buffers are copied to the outputs.
class GatherPlan {
 public:
  GatherPlan(const std::string& target, int64_t ranks, const std::vector<Gathering>& all)
      : ranks_(ranks), all_(all) {
    plan_.target = target;
    plan_.mesh = parse_mesh("data=" + std::to_string(ranks));
    add("forward", false), add("backward", true);
  }
  Plan plan() const { return plan_; }

 private:
  void add(const std::string& name, bool backwards) {
    PlanEntry entry{.name = name};
    const auto count = static_cast<int>(all_.size());
    std::vector<int> made;
    int64_t offset = 0;
    for (int i = 0; i < count; ++i) made.push_back(fill(entry, i, offset));
    for (int i = 0; i < count; ++i) gather(entry, backwards ? count - 1 - i : i, made, 2 * count);
    for (int i = 0; i < count; ++i) copy_out(entry, i, made);
    entry.arena_bytes = offset;
    plan_.entries.push_back(entry);
  }

  const Gathering& at(int number) const { return all_[static_cast<size_t>(number)]; }

  int add_buffer(const Buffer& buffer) {
    plan_.buffers.push_back(buffer);
    return static_cast<int>(plan_.buffers.size()) - 1;
  }

  int port(std::vector<Port>& ports, const std::string& name, Role role, DType dtype, int64_t elements) {
    const int made = add_buffer(example::buffer(name, role, dtype, elements, elements));
    ports.push_back({name, dtype, {Dim(elements)}, made});
    return made;
  }

  int fill(PlanEntry& entry, int number, int64_t& offset) {
    const Gathering& one = at(number);
    const int64_t elements = one.rows * one.to_stride(ranks_);
    const auto count = static_cast<int>(all_.size());
    const int made = add_buffer(example::arena("t" + std::to_string(number), one.dtype, elements, elements,
                                               offset, number, 2 * count + number));
    offset += (elements * size_of(one.dtype) + 255) / 256 * 256;
    FillStep step;
    step.to.buffer = made, step.elements = elements, step.value = 2;
    entry.steps.push_back(example::step(step, {}, {made}, "filled"));
    return made;
  }

  void gather(PlanEntry& entry, int number, const std::vector<int>& made, int first_copy) {
    const Gathering& one = at(number);
    const std::string name = "x" + std::to_string(number);
    const int x = port(entry.inputs, name, Role::input, one.dtype, one.rows * one.from_stride(ranks_));
    const int to = made[static_cast<size_t>(number)];
    CollectiveStep step;
    step.kind = one.kind, step.axis = "data", step.from.buffer = x, step.to.buffer = to;
    step.elements = one.elements, step.ranks = ranks_, step.dtype = one.dtype, step.rows = one.rows;
    if (one.rows > 1) step.from_stride = one.from_stride(ranks_), step.to_stride = one.to_stride(ranks_);
    step.waited_at = first_copy + number;
    entry.steps.push_back(example::step(step, {x}, {to}, "gathered"));
  }

  void copy_out(PlanEntry& entry, int number, const std::vector<int>& made) {
    const Gathering& one = at(number);
    const int64_t elements = one.rows * one.to_stride(ranks_);
    const std::string name = "y" + std::to_string(number);
    const int y = port(entry.outputs, name, Role::output, one.dtype, elements);
    const int from = made[static_cast<size_t>(number)];
    const CopyStep step{{from, 0}, {y, 0}, {Dim(elements)}, {Dim(1)}, {Dim(1)}, one.dtype};
    entry.steps.push_back(example::step(step, {from}, {y}, "copied"));
  }

  int64_t ranks_;
  std::vector<Gathering> all_;
  Plan plan_;
};

/// Returns input `number` of a rank in a run: pseudo-random bytes that depend on number, rank and run.
inline std::vector<std::byte> given_by(const Gathering& one, int64_t ranks, int64_t rank, int64_t run,
                                       size_t number) {
  std::vector<std::byte> bytes(static_cast<size_t>(one.rows * one.from_stride(ranks) * size_of(one.dtype)));
  uint64_t state = static_cast<uint64_t>(rank * 1000003 + run * 7919) + number * 104729 + 1;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

/// Returns the expected output `number` of a rank in a run.
inline std::vector<std::byte> expected_at(const Gathering& one, int64_t ranks, int64_t rank, int64_t run,
                                          size_t number) {
  const auto size = static_cast<size_t>(size_of(one.dtype)), part = static_cast<size_t>(one.elements) * size;
  const auto from_row = static_cast<size_t>(one.from_stride(ranks)) * size,
             to_row = static_cast<size_t>(one.to_stride(ranks)) * size;
  std::vector<std::byte> bytes(static_cast<size_t>(one.rows) * to_row);
  const uint32_t two = one.dtype == DType::f32 ? 0x40000000 : 0x4000;  // f32, bf16 and f16
  for (size_t i = 0; i < bytes.size(); i += size) std::memcpy(bytes.data() + i, &two, size);
  for (int64_t other = 0; other < ranks; ++other) {
    const std::vector<std::byte> given = given_by(one, ranks, other, run, number);
    const size_t taken = one.exchanges() ? static_cast<size_t>(rank) * part : 0;
    for (size_t row = 0; row < static_cast<size_t>(one.rows); ++row)
      std::memcpy(bytes.data() + row * to_row + static_cast<size_t>(other) * part,
                  given.data() + row * from_row + taken, part);
  }
  return bytes;
}

/// The inputs of a rank in a run, with their memory.
class GatherInputs {
 public:
  GatherInputs(const std::vector<Gathering>& all, int64_t ranks, int64_t rank, int64_t run) {
    for (size_t i = 0; i < all.size(); ++i) bytes_.push_back(given_by(all[i], ranks, rank, run, i));
    for (size_t i = 0; i < all.size(); ++i)
      inputs_.push_back({"x" + std::to_string(i),
                         all[i].dtype,
                         {all[i].rows * all[i].from_stride(ranks)},
                         bytes_[i].data()});
  }
  std::span<const InputTensor> inputs() const { return inputs_; }

 private:
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<InputTensor> inputs_;
};

/// Runs one of the entries, depending on `run`, and expects the outputs of expected_at.
inline void expect_gathered(Session& session, const std::vector<Gathering>& all, int64_t ranks, int64_t rank,
                            int64_t run) {
  const std::string entry = run * 2654435761 % 7 < 4 ? "forward" : "backward";
  const GatherInputs inputs(all, ranks, rank, run);
  const std::vector<HostTensor> made = session.run(entry, inputs.inputs());
  ASSERT_EQ(made.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_TRUE(made[i].bytes == expected_at(all[i], ranks, rank, run, i))
        << entry << " " << i << ", rank " << rank << ", run " << run;
}

}  // namespace smelt::test

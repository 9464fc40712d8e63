// Test plans with matmuls between collectives: a matmul reads the result of an all_gather, and the result of
// another matmul is the source of an all_to_all.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/session/session.h"
#include "tests/runtime/example_plan.h"

namespace smelt::test {

inline constexpr int64_t kMostPartedRecords = 3;

/// Sizes. A record is an element of the dim B, and each rank has `positions` of its positions. `width` and
/// `inner` are the columns of the matrices.
struct PartedShape {
  int64_t positions = 2, width = 4, inner = 3;
  /// Returns the number of elements of a record that a rank has.
  int64_t part() const { return positions * width; }
};

/// Plan with the entry "g". Its input x [B,positions,width] has the positions of one rank.
///
///   g [B,ranks,positions,width] = all_gather of x
///   c [B,ranks,positions,inner] = g w, with the input w [width,inner]
///   y [B,ranks,positions,width] = c v, with the input v [inner,width]
///   r [B,ranks,positions,width] = all_to_all of y: the results of all ranks for this rank's positions
///
/// The outputs are c and r. To test the lifetimes of buffers, y has the memory of a copy of x, and r that of
/// g.
class PartedPlan {
 public:
  PartedPlan(const std::string& target, int64_t ranks, const PartedShape& shape)
      : ranks_(ranks), shape_(shape) {
    plan_.target = target;
    plan_.mesh = parse_mesh("data=" + std::to_string(ranks));
    plan_.symbols.bound({"B"}, kMostPartedRecords);
    PlanEntry entry{.name = "g"};
    const int x = port(entry.inputs, "x", Role::input, own()),
              w = weight(entry, "w", shape_.width, shape_.inner),
              v = weight(entry, "v", shape_.inner, shape_.width);
    const int from = arena(own() * ranks, 0, 2), g = arena(own() * ranks, 1, 2),
              c = arena(records() * shape_.inner, 2, 5), y = in_place_of(from, 3, 5),
              r = in_place_of(g, 3, 6);
    const int c_out = port(entry.outputs, "c", Role::output, records() * shape_.inner),
              r_out = port(entry.outputs, "r", Role::output, own() * ranks);
    entry.steps = {copied(x, from, own()),
                   exchanged(CollectiveKind::all_gather, from, g, shape_.part(), -1),
                   product(g, w, c, shape_.width, shape_.inner),
                   product(c, v, y, shape_.inner, shape_.width),
                   exchanged(CollectiveKind::all_to_all, y, r, shape_.part() * ranks, 6),
                   copied(c, c_out, records() * shape_.inner),
                   copied(r, r_out, own() * ranks)};
    entry.arena_bytes = offset_;
    plan_.entries.push_back(entry);
  }
  Plan plan() const { return plan_; }

 private:
  Dim own() const { return Dim::symbol("B") * shape_.part(); }
  Dim records() const { return Dim::symbol("B") * ranks_ * shape_.positions; }

  int add(const Buffer& buffer) {
    plan_.buffers.push_back(buffer);
    return static_cast<int>(plan_.buffers.size()) - 1;
  }
  int64_t most(const Dim& elements) const { return plan_.symbols.upper(elements); }
  int port(std::vector<Port>& ports, const std::string& name, Role role, const Dim& elements) {
    const int made = add(example::buffer(name, role, DType::f32, elements, most(elements)));
    ports.push_back({name, DType::f32, {elements}, made});
    return made;
  }
  int weight(PlanEntry& entry, const std::string& name, int64_t rows, int64_t columns) {
    return port(entry.inputs, name, Role::input, rows * columns);
  }
  int arena(const Dim& elements, int first, int last) {
    const int64_t at = offset_;
    offset_ += (most(elements) * 4 + 255) / 256 * 256;
    return add(
        example::arena("t" + std::to_string(at), DType::f32, elements, most(elements), at, first, last));
  }
  int in_place_of(int other, int first, int last) {
    Buffer made = plan_.buffers[static_cast<size_t>(other)];
    made.first_step = first, made.last_step = last;
    return add(made);
  }
  static Step copied(int from, int to, const Dim& elements) {
    return example::step(CopyStep{{from, 0}, {to, 0}, {elements}, {Dim(1)}, {Dim(1)}, DType::f32}, {from},
                         {to}, "copied");
  }
  Step exchanged(CollectiveKind kind, int from, int to, int64_t from_stride, int waited_at) const {
    CollectiveStep step{.kind = kind,
                        .axis = "data",
                        .from = {from, 0},
                        .to = {to, 0},
                        .elements = shape_.part(),
                        .ranks = ranks_};
    step.waited_at = waited_at, step.rows = Dim::symbol("B");
    step.from_stride = from_stride, step.to_stride = shape_.part() * ranks_;
    return example::step(step, {from}, {to}, "exchanged");
  }
  Step product(int a, int b, int c, int64_t k, int64_t n) const {
    const GemmStep step{{{a, 0}, k, 1}, {{b, 0}, n, 1}, {{c, 0}, n, 1}, records(), n, k};
    return example::step(step, {a, b}, {c}, "product");
  }

  int64_t ranks_, offset_ = 0;
  PartedShape shape_;
  Plan plan_;
};

inline std::vector<float> numbers_of_parts(int64_t count, int64_t seed) {
  std::vector<float> made;
  for (int64_t i = 0; i < count; ++i) made.push_back(static_cast<float>((7 * i + 5 * seed + i * i) % 9) - 4);
  return made;
}

/// The inputs of a rank in a run with `records` records.
struct PartedInputs {
  PartedInputs(const PartedShape& shape, int64_t rank, int64_t run, int64_t records)
      : x(numbers_of_parts(records * shape.part(), 3 * rank + run)),
        w(numbers_of_parts(shape.width * shape.inner, rank + 1)),
        v(numbers_of_parts(shape.inner * shape.width, rank + 5)) {}
  std::vector<InputTensor> tensors() const {
    const auto tensor = [](const char* name, const std::vector<float>& of) {
      return InputTensor{name, DType::f32, {static_cast<int64_t>(of.size())}, of.data()};
    };
    return {tensor("x", x), tensor("w", w), tensor("v", v)};
  }
  std::vector<float> x, w, v;
};

inline std::vector<float> multiplied_by_hand(const std::vector<float>& a, const std::vector<float>& b,
                                             int64_t k) {
  const auto inner = static_cast<size_t>(k), rows = a.size() / inner, columns = b.size() / inner;
  std::vector<float> c(rows * columns);
  for (size_t i = 0; i < rows; ++i)
    for (size_t l = 0; l < inner; ++l)
      for (size_t j = 0; j < columns; ++j) c[i * columns + j] += a[i * inner + l] * b[l * columns + j];
  return c;
}

/// Returns the inputs x of all ranks, gathered per record.
inline std::vector<float> gathered_by_hand(const PartedShape& shape, int64_t ranks, int64_t run,
                                           int64_t records) {
  const int64_t part = shape.part();
  std::vector<float> all;
  for (int64_t record = 0; record < records; ++record)
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const std::vector<float> x = PartedInputs(shape, rank, run, records).x;
      all.insert(all.end(), x.begin() + record * part, x.begin() + (record + 1) * part);
    }
  return all;
}

/// Runs the entry, and expects the outputs that are computed in plain loops.
inline void expect_parted(Session& session, const PartedShape& shape, int64_t ranks, int64_t rank,
                          int64_t run, int64_t records) {
  const PartedInputs own(shape, rank, run, records);
  const std::vector<HostTensor> made = session.run("g", own.tensors());
  const std::vector<float> g = gathered_by_hand(shape, ranks, run, records);
  std::vector<float> r;
  const int64_t part = shape.part();
  for (int64_t record = 0; record < records; ++record)
    for (int64_t other = 0; other < ranks; ++other) {
      const PartedInputs of(shape, other, run, records);
      const std::vector<float> y =
          multiplied_by_hand(multiplied_by_hand(g, of.w, shape.width), of.v, shape.inner);
      const auto at = y.begin() + (record * ranks + rank) * part;
      r.insert(r.end(), at, at + part);
    }
  const auto c_made = made[0].as<float>(), r_made = made[1].as<float>();
  EXPECT_EQ(std::vector<float>(c_made.begin(), c_made.end()), multiplied_by_hand(g, own.w, shape.width))
      << rank;
  EXPECT_EQ(std::vector<float>(r_made.begin(), r_made.end()), r) << rank;
}

}  // namespace smelt::test

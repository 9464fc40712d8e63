// Test plans with a collective over several rows, as one step for all rows or as one step per row. The two
// plans compute the same.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"
#include "tests/runtime/example_plan.h"

namespace smelt::test {

/// Elements of a row that belong to one rank, and the largest number of rows.
inline constexpr int64_t kRowPart = 2, kMostRowsOfPlan = 4;
inline constexpr float kBetweenRows = 7;  // initial value of y; elements between rows must keep it

/// A collective along the mesh axis "data" from rows of x to rows of y. `gap` unused elements follow each
/// row.
struct RowPlan {
  CollectiveKind kind = CollectiveKind::all_gather;
  int64_t ranks = 2;
  bool as_one = true;  // true: one step for B rows; false: kMostRowsOfPlan steps for one row each
  int64_t gap = 1;

  CollectiveStep step() const {
    CollectiveStep made{
        .kind = kind, .axis = "data", .from = {0, 0}, .to = {1, 0}, .elements = kRowPart, .ranks = ranks};
    made.rows = Dim::symbol("B"), made.from_stride = from_stride(), made.to_stride = to_stride();
    return made;
  }
  int64_t from_stride() const { return row(&CollectiveStep::reads_parts); }
  int64_t to_stride() const { return row(&CollectiveStep::writes_parts); }

  Plan plan(const std::string& target) const {
    Plan made;
    made.target = target;
    made.mesh = parse_mesh("data=" + std::to_string(ranks));
    if (as_one) made.symbols.bound({"B"}, kMostRowsOfPlan);
    PlanEntry entry{.name = "g"};
    const Dim rows = as_one ? Dim::symbol("B") : Dim(kMostRowsOfPlan);
    entry.inputs = {{"x", DType::f32, {rows, from_stride()}, 0}};
    entry.outputs = {{"y", DType::f32, {rows, to_stride()}, 1}};
    const auto buffer = [&](const char* name, Role role, int64_t stride) {
      made.buffers.push_back(
          example::buffer(name, role, DType::f32, rows * stride, kMostRowsOfPlan * stride));
    };
    buffer("x", Role::input, from_stride()), buffer("y", Role::output, to_stride());
    FillStep fill;
    fill.to.buffer = 1, fill.elements = rows * to_stride(), fill.value = kBetweenRows;
    entry.steps.push_back(example::step(fill, {}, {1}, "filled"));
    for (const CollectiveStep& what : steps()) entry.steps.push_back(example::step(what, {0}, {1}, "rows"));
    made.entries = {entry};
    return made;
  }

 private:
  int64_t row(bool (CollectiveStep::*has_parts)() const) const {
    CollectiveStep of;
    of.kind = kind;
    return kRowPart * ((of.*has_parts)() ? ranks : 1) + gap;
  }

  std::vector<CollectiveStep> steps() const {
    if (as_one) return {step()};
    std::vector<CollectiveStep> each(kMostRowsOfPlan, step());
    for (int64_t i = 0; i < kMostRowsOfPlan; ++i) {
      CollectiveStep& one = each[static_cast<size_t>(i)];
      one.from.offset = i * from_stride(), one.to.offset = i * to_stride();
      one.rows = 1, one.from_stride = 0, one.to_stride = 0;
    }
    return each;
  }
};

inline constexpr CollectiveKind kKindsOfRows[] = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                                  CollectiveKind::all_gather, CollectiveKind::all_to_all};

/// Returns the input of a rank.
inline std::vector<float> numbers_of_rows(int64_t rank, int64_t elements) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < elements; ++i) numbers.push_back(static_cast<float>((11 * rank + 5 * i) % 17) - 6);
  return numbers;
}

}  // namespace smelt::test

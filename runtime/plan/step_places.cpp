#include "runtime/plan/step_places.h"

#include <algorithm>

#include "runtime/plan/plan_fields.h"

namespace smelt {
namespace {

const Dim kOne = 1, kTwo = 2, kThree = 3, kFour = 4;

std::vector<StepPlace> places_of(const KernelStep& step) {
  std::vector<StepPlace> places;
  for (const BufferRef& argument : step.arguments)
    places.push_back({"argument", &argument, PlaceUse::either});
  return places;
}

std::vector<StepPlace> places_of(const GemmStep& step) {
  const auto matrix = [&](std::string_view name, const GemmStep::Matrix& m, const Dim& rows,
                          const Dim& columns, Dim GemmStep::Batch::* stride, PlaceUse access) {
    StepPlace place{name, &m.base, access, {{&rows, &m.row_stride}, {&columns, &m.column_stride}}};
    const bool result = stride == &GemmStep::Batch::c_stride;  // written also where it is a sum over nothing
    for (const GemmStep::Batch& batch : step.batch)
      if (!result || !batch.reduced) place.walks.push_back({&batch.extent, &(batch.*stride)});
    return place;
  };
  std::vector<StepPlace> places = {
      matrix("a", step.a, step.m, step.k, &GemmStep::Batch::a_stride, PlaceUse::read),
      matrix("b", step.b, step.k, step.n, &GemmStep::Batch::b_stride, PlaceUse::read)};
  if (step.bias) places.push_back({"bias", &*step.bias, PlaceUse::read, {{&step.n, &kOne}}});
  places.push_back(matrix("c", step.c, step.m, step.n, &GemmStep::Batch::c_stride,
                          step.beta != 0 ? PlaceUse::read_write : PlaceUse::write));
  return places;
}

std::vector<StepPlace> places_of(const SortIndexStep& step) {
  std::vector<StepPlace> places = {
      {"indices", &step.indices, PlaceUse::read, {{&step.count, &kOne}}},
      {"permutation", &step.permutation, PlaceUse::write, {{&step.count, &kOne}}},
      {"begins", &step.begins, PlaceUse::write, {{&step.rows, &kOne}, {&kTwo, &kOne}}}};
  if (const auto& workspace = step.workspace)
    places.push_back({"workspace", &workspace->base, PlaceUse::scratch, {{&workspace->elements, &kOne}}});
  return places;
}

std::vector<StepPlace> places_of(const ScanStep& step) {
  const auto place = [&](std::string_view name, const BufferRef& ref, PlaceUse use, const Dim& outer_stride,
                         const Dim& stride) {
    return StepPlace{
        name, &ref, use, {{&step.outer, &outer_stride}, {&step.count, &stride}, {&step.inner, &kOne}}};
  };
  return {place("x", step.x, PlaceUse::read, step.x_outer_stride, step.x_stride),
          place("y", step.y, PlaceUse::write, step.y_outer_stride, step.y_stride)};
}

std::vector<StepPlace> places_of(const TopKStep& step) {
  const std::vector<Walk> found = {{&step.rows, &step.k}, {&step.k, &kOne}};
  return {{"x", &step.x, PlaceUse::read, {{&step.rows, &step.row_stride}, {&step.count, &kOne}}},
          {"values", &step.values, PlaceUse::write, found},
          {"indices", &step.indices, PlaceUse::write, found}};
}

std::vector<StepPlace> places_of(const SampleStep& step) {
  const std::vector<Walk> found = {{&step.rows, &kOne}};
  const auto rows = [&](const Dim& stride, const Dim& count) {
    return std::vector<Walk>{{&step.rows, &stride}, {&count, &kOne}};
  };
  return {{"scores", &step.scores, PlaceUse::read, rows(step.row_stride, step.count)},
          {"numbers", &step.numbers, PlaceUse::read, rows(step.numbers_stride, kThree)},
          {"integers", &step.integers, PlaceUse::read, rows(step.integers_stride, kFour)},
          {"tokens", &step.tokens, PlaceUse::write, found},
          {"log_probabilities", &step.log_probabilities, PlaceUse::write, found}};
}

std::vector<StepPlace> places_of(const CopyStep& step) {
  StepPlace from{"from", &step.from, PlaceUse::read}, to{"to", &step.to, PlaceUse::write};
  // A damaged plan may have fewer strides; validation says so.
  const size_t rank = std::min({step.extents.size(), step.from_strides.size(), step.to_strides.size()});
  for (size_t i = 0; i < rank; ++i) {
    from.walks.push_back({&step.extents[i], &step.from_strides[i]});
    to.walks.push_back({&step.extents[i], &step.to_strides[i]});
  }
  return {std::move(from), std::move(to)};
}

std::vector<StepPlace> places_of(const FillStep& step) {
  return {{"to", &step.to, PlaceUse::write, {{&step.elements, &kOne}}}};
}

std::vector<StepPlace> places_of(const CollectiveStep& step) {
  const auto place = [&](StepPlace made, const Dim& stride, bool all_parts) {
    if (!step.rows.is_one()) made.walks.push_back({&step.rows, &stride});
    if (all_parts) made.walks.push_back({&step.ranks, &step.elements});
    made.walks.push_back({&step.elements, &kOne});
    return made;
  };
  return {place({"from", &step.from, PlaceUse::read}, step.from_stride, step.reads_parts()),
          place({"to", &step.to, PlaceUse::write}, step.to_stride, step.writes_parts())};
}

}  // namespace

std::vector<StepPlace> places(const Step& step) {
  return std::visit([](const auto& kind) { return places_of(kind); }, step.what);
}

std::vector<BufferRef> references(const Step& step) {
  std::vector<BufferRef> all;
  for (const StepPlace& place : places(step)) all.push_back(*place.ref);
  return all;
}

}  // namespace smelt

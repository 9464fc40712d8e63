#include "passes/graph/axes/axis_classes.h"

#include "llvm/ADT/STLExtras.h"

namespace smelt {

using Axes = AxisClasses::Axes;

int AxisClasses::add(const Dim& extent) {
  classes_.push_back({.extent = extent});
  return static_cast<int>(classes_.size()) - 1;
}

void AxisClasses::pin(int axis) {
  for (int part : parts(axis)) classes_[part].is_pinned = true;
}

Axes AxisClasses::parts(llvm::ArrayRef<int> axes) const {
  Axes parts;
  for (int axis : axes) append_parts(axis, parts);
  return parts;
}

void AxisClasses::append_parts(int axis, Axes& parts) const {
  if (!classes_[axis].is_split) return parts.push_back(axis);
  for (int part : classes_[axis].parts) append_parts(part, parts);
}

bool AxisClasses::is_split(int axis) const { return parts(axis).size() != 1; }

Shape AxisClasses::shape(llvm::ArrayRef<int> axes) const {
  Shape shape;
  for (int part : parts(axes)) shape.push_back(extent(part));
  return shape;
}

bool AxisClasses::match(llvm::ArrayRef<int> left, llvm::ArrayRef<int> right) {
  const size_t before = changes_.size();
  if (align(parts(left), parts(right))) return true;
  undo(before);
  return false;
}

void AxisClasses::undo(size_t size) {
  for (; changes_.size() > size; changes_.pop_back())
    classes_[changes_.back().axis] = std::move(changes_.back().before);
}

void AxisClasses::unite(int from, int into) {
  if (from == into) return;
  if (classes_[from].is_pinned && !classes_[into].is_pinned) {
    changes_.push_back({into, classes_[into]});
    classes_[into].is_pinned = true;
  }
  changes_.push_back({from, classes_[from]});
  classes_[from].is_split = true, classes_[from].parts = {into};
}

bool AxisClasses::split(int axis, Axes parts) {
  if (classes_[axis].is_pinned) return false;
  changes_.push_back({axis, classes_[axis]});
  classes_[axis].is_split = true, classes_[axis].parts = std::move(parts);
  return true;
}

bool AxisClasses::split_by(int axis, const Dim& first) {
  const std::optional<Dim> rest = extent(axis).divide(first);
  return rest && split(axis, {add(first), add(*rest)});
}

/// Makes the first parts of the two lists more alike.
bool AxisClasses::split_first(const Axes& left, const Axes& right) {
  if (!left.empty() && extent(left[0]).is_one()) return split(left[0], {});
  if (!right.empty() && extent(right[0]).is_one()) return split(right[0], {});
  if (left.empty() || right.empty()) return false;
  const Dim a = extent(left[0]), b = extent(right[0]);
  if (a.is_zero() || b.is_zero()) return false;
  return split_by(left[0], b) || split_by(right[0], a);
}

bool AxisClasses::align(Axes left, Axes right) {
  while (!left.empty() || !right.empty()) {
    if (!left.empty() && !right.empty() && extent(left[0]) == extent(right[0])) {
      unite(right[0], left[0]);
      left.erase(left.begin()), right.erase(right.begin());
    } else if (!split_first(left, right)) {
      return false;
    }
    left = parts(left), right = parts(right);
  }
  return true;
}

}  // namespace smelt

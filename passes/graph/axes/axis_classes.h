// Classes of axes that are split alike. Each class has one extent. It may be split into a sequence of other
// classes, such as [12,64] for 768, or into none if its extent is one.
#pragma once

#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "runtime/base/dim.h"

namespace smelt {

class AxisClasses {
 public:
  using Axes = llvm::SmallVector<int, 4>;

  int add(const Dim& extent);
  /// Pins the axis: no match splits it.
  void pin(int axis);
  /// Returns the unsplit classes of which the axes consist, in order.
  Axes parts(llvm::ArrayRef<int> axes) const;
  bool is_split(int axis) const;
  const Dim& extent(int axis) const { return classes_[axis].extent; }
  /// Returns the extents of the axes' parts.
  Shape shape(llvm::ArrayRef<int> axes) const;

  /// Splits and unites classes until both lists have the same parts, as the two sides of a reshape do: [768]
  /// and [12,64] split 768 into two classes, of 12 and of 64. Returns false and changes nothing if that is
  /// impossible, because 12 and 8 have no common split or because an axis is pinned.
  bool match(llvm::ArrayRef<int> left, llvm::ArrayRef<int> right);

 private:
  struct Class {
    Dim extent;
    bool is_pinned = false, is_split = false;
    Axes parts = {};  // of a split class; a united class has one part, the class that replaces it
  };
  struct Change {
    int axis;
    Class before;
  };

  bool align(Axes left, Axes right);
  bool split_first(const Axes& left, const Axes& right);
  bool split_by(int axis, const Dim& first);
  bool split(int axis, Axes parts);
  void unite(int from, int into);
  void append_parts(int axis, Axes& parts) const;
  void undo(size_t size);

  std::vector<Class> classes_;
  std::vector<Change> changes_;
};

}  // namespace smelt

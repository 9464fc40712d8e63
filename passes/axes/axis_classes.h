// Axes that move together, and how they are split: each class of axes has one extent, and may stand for
// several classes side by side, [12,64] for 768, or for none where its extent is one.
#pragma once

#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "runtime/dim.h"

namespace smelt {

class AxisClasses {
 public:
  using Axes = llvm::SmallVector<int, 4>;

  int add(const Dim& extent);
  /// The axis stays whole: no match splits it.
  void pin(int axis);
  /// What the axes consist of, in their order: classes that are not split.
  Axes parts(llvm::ArrayRef<int> axes) const;
  bool is_split(int axis) const;
  const Dim& extent(int axis) const { return classes_[axis].extent; }
  /// The extents of the axes' parts.
  Shape shape(llvm::ArrayRef<int> axes) const;

  /// Splits and unites classes until both lists have the same parts, as the two sides of a reshape do: [768]
  /// and [12,64] make 768 two classes, of 12 and of 64. Where that is impossible, since 12 and 8 share no
  /// whole number of elements or an axis is pinned, nothing changes and the answer is false.
  bool match(llvm::ArrayRef<int> left, llvm::ArrayRef<int> right);

 private:
  struct Class {
    Dim extent;
    bool is_pinned = false, is_split = false;
    Axes parts = {};  // of a class that is split; the class that it belongs to now is the one part of another
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

// Classes of axes that must all be split into the same parts. The axes of a class have the same extent. A
// class may be split into a sequence of other classes, for example of extents [12,64] for 768, or into no
// classes if its extent is 1.
#pragma once

#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "runtime/base/dim.h"

namespace smelt {

/// Union-find structure of axes, whose classes can also be split. An axis is represented by the number that
/// add() returned for it.
class AxisClasses {
 public:
  using Axes = llvm::SmallVector<int, 4>;

  /// Adds an axis, in a new class, and returns its number.
  int add(const Dim& extent);
  /// Pins the axis, so that match() does not split it.
  void pin(int axis);
  /// Returns the unsplit classes into which the axes are split, in order.
  Axes parts(llvm::ArrayRef<int> axes) const;
  bool is_split(int axis) const;
  const Dim& extent(int axis) const { return classes_[axis].extent; }
  /// Returns the extents of parts(axes).
  Shape shape(llvm::ArrayRef<int> axes) const;

  /// Splits and unites classes until both lists have the same parts. The lists are the axes of the two sides
  /// of a reshape: [768] and [12,64] split 768 into two classes, of 12 and of 64. Returns false and changes
  /// nothing if the extents have no common split, as [12,8] and [8,12], or if a pinned axis would be split.
  bool match(llvm::ArrayRef<int> left, llvm::ArrayRef<int> right);

 private:
  struct Class {
    Dim extent;
    bool is_pinned = false, is_split = false;
    Axes parts = {};  // of a split class; a united class has one part, the class that replaces it
  };
  struct Change {  // an entry of the log from which undo() restores classes
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

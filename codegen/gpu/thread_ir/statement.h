// Statements of the thread IR: the code of one thread, as a tree. The thread blocks of a launch run it
// concurrently.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codegen/gpu/thread_ir/expression.h"

namespace smelt::gpu {

struct Statement;
using Body = std::vector<Statement>;
/// The statements within a loop, branch or scope. They do not change after the block is closed, and copies
/// share them.
using InnerBody = std::shared_ptr<const Body>;

/// A variable, or an array in registers.
struct Declaration {
  Type type;
  std::string name;
  std::vector<int64_t> extents = {};  // of an array
  Expr value = {};                    // nothing: not initialized, or `zero`
  bool constant = false;              // never assigned to again
  bool zero = false;                  // an array of zeros
  int alignment = 0;                  // in bytes; 0: that of an element
  std::string comment = {};
};

struct Assignment {
  enum class Op : uint8_t { set, add, divide, exclusive_or, inclusive_or } op = Op::set;
  Expr target, value;
};

/// A device function that is called for what it changes.
struct Call {
  Expr call;
};

/// Stores a number to an element in memory, rounded to the element's type.
struct Store {
  Expr element, value;
};

/// Loads or stores the first `count` elements of a vector of columns. Loads set the others to 0.
struct VectorAccess {
  /// by_sizes: if the sizes at launch allow it. shifted: never, but the lanes of a warp have adjacent
  /// vectors, all as far from an aligned address, and exchange elements, so that each stores elements
  /// from an aligned address on.
  enum class Aligned : uint8_t { never, always, by_sizes, shifted };
  bool store = false;
  Expr registers;  // an array of numbers
  Expr address, count;
  Aligned aligned = Aligned::never;
  int64_t last = 0;  // elements of the last vector of a row, if these are known and fewer; otherwise 0
  Expr lane = {};    // number of the thread in its row, if `aligned` is shifted
};

/// Combines the state of a reduction in `state` with others, by the functions that reduce_ops.def names for
/// the op.
struct Combination {
  enum class With : uint8_t { state, vector, lanes };
  ReduceOp op{};
  bool fast = false;
  With with = With::state;
  std::vector<Expr> state;   // variables
  std::vector<Expr> others;  // the other state; the array of elements; the mask of the lanes
  int lanes = 0;             // neighbouring lanes, each with a state
};

/// for (type variable = begin; condition; step). Without `variable` or `step` those parts are absent.
struct Loop {
  static constexpr int64_t kNotUnrolled = -1, kWholly = 0;
  std::optional<Declaration> variable;
  Expr condition;
  std::optional<Assignment> step;
  int64_t unroll = kNotUnrolled;  // or kWholly, or a number of iterations
  InnerBody body = {};
};

struct Branch {
  Expr condition;
  InnerBody body = {};
};

struct Scope {
  InnerBody body = {};
};

/// All threads of a thread block, of a group (a named barrier), or of a part of a warp wait for one another.
struct Barrier {
  enum class Of : uint8_t { block, group, warp } of = Of::block;
  Expr group = {};  // its number
  int threads = 0;  // of a group
  Expr mask = {};   // of a warp's threads
};

/// Ends the function, or the current iteration of the innermost loop.
struct Jump {
  bool next_iteration = false;
};

struct Statement {
  std::variant<Declaration, Assignment, Call, Store, VectorAccess, Combination, Loop, Branch, Scope, Barrier,
               Jump>
      as;
};

}  // namespace smelt::gpu

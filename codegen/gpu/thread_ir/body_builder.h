// Appends statements to the code of a thread. Blocks (loops, branches, scopes) are opened, filled and closed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codegen/gpu/thread_ir/statement.h"

namespace smelt::gpu {

class BodyBuilder {
 public:
  // ---- variables: each function returns the variable that it declares
  Expr declare(const Type& type, const std::string& name, const Expr& value, std::string comment = "");
  Expr declare_changing(const Type& type, const std::string& name, const Expr& value);
  /// Declares an array in registers. `zero`: of zeros; otherwise it has no values yet.
  Expr declare_array(const Type& type, const std::string& name, std::vector<int64_t> extents,
                     bool zero = false, int alignment = 0);

  // ---- statements
  void set(const Expr& target, const Expr& value) { assign(Assignment::Op::set, target, value); }
  void add_to(const Expr& target, const Expr& value) { assign(Assignment::Op::add, target, value); }
  void assign(Assignment::Op op, const Expr& target, const Expr& value);
  void store(const Expr& element, const Expr& value) { append(Store{element, value}); }
  void call(const std::string& name, std::vector<Expr> operands, std::vector<Expr> constants = {});
  void barrier() { append(Barrier{}); }
  void leave() { append(Jump{}); }
  template <typename Kind>
  void append(Kind statement) {
    top().push_back(Statement{std::move(statement)});
  }

  void append_all(const Body& body) { top().insert(top().end(), body.begin(), body.end()); }

  // ---- blocks
  void open_scope() { open(Scope{}); }
  /// Opens a branch, or a scope if the condition is nothing.
  void open_if(const Expr& condition);
  /// Opens a loop over begin, begin + step, ... below `end`, and returns its variable.
  Expr open_loop(const Type& type, const std::string& name, const Expr& begin, const Expr& end, int64_t step,
                 int64_t unroll = Loop::kNotUnrolled);
  /// Opens a loop over 0 ... count - 1 that is unrolled wholly.
  Expr open_unrolled(const std::string& name, int64_t count) {
    return open_loop(Scalar::int32, name, 0, count, 1, Loop::kWholly);
  }
  /// Opens a loop over first, first / 2, ..., last: distances between the lanes that exchange values.
  Expr open_halving(int first, int last, int64_t unroll);
  void open(Statement block) {
    heads_.push_back(std::move(block));
    bodies_.emplace_back();
  }
  template <typename Kind>
  void open(Kind block) {
    open(Statement{std::move(block)});
  }
  void close();

  /// Runs `append` in a branch, or without one if the condition is nothing.
  template <typename Append>
  void where(const Expr& condition, const Append& append) {
    if (condition) open_if(condition);
    append();
    if (condition) close();
  }

  /// Returns the code. Requires: all blocks are closed.
  const Body& body() const { return bodies_.front(); }

 private:
  Body& top() { return bodies_.back(); }

  std::vector<Statement> heads_;  // of the open blocks
  std::vector<Body> bodies_ = {{}};
};

}  // namespace smelt::gpu

// ProgramPlayer: simulates the launches of a program without executing kernels. Each kernel writes a hash of
// its text and of everything that it reads. So two programs with the same launches in different orders leave
// the same memory only if every launch reads the same data in both.
#pragma once

#include <random>

#include "ir/program/program.h"

namespace smelt::test {

class ProgramPlayer {
 public:
  explicit ProgramPlayer(const Program& program) : program_(program) {
    for (const Buffer& buffer : program.buffers)
      memory_.emplace_back(static_cast<size_t>(buffer.elements.constant().value()), 1);
  }

  /// Simulates an entry, and returns the contents of all buffers afterwards.
  const std::vector<std::vector<uint64_t>>& play(const PlanEntry& entry) {
    for (const Step& step : entry.steps)
      if (const auto* launch = std::get_if<KernelStep>(&step.what))
        run(*launch);
      else
        run(step.what);
    return memory_;
  }

 private:
  /// Simulates a launch. The copies of the kernel (rows of the grid) run in reverse order, because their
  /// order must not matter.
  void run(const KernelStep& step) {
    const Kernel& kernel = program_.kernels[static_cast<size_t>(step.kernel)];
    for (size_t copy = static_cast<size_t>(kernel.copies); copy-- > 0;)
      run(kernel, step, copy * kernel.params.size());
    size_t first = kernel.params.size();
    for (const Kernel& other : kernel.beside) run(other, step, first), first += other.params.size();
    for (const Kernel& last : kernel.tail) run(last, step, first), first += last.params.size();
  }

  void run(const Kernel& kernel, const KernelStep& step, size_t first) {
    uint64_t read = std::hash<std::string>()(code_of(kernel));
    for (const Instruction& x : kernel.instructions)
      visit(kernel, x, step, first, [&](uint64_t& element) {
        if (x.kind == Instruction::Kind::load) read = read * 1000003 + element;
      });
    for (const Instruction& x : kernel.instructions)
      visit(kernel, x, step, first, [&](uint64_t& element) {
        if (x.kind == Instruction::Kind::store) element = read = read * 31 + 7;
      });
  }

  void run(const decltype(Step::what)& what) {
    if (const auto* fill = std::get_if<FillStep>(&what))
      for (int64_t i = 0; i < fill->elements.constant(); ++i)
        at(fill->to, i) = static_cast<uint64_t>(fill->value);
    if (const auto* copy = std::get_if<CopyStep>(&what))
      for (int64_t i = 0; i < element_count(copy->extents).constant(); ++i)
        at(copy->to, i) = at(copy->from, i);
  }

  /// Returns the text of a kernel without its name, its schedule and the kernels that are fused with it.
  static std::string code_of(Kernel kernel) {
    kernel.name.clear();
    kernel.schedule = {}, kernel.copies = 1, kernel.beside.clear(), kernel.tail.clear();
    return print(kernel);
  }

  /// Calls body(element) for every element of memory that instruction `x` accesses. `first` is the index of
  /// the kernel's first argument in the step.
  template <typename Body>
  void visit(const Kernel& kernel, const Instruction& x, const KernelStep& step, size_t first,
             const Body& body) {
    if (x.access.param < 0) return;
    int64_t count = 1;
    for (size_t axis = 0; axis < kernel.axes.size(); ++axis)
      if (!x.access.strides[axis].is_zero()) count *= kernel.axes[axis].extent.constant().value();
    const BufferRef& ref = step.arguments[first + static_cast<size_t>(x.access.param)];
    for (int64_t i = 0; i < count; ++i) body(at(ref, x.access.offset.constant().value() + i));
  }

  uint64_t& at(const BufferRef& ref, int64_t i) {
    return memory_[static_cast<size_t>(ref.buffer)].at(
        static_cast<size_t>(ref.offset.constant().value() + i));
  }

  const Program& program_;
  std::vector<std::vector<uint64_t>> memory_;
};

/// Returns a kernel that computes y = f(x0, x1, ...) element by element. y and each of the `reads` inputs
/// have `elements` elements.
inline Kernel map_kernel(int reads, int64_t elements) {
  Kernel kernel;
  kernel.axes = {{AxisKind::column, "c0", elements}};
  KernelBlock block{KernelBlock::Scope::column, {}};
  for (int i = 0; i <= reads; ++i) {
    const bool out = i == reads;
    kernel.params.push_back({.name = (out ? "y" : "x") + std::to_string(i), .output = out, .input = !out});
    Instruction x{.kind = out ? Instruction::Kind::store : Instruction::Kind::load};
    x.access = {.param = i, .strides = {1}};
    if (out) x.operands = {0};
    block.instructions.push_back(i);
    kernel.instructions.push_back(std::move(x));
  }
  if (reads == 0) kernel.instructions.insert(kernel.instructions.begin(), Instruction{.number = 2});
  if (reads == 0) kernel.blocks = {{KernelBlock::Scope::column, {0, 1}}};
  if (reads > 0) kernel.blocks = {block};
  return kernel;
}

/// Returns a step. `reads` and `writes` are the indices of the buffers that the step reads and writes.
template <typename What>
Step step_of(What what, std::vector<int> reads, std::vector<int> writes) {
  Step step;
  step.what.template emplace<What>(std::move(what));
  step.reads = std::move(reads), step.writes = std::move(writes);
  step.phase = "backward";
  return step;
}

/// Returns a program with one entry of `steps` random steps: launches of three kernels, fills and copies.
/// Each operand is a range of `elements` elements in one of two states or of twelve temporary buffers.
inline Program random_launches(uint64_t seed, int steps, int64_t elements) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  Program program;
  for (int reads = 0; reads < 3; ++reads) {
    program.kernels.push_back(map_kernel(reads, elements));
    program.kernels.back().name = "k" + std::to_string(reads);
  }
  for (int i = 0; i < 2; ++i) {
    program.states.emplace_back().name = "s" + std::to_string(i);
    program.states.back().shape = {64};
    program.buffers.push_back(
        {.name = "s" + std::to_string(i), .role = Role::state, .elements = 64, .state = i});
  }
  for (int i = 0; i < 12; ++i) program.buffers.push_back({.name = "t" + std::to_string(i), .elements = 16});
  const auto place = [&] {
    const auto buffer = static_cast<int>(below(static_cast<int64_t>(program.buffers.size())));
    const int64_t most = program.buffers[static_cast<size_t>(buffer)].elements.constant().value() - elements;
    return BufferRef{buffer, below(most / elements + 1) * elements};
  };
  PlanEntry entry{.name = "g"};
  for (int i = 0; i < steps; ++i) {
    const int64_t kind = below(8);
    const BufferRef to = place(), from = place();
    Step step;
    if (kind == 0) {
      step = step_of(FillStep{to, elements, static_cast<double>(i)}, {}, {to.buffer});
    } else if (kind == 1) {
      step = step_of(CopyStep{from, to, {elements}, {1}, {1}}, {from.buffer}, {to.buffer});
    } else {
      KernelStep launch{.kernel = static_cast<int>(below(3)), .arguments = {}, .random_ids = {}};
      std::vector<int> reads;
      for (int read = 0; read < launch.kernel; ++read)
        reads.push_back(launch.arguments.emplace_back(place()).buffer);
      launch.arguments.push_back(to);
      step = step_of(std::move(launch), reads, {to.buffer});
    }
    if (below(8) == 0) step.phase = "update";
    step.sources = {std::to_string(i)};
    entry.steps.push_back(std::move(step));
  }
  program.entries.push_back(std::move(entry));
  return program;
}

}  // namespace smelt::test

#include "passes/program/offload/stream_states.h"

#include <algorithm>
#include <map>

#include "ir/analysis/host_states.h"
#include "ir/analysis/step_footprint.h"

namespace smelt {
namespace {

/// A part of a state that a kernel works on in a window.
struct Piece {
  BufferRef place;  // in the state
  int64_t elements = 0;
  int window = -1;
  bool read = false, written = false;
};

/// Returns the number of elements of an argument, which are contiguous.
int64_t elements_of(const Kernel& kernel) {
  int64_t elements = 1;
  for (const KernelAxis& axis : kernel.axes) elements *= axis.extent.constant().value_or(0);
  return elements;
}

bool does(const Kernel& kernel, size_t param, Instruction::Kind kind) {
  return std::ranges::any_of(kernel.instructions, [&](const Instruction& x) {
    return x.kind == kind && x.access.param == static_cast<int>(param);
  });
}

bool is_between_memories(const Program& program, const Step& step) {
  const auto* copy = std::get_if<CopyStep>(&step.what);
  return copy && is_held_by_host(program, copy->from) != is_held_by_host(program, copy->to);
}

/// A step with the copies around it; of those without a window there are none.
struct Unit {
  std::vector<Step> in, out;
  Step step;
};

class Streaming {
 public:
  Streaming(Program& program, PlanEntry& entry, int windows)
      : program_(program), entry_(entry), windows_(static_cast<size_t>(std::max(1, windows))) {}

  bool run() {
    for (Step& step : entry_.steps) add(std::move(step));
    if (streamed_.empty()) return give_back(), false;
    place();
    note_waits();
    return true;
  }

 private:
  void add(Step step) {
    Unit unit;
    std::vector<Piece> pieces = pieces_of(step);
    for (Piece& piece : pieces) {
      piece.window = window(piece);
      if (piece.read) unit.in.push_back(copy(piece, step, true));
      if (piece.written) unit.out.push_back(copy(piece, step, false));
    }
    work_in_windows(step, pieces);
    unit.step = std::move(step);
    if (!pieces.empty()) streamed_.push_back(units_.size());
    units_.push_back(std::move(unit));
  }

  void give_back() {
    for (size_t i = 0; i < units_.size(); ++i) entry_.steps[i] = std::move(units_[i].step);
  }

  std::vector<Piece> pieces_of(const Step& step) const {
    std::vector<Piece> pieces;
    const auto* launch = std::get_if<KernelStep>(&step.what);
    if (!launch) return pieces;
    const Kernel& kernel = program_.kernels[static_cast<size_t>(launch->kernel)];
    for (size_t i = 0; i < launch->arguments.size(); ++i) {
      const BufferRef& argument = launch->arguments[i];
      if (!is_held_by_host(program_, argument)) continue;
      auto piece = std::ranges::find(pieces, argument, &Piece::place);
      if (piece == pieces.end())
        piece = pieces.insert(pieces.end(), {.place = argument, .elements = elements_of(kernel)});
      piece->read |= does(kernel, i, Instruction::Kind::load);
      piece->written |= does(kernel, i, Instruction::Kind::store);
    }
    return pieces;
  }

  /// They take turns; a longer piece makes its window longer.
  int window(const Piece& piece) {
    std::vector<int>& own = windows_of_[piece.place.buffer];
    own.resize(windows_, -1);
    int& turn = own[streamed_.size() % windows_];
    if (turn < 0) {
      turn = static_cast<int>(program_.buffers.size());
      const Buffer& state = program_.buffers[static_cast<size_t>(piece.place.buffer)];
      program_.buffers.push_back(
          {.name = state.name + " window", .role = Role::workspace, .dtype = state.dtype, .elements = 0});
    }
    Dim& elements = program_.buffers[static_cast<size_t>(turn)].elements;
    elements = std::max(elements.constant().value_or(0), piece.elements);
    return turn;
  }

  static void work_in_windows(Step& step, const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) {
      const int state = piece.place.buffer;
      for (BufferRef& argument : std::get<KernelStep>(step.what).arguments)
        if (argument == piece.place) argument = {piece.window, 0};
      for (auto* list : {&step.reads, &step.writes}) std::ranges::replace(*list, state, piece.window);
      std::erase_if(step.may_alias,
                    [&](const auto& pair) { return pair.first == state || pair.second == state; });
    }
  }

  Step copy(const Piece& piece, const Step& of, bool in) const {
    const BufferRef window{piece.window, 0};
    const BufferRef &from = in ? piece.place : window, &to = in ? window : piece.place;
    CopyStep copy{.from = from,
                  .to = to,
                  .extents = {Dim(piece.elements)},
                  .from_strides = {1},
                  .to_strides = {1},
                  .dtype = program_.buffers[static_cast<size_t>(piece.window)].dtype};
    Step made;
    made.what = std::move(copy), made.reads = {from.buffer}, made.writes = {to.buffer};
    made.sources = of.sources, made.phase = of.phase;
    return made;
  }

  // ---- where copies in begin

  /// With a window less than there are copies are ahead, but not of other work.
  void place() {
    std::vector<std::vector<Step>> before(units_.size());  // by unit: the copies to the device before it
    for (size_t i = 0; i < streamed_.size(); ++i) {
      const size_t ahead = windows_ - 1, unit = streamed_[i];
      size_t at = std::max(begin_of_run(unit), i < ahead ? 0 : streamed_[i - ahead] + 1);
      at = std::min(at, unit);
      if (is_written_between(units_[unit], at, unit)) at = unit;
      for (Step& step : units_[unit].in) before[at].push_back(std::move(step));
    }
    entry_.steps.clear();
    std::vector<int> moved;  // by unit: the position of its step
    for (size_t i = 0; i < units_.size(); ++i) {
      append(before[i]);
      moved.push_back(static_cast<int>(entry_.steps.size()));
      append(units_[i].step), append(units_[i].out);
    }
    moved.push_back(static_cast<int>(entry_.steps.size()));
    for (Step& step : entry_.steps)
      if (auto* collective = std::get_if<CollectiveStep>(&step.what);
          collective && collective->waited_at >= 0)
        collective->waited_at = moved[static_cast<size_t>(collective->waited_at)];
  }

  void append(Step& step) { entry_.steps.push_back(std::move(step)); }
  void append(std::vector<Step>& steps) {
    for (Step& step : steps) append(step);
  }

  /// Returns the first slice of a run: slices of one kernel are adjacent.
  size_t begin_of_run(size_t unit) const {
    const Step& own = units_[unit].step;
    while (unit > 0 && units_[unit - 1].step.sources == own.sources && is_slice(units_[unit - 1].step))
      --unit;
    return unit;
  }
  static bool is_slice(const Step& step) { return std::holds_alternative<KernelStep>(step.what); }

  bool is_written_between(const Unit& reader, size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i)
      for (const Step& out : units_[i].out)
        for (const Step& in : reader.in)
          if (conflict(footprint(program_, in), footprint(program_, out))) return true;
    return false;
  }

  /// The first step that touches what a copy writes, or writes what it reads.
  void note_waits() {
    std::vector<Footprint> touched;
    for (const Step& step : entry_.steps) touched.push_back(footprint(program_, step));
    for (size_t i = 0; i < entry_.steps.size(); ++i) {
      if (!is_between_memories(program_, entry_.steps[i])) continue;
      size_t next = i + 1;
      while (next < touched.size() && !conflict(touched[i], touched[next])) ++next;
      std::get<CopyStep>(entry_.steps[i].what).waited_at = static_cast<int>(next);
    }
  }

  Program& program_;
  PlanEntry& entry_;
  const size_t windows_;
  std::vector<Unit> units_;
  std::vector<size_t> streamed_;                // units with windows
  std::map<int, std::vector<int>> windows_of_;  // by buffer of a state
};

/// Entries never run at once, and share one arena: windows of one are not those of another.
bool has_host_states(const Program& program) {
  return std::ranges::any_of(program.states, [](const State& state) { return state.resident >= 0; });
}

}  // namespace

bool stream_states(Program& program, const StreamStatesOptions& options) {
  if (!has_host_states(program)) return false;
  bool changed = false;
  for (PlanEntry& entry : program.entries) changed |= Streaming(program, entry, options.windows).run();
  return changed;
}

}  // namespace smelt

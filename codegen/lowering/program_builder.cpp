#include "codegen/lowering/program_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "ir/analysis/node_seconds.h"
#include "ir/analysis/view.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/plan/step_places.h"

namespace smelt {

int RandomDraws::slot_of(const Node& random) {
  const auto id = static_cast<uint32_t>(random.get(attr::id));
  RandomPart part;
  if (random.has(attr::parts)) part = {random.get(attr::parts), random.get(attr::part)};
  for (size_t slot = 0; slot < ids.size(); ++slot)
    if (ids[slot] == id && parts[slot] == part) return static_cast<int>(slot);
  ids.push_back(id), parts.push_back(part);
  return static_cast<int>(ids.size()) - 1;
}

void RandomDraws::give_to(KernelStep& step) const {
  step.random_ids = ids;
  if (llvm::any_of(parts, [](const RandomPart& part) { return part != RandomPart{}; }))
    step.random_parts = parts;
}

ProgramBuilder::ProgramBuilder(const Module& module, Target target) : target_(target) {
  program_.symbols = module.symbols;
  program_.mesh = module.mesh();
  program_.states = module.states;
  program_.buffers = module.buffers;
  program_.description = module.description;
}

void ProgramBuilder::set_origin(const Node& node) {
  sources_.clear();
  phase_ = name(node.phase);
  recomputed_ = node.anchored && matrix_flops(node) > 0;
  const std::string separator = " + ";
  for (size_t begin = 0; begin < node.source.size();) {
    const size_t end = std::min(node.source.find(separator, begin), node.source.size());
    sources_.push_back(node.source.substr(begin, end - begin));
    begin = end + separator.size();
  }
}

int ProgramBuilder::add_buffer(std::string name, Role role, DType dtype, Dim elements) {
  program_.buffers.push_back(
      {.name = std::move(name), .role = role, .dtype = dtype, .elements = std::move(elements)});
  return static_cast<int>(program_.buffers.size()) - 1;
}

namespace {

/// The alignment of buffers, and the width of the widest access, in bytes.
constexpr int64_t kBufferAlignment = 256, kWidestAccess = 16;

}  // namespace

int64_t ProgramBuilder::alignment(const BufferRef& argument) const {
  const int64_t size = size_of(buffer(argument.buffer).dtype);
  int64_t bytes = kBufferAlignment;
  for (const Dim::Term& term : argument.offset.terms()) bytes = std::gcd(bytes, term.coefficient * size);
  return std::min(bytes, kWidestAccess);
}

int ProgramBuilder::add_kernel(Kernel kernel, const std::vector<BufferRef>& arguments) {
  if (target_.can.launches)
    for (size_t i = 0; i < kernel.params.size(); ++i) kernel.params[i].alignment = alignment(arguments[i]);
  for (size_t i = 0; i < program_.kernels.size(); ++i)
    if (program_.kernels[i].same_code(kernel)) return static_cast<int>(i);
  program_.kernels.push_back(std::move(kernel));
  return static_cast<int>(program_.kernels.size()) - 1;
}

Step& ProgramBuilder::add_step(AnyStep what, std::vector<int> reads, std::vector<int> writes) {
  Step step;
  step.what = std::move(what);
  step.reads = std::move(reads);
  step.writes = std::move(writes);
  step.sources = sources_;
  step.phase = phase_;
  step.recomputed = recomputed_;
  if (choice_) {
    step.choice = static_cast<int>(entry().choices.size());
    step.alternative = static_cast<int>(choice_->alternatives.size()) - 1;
  }
  entry().steps.push_back(std::move(step));
  return entry().steps.back();
}

Step& ProgramBuilder::add_step(AnyStep what) {
  Step& step = add_step(std::move(what), {}, {});
  for (const StepPlace& place : places(step)) {
    if (place.reads()) step.reads.push_back(place.ref->buffer);
    if (place.writes()) step.writes.push_back(place.ref->buffer);
  }
  return step;
}

void ProgramBuilder::begin_choice() {
  choice_.emplace();
  choice_begin_ = entry().steps.size();
}

void ProgramBuilder::begin_alternative(std::string name) { choice_->alternatives.push_back(std::move(name)); }

void ProgramBuilder::take_last_where(SizeRule rule) { choice_->last_where = std::move(rule); }

namespace {

/// Returns whether some step from `begin` on writes a buffer that a variant reads before the variant itself
/// has written it.
bool overwrites(const std::vector<Step>& steps, size_t begin) {
  std::set<int> written;
  for (size_t i = begin; i < steps.size(); ++i)
    written.insert(steps[i].writes.begin(), steps[i].writes.end());
  std::set<int> own;
  for (size_t i = begin; i < steps.size(); ++i) {
    if (i > begin && steps[i].alternative != steps[i - 1].alternative) own.clear();
    for (const int buffer : steps[i].reads)
      if (written.count(buffer) && !own.count(buffer)) return true;
    own.insert(steps[i].writes.begin(), steps[i].writes.end());
  }
  return false;
}

}  // namespace

void ProgramBuilder::end_choice() {
  std::vector<Step>& steps = entry().steps;
  if (choice_->alternatives.size() > 1 && !overwrites(steps, choice_begin_)) {
    entry().choices.push_back(std::move(*choice_));
  } else {
    const auto begin = steps.begin() + static_cast<std::ptrdiff_t>(choice_begin_);
    steps.erase(std::remove_if(begin, steps.end(), [](const Step& s) { return s.alternative > 0; }),
                steps.end());
    for (size_t i = choice_begin_; i < steps.size(); ++i) steps[i].choice = -1;
  }
  choice_.reset();
}

void ProgramBuilder::begin_entry(const Graph& graph) {
  program_.entries.push_back({.name = graph.name});
  ranges_.emplace(graph);
}

std::optional<IndexBounds> ProgramBuilder::indices(const Value& value) const {
  if (is_float(value.dtype()) || value.dtype() == DType::boolean) return {};
  const IndexRange range = ranges_->at(&value);
  const bool all = range.least == INT32_MIN && range.most == INT32_MAX;
  if (all || range.least < INT32_MIN || range.most > INT32_MAX) return {};
  return IndexBounds{range.least, range.below.value_or(Dim(range.most + 1)), range.beside};
}

void ProgramBuilder::copy(const Layout& from, const Layout& to, const Shape& shape, const Value& value) {
  if (is_same_place(from, to, shape)) return;
  const DType dtype = value.dtype();
  if (!target_.can.strided_copies && !(is_dense(shape, from.strides) && is_dense(shape, to.strides)))
    return copy_strided(*this, from, to, shape, value);
  CopyStep step{.from = {from.buffer, from.offset},
                .to = {to.buffer, to.offset},
                .extents = shape,
                .from_strides = from.strides,
                .to_strides = to.strides,
                .dtype = dtype};
  add_step(std::move(step));
}

void ProgramBuilder::fill(int buffer, Dim offset, Dim elements, double value) {
  add_step(FillStep{{buffer, std::move(offset)}, std::move(elements), value});
}

}  // namespace smelt

#include "passes/graph/training/flatten_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>

#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/training/bucket_layout.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr int64_t alignment = 16;  // elements: 64 bytes of f32
int64_t rounded_up(int64_t number, int64_t unit) { return (number + unit - 1) / unit * unit; }
int64_t aligned(int64_t offset) { return rounded_up(offset, alignment); }

std::vector<int64_t> constant_shape(const Module::Parameter& parameter) {
  std::vector<int64_t> shape;
  for (const Dim& dim : parameter.type.shape) {
    if (!dim.constant())
      fail("parameter \"{}\" is {}; every dim of a parameter must be a number", parameter.name,
           str(parameter.type));
    shape.push_back(*dim.constant());
  }
  return shape;
}

bool is_shared(const Module::Parameter& parameter, const Mesh& mesh) {
  return parameter.sharding &&
         llvm::any_of(parameter.sharding->dims, [&](const auto& axes) { return parts_of(mesh, axes) > 1; });
}

/// One rank's part of what ranks share.
void take_part(Segment& segment, const Sharding& sharding, const Mesh& mesh) {
  segment.whole = segment.shape;
  for (size_t i = 0; i < segment.shape.size(); ++i) {
    std::vector<std::string>& names = segment.cut.emplace_back();
    for (const size_t axis : sharding.dims[i])
      if (mesh.axes[axis].size > 1) names.push_back(mesh.axes[axis].name);
    const int64_t parts = parts_of(mesh, sharding.dims[i]);
    if (segment.shape[i] % parts != 0)
      fail("parameter \"{}\": {} ranks do not divide dim {}, which is {}", segment.name, parts, i,
           segment.shape[i]);
    segment.shape[i] /= parts;
  }
}

Segment segment_of(const Module::Parameter& parameter, const Mesh& mesh) {
  Segment segment;
  segment.name = parameter.name;
  segment.shape = constant_shape(parameter);
  if (is_shared(parameter, mesh)) take_part(segment, *parameter.sharding, mesh);
  segment.init = parameter.init;
  segment.decay = parameter.decay;
  segment.checkpoint_names = parameter.checkpoint_names;
  segment.transposed = parameter.transposed;
  segment.frozen = parameter.frozen;
  segment.stacked = parameter.stacked;
  segment.stages = parameter.stages;
  return segment;
}

/// Decayed parameters first, then the others, frozen ones in parts of their own; of each those that ranks
/// share, so that sums over ranks tell them from the others by few places.
int part_in(const Mesh& mesh, const Module::Parameter& parameter) {
  const int by_decay = parameter.frozen ? 2 : parameter.decay ? 0 : 1;
  return 2 * by_decay + (is_shared(parameter, mesh) ? 0 : 1);
}
constexpr int kFirstFrozen = 4, kParts = 6;

using Run = std::vector<const Module::Parameter*>;  // parameters that follow each other without a gap

/// Adjacency groups and single parameters in order of declaration. A group is split where the part changes.
std::vector<Run> runs_of(Module& module) {
  std::map<std::string, Run> run_of_first;
  std::set<std::string> followers;
  const auto part_of = [&](const Module::Parameter& p) { return part_in(module.mesh(), p); };
  for (const auto& group : module.adjacent) {
    Run run;
    for (const std::string& name : group) {
      const Module::Parameter* parameter = module.find_parameter(name);
      if (!parameter || followers.count(name) || run_of_first.count(name)) continue;
      if (!run.empty() && part_of(*run.back()) == part_of(*parameter))
        followers.insert(name);
      else if (!run.empty())
        run_of_first[run.front()->name] = std::exchange(run, {});
      run.push_back(parameter);
    }
    if (!run.empty()) run_of_first[run.front()->name] = run;
  }
  std::vector<Run> runs;
  for (const Module::Parameter& parameter : module.parameters) {
    if (followers.count(parameter.name)) continue;
    auto it = run_of_first.find(parameter.name);
    runs.push_back(it == run_of_first.end() ? Run{&parameter} : it->second);
  }
  return runs;
}

std::vector<Segment> segments_of(const Run& run, const Mesh& mesh) {
  std::vector<Segment> segments;
  for (const Module::Parameter* parameter : run) {
    if (parameter->type.dtype != DType::f32)
      fail("parameter \"{}\" is {}; flat parameters are f32", parameter->name, str(parameter->type));
    segments.push_back(segment_of(*parameter, mesh));
  }
  return segments;
}

using Runs = std::vector<std::vector<Segment>>;

/// Places segments one after another; returns the number of elements up to their end.
int64_t place(std::vector<Segment>& run, int64_t begin) {
  for (Segment& segment : run) segment.offset = std::exchange(begin, begin + segment.elements());
  return begin;
}

Shape place_dense(Runs& runs, int64_t multiple) {
  int64_t end = 0;
  for (std::vector<Segment>& run : runs) end = place(run, aligned(end));
  return {rounded_up(aligned(end), multiple)};
}

Shape place_in_buckets(Runs& runs, const FlattenParametersOptions& options) {
  std::vector<int64_t> sizes;
  for (std::vector<Segment>& run : runs) sizes.push_back(place(run, 0));
  const BucketLayout layout =
      layout_in_buckets(sizes, {options.bucket, options.ranks, alignment, options.padding});
  for (size_t i = 0; i < runs.size(); ++i) place(runs[i], layout.begins[i]);
  return {layout.buckets, layout.rows, layout.row};
}

/// The parameters of these parts, [first, end); no segments where there are none.
State flat_state(Module& module, std::string_view name, int first, int end,
                 const FlattenParametersOptions& options) {
  State flat;
  flat.name = name;
  flat.role = Role::parameter;
  Runs placed;
  const std::vector<Run> runs = runs_of(module);
  for (int part = first; part < end; ++part)
    for (const Run& run : runs)
      if (part_in(module.mesh(), *run.front()) == part) placed.push_back(segments_of(run, module.mesh()));
  flat.shape = options.ranks == 0 ? place_dense(placed, options.multiple) : place_in_buckets(placed, options);
  for (std::vector<Segment>& run : placed) std::ranges::move(run, std::back_inserter(flat.segments));
  return flat;
}

void declare_frozen(Module& module, const FlattenParametersOptions& options) {
  State frozen = flat_state(module, kFrozenParameters, kFirstFrozen, kParts, options);
  if (frozen.segments.empty()) return;
  frozen.dtype = options.storage;
  frozen.from_model = options.frozen_from_model;
  module.states.push_back(std::move(frozen));
}

}  // namespace

bool flatten_parameters(Module& module, const FlattenParametersOptions& options) {
  if (module.parameters.empty() || module.find_state(kParameters)) return false;
  const bool trains = llvm::any_of(module.parameters, [](const auto& p) { return !p.frozen; });
  State flat = flat_state(module, kParameters, 0, trains ? kFirstFrozen : kParts, options);
  if (trains) declare_frozen(module, options);
  if (!options.masters) flat.dtype = options.storage;
  const bool copied = options.masters && options.storage != DType::f32;
  module.states.push_back(flat);
  if (!copied) return true;
  flat.name = fmt::format("parameters.{}", name(options.storage));
  flat.dtype = options.storage;
  flat.copy_of = kParameters;
  module.states.push_back(std::move(flat));
  return true;
}

const State* parameter_copy(const Module& module) {
  for (const State& state : module.states)
    if (state.copy_of == kParameters) return &state;
  return nullptr;
}

const State& flat_parameters(Module& module) {
  if (const State* flat = module.find_state(kParameters)) return *flat;
  fail("the module has no flat state \"parameters\": run flatten_parameters first");
}

Value* flat_places(GraphBuilder& b, const Shape& shape) {
  const Type type{DType::i32, shape};
  Value* place = nullptr;
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0; stride *= *shape[dim].constant()) {
    Value* along = scale(b, b.iota(type, static_cast<int64_t>(dim)), static_cast<double>(stride));
    place = place ? b.add(along, place) : along;
  }
  return place;
}

State& declare_flat_state(Module& module, std::string name, Role role, double initial) {
  if (State* known = module.find_state(name)) return *known;
  State state = flat_parameters(module);
  state.name = std::move(name);
  state.role = role;
  state.dtype = DType::f32;
  state.init = {Initializer::Kind::value, initial, 0};
  for (Segment& segment : state.segments) segment.init = state.init;
  module.states.push_back(std::move(state));
  return module.states.back();
}

State& declare_scalar_state(Module& module, std::string name, double initial) {
  if (State* known = module.find_state(name)) return *known;
  State state;
  state.name = std::move(name);
  state.init = {Initializer::Kind::value, initial, 0};
  module.states.push_back(std::move(state));
  return module.states.back();
}

State& declare_vector_state(Module& module, std::string name, Shape shape, DType dtype) {
  if (State* known = module.find_state(name)) return *known;
  State state;
  state.name = std::move(name);
  state.role = Role::optimizer;
  state.dtype = dtype;
  state.shape = std::move(shape);
  module.states.push_back(std::move(state));
  return module.states.back();
}

int64_t decay_boundary(const State& flat, bool all) {
  int64_t boundary = 0;
  for (const Segment& segment : flat.segments)
    if (segment.decay || all) boundary = segment.offset + segment.elements();
  return boundary;
}

}  // namespace smelt

#include "runtime/plan/plan_validate.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/plan/choices.h"
#include "runtime/plan/kernel_check.h"
#include "runtime/plan/plan_checks.h"
#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_model.h"
#include "runtime/plan/plan_refusal.h"
#include "runtime/plan/step_places.h"

namespace smelt {
namespace {

constexpr int64_t kPlaceAlignment = 64;  // of every buffer in the arena
constexpr int kMostPointers = 256;       // of all copies: a kernel's parameters have 4 KiB
constexpr size_t kMostSymbols = 8;       // least upper bounds are searched among all sets of them

class Validation {
 public:
  explicit Validation(const Plan& plan) : plan_(plan) {}

  void run() {
    read_plan_model(plan_.model);
    check_symbols();
    check_mesh(plan_.mesh);
    points_ = extreme_values(plan_.symbols);
    check_states(plan_, points_);
    for (const Buffer& buffer : plan_.buffers) check_buffer(buffer);
    require_names(plan_.kernels, "kernel");
    for (const KernelCode& kernel : plan_.kernels) check_kernel(kernel);
    require_names(plan_.entries, "entry");
    owner_.assign(plan_.buffers.size(), nullptr);
    for (const PlanEntry& entry : plan_.entries) check_entry(entry);
    if (!plan_.kernels.empty() && plan_.target.empty()) refuse("the plan has kernels and no target");
  }

 private:
  void check_symbols() {
    const std::vector<std::string> names = plan_.symbols.names();
    if (names.size() > kMostSymbols) refuse("{} symbols: expected at most {}", names.size(), kMostSymbols);
    for (const Symbols::Bound& bound : plan_.symbols.bounds())
      if (bound.factors.size() > kMostSymbols)
        refuse("a bound on a product of {} symbols: expected at most {}", bound.factors.size(), kMostSymbols);
    for (const Symbols::Bound& bound : plan_.symbols.bounds())
      if (bound.lower == 0 && bound.factors[0].find('.') != std::string::npos) check_coordinate(bound);
    for (const std::string& name : names) {
      const Dim parsed = Dim::parse(name);
      if (!(parsed == Dim::symbol(name))) refuse("symbol '{}': expected a plain name", name);
    }
  }

  /// Checks a rank coordinate: sessions have the values of those in the mesh.
  void check_coordinate(const Symbols::Bound& bound) const {
    const auto has = [&](const MeshAxis& axis) {
      return coordinate(axis) == bound.factors[0] && axis.size - 1 == bound.upper;
    };
    if (std::ranges::none_of(plan_.mesh.axes, has))
      refuse("the symbol '{}' from 0 to {}: expected a coordinate of the mesh {}", bound.factors[0],
             bound.upper, str(plan_.mesh));
  }

  void check_buffer(const Buffer& buffer) const {
    const std::string what = fmt::format("buffer '{}'", buffer.name);
    const int64_t bytes =
        most_elements(plan_.symbols, points_, buffer.elements, buffer.dtype, what) * size_of(buffer.dtype);
    if (buffer.bytes < bytes || buffer.bytes > kMostBytes)
      refuse("{} has {} bytes: expected at least {} for {} elements", what, buffer.bytes, bytes,
             buffer.elements.str());
    if (is_state(buffer.role))
      check_state_buffer(buffer, what);
    else if (buffer.state != -1)
      refuse("{} is a state with the role {}", what, name(buffer.role));
    const auto data_bytes = static_cast<int64_t>(buffer.data.size());
    if (data_bytes != (buffer.role == Role::constant ? buffer.bytes : 0))
      refuse("{} ({}) holds {} bytes of data: expected {}", what, name(buffer.role), data_bytes,
             buffer.role == Role::constant ? buffer.bytes : 0);
    const bool placed = buffer.offset_bytes >= 0 && buffer.offset_bytes % kPlaceAlignment == 0 &&
                        buffer.offset_bytes <= kMostBytes;
    if (in_arena(buffer.role) && !placed)
      refuse("{} is at byte {}: expected a multiple of {}", what, buffer.offset_bytes, kPlaceAlignment);
    if (!buffer.parts.empty()) check_parts(buffer, what);
  }

  void check_parts(const Buffer& buffer, const std::string& what) const {
    if (!in_arena(buffer.role) || !buffer.elements.is_constant())
      refuse("{} has parts: expected that of temporaries of one size only", what);
    int64_t from = 0;
    for (const BufferPart& part : buffer.parts) {
      const bool first = &part == &buffer.parts.front();
      if (first ? part.begin != 0 : part.begin <= from || part.begin >= buffer.bytes)
        refuse("{}: a part begins at byte {} of {} behind one at {}", what, part.begin, buffer.bytes, from);
      const bool unused = part.first_step == -1 && part.last_step == -1;
      if (!unused && (part.first_step < buffer.first_step || part.last_step > buffer.last_step))
        refuse("{}, which lives from step {} to {}, has a part that does from {} to {}", what,
               buffer.first_step, buffer.last_step, part.first_step, part.last_step);
      from = part.begin;
    }
  }

  void check_state_buffer(const Buffer& buffer, const std::string& what) const {
    if (buffer.state < 0 || buffer.state >= static_cast<int>(plan_.states.size()))
      refuse("{} belongs to state {}: expected one of {}", what, buffer.state, plan_.states.size());
    const State& state = plan_.states[static_cast<size_t>(buffer.state)];
    const int64_t most = plan_.symbols.upper(element_count(state.shape));
    if (state.role != buffer.role || state.dtype != buffer.dtype ||
        plan_.symbols.upper(buffer.elements) > most)
      refuse("{} ({} {}, {} elements) does not fit state '{}' ({} {}, {} elements)", what, name(buffer.role),
             name(buffer.dtype), buffer.elements.str(), state.name, name(state.role), name(state.dtype),
             most);
  }

  void check_kernel(const KernelCode& kernel) const {
    for (const char c : kernel.name)
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '$')
        refuse("kernel '{}': expected a name of letters, digits, '_', '.' and '$'", kernel.name);
    if (kernel.grain < 1 || kernel.splits < 0 || kernel.splits > 1 << 20)
      refuse("kernel '{}': grain {}, splits {}: expected at least 1 and 0", kernel.name, kernel.grain,
             kernel.splits);
    if (kernel.most_blocks < 0 || kernel.only_capability < 0)
      refuse("kernel '{}': at most {} blocks, only for capability {}: expected at least 0", kernel.name,
             kernel.most_blocks, kernel.only_capability);
    if (kernel.random_ids < 0)
      refuse("kernel '{}': {} random ids: expected at least 0", kernel.name, kernel.random_ids);
    check_parameters(kernel);
    check_maps(plan_, kernel);
    if (kernel.launch) check_template(kernel);
    if (kernel.attention) check_attention(kernel, points_);
    const int64_t copies = kernel.copies, arguments = std::ssize(kernel.parameters);
    const bool fits = copies == 1 || (copies > 1 && arguments >= 1 && arguments <= kMostPointers / copies);
    if (!fits)
      refuse("kernel '{}': {} copies of {} arguments: expected 1 to {} arguments in all", kernel.name, copies,
             arguments, kMostPointers);
    for (const SymbolValues& values : points_) {
      for (const Dim& dim : kernel.dims) dim.evaluate(values);
      if (const int64_t range = kernel.range.evaluate(values); range < 0)
        refuse("kernel '{}': the range {} is {}", kernel.name, kernel.range.str(), range);
    }
  }

  void check_entry(const PlanEntry& entry) {
    require_names(entry.inputs, fmt::format("entry '{}', input", entry.name));
    require_names(entry.outputs, fmt::format("entry '{}', output", entry.name));
    std::set<int> bound;
    for (const Port& port : entry.inputs) check_port(entry, port, Role::input, bound);
    for (const Port& port : entry.outputs) check_port(entry, port, Role::output, bound);
    if (entry.arena_bytes < 0 || entry.arena_bytes > kMostBytes)
      refuse("entry '{}': an arena of {} bytes", entry.name, entry.arena_bytes);
    for (size_t i = 0; i < entry.steps.size(); ++i) check_step(entry, i, bound);
    check_choices(plan_, entry);
    for (const SymbolValues& values : points_)
      for (const Choice& choice : entry.choices) unmeasured_alternative(choice, values);
    check_waits(entry, plan_.symbols);
    check_lifetimes(plan_, entry);
    for (const SymbolValues& values : points_) {
      check_indices(plan_, entry, values);
      check_outputs(plan_, entry, values);
    }
  }

  void check_port(const PlanEntry& entry, const Port& port, Role role, std::set<int>& bound) {
    const std::string what = fmt::format("entry '{}', {} '{}'", entry.name, name(role), port.name);
    const Buffer& buffer = find_buffer(port.buffer, what);
    const bool right_role = buffer.role == role || (role == Role::output && buffer.role != Role::input);
    if (!right_role)
      refuse("{} is bound to buffer '{}' with the role {}", what, buffer.name, name(buffer.role));
    if (buffer.role == role && !bound.insert(port.buffer).second)
      refuse("{}: buffer '{}' is bound twice", what, buffer.name);
    if (buffer.dtype != port.dtype)
      refuse("{} is {}, its buffer '{}' {}", what, name(port.dtype), buffer.name, name(buffer.dtype));
    check_ids(port, role, what);
    own(entry, port.buffer);
    for (const SymbolValues& values : points_) {
      for (const Dim& dim : port.shape)
        if (dim.evaluate(values) < 0) refuse("{}: the dim {} is below 0", what, dim.str());
      if (element_count(port.shape).evaluate(values) > buffer.elements.evaluate(values))
        refuse("{} of shape {} exceeds its buffer '{}' of {} elements", what, str(port.shape), buffer.name,
               buffer.elements.str());
    }
  }

  static void check_ids(const Port& port, Role role, const std::string& what) {
    if (!port.ids) return;
    if (role != Role::input || is_float(port.dtype) || port.dtype == DType::boolean)
      refuse("{} of {} holds ids: expected an input of integers", what, smelt::name(port.dtype));
    if (port.ids->below < 1) refuse("{} holds ids below {}: expected at least 1", what, port.ids->below);
    if (port.ids->least > 0) refuse("{} holds ids from {}: expected at most 0", what, port.ids->least);
    const bool whole = std::abs(port.fill) <= std::numeric_limits<int32_t>::max();
    if (port.optional && !(whole && port.ids->holds(static_cast<int64_t>(port.fill))))
      refuse("{} is filled with {}: expected {}", what, port.fill, str(*port.ids));
  }

  const Buffer& find_buffer(int index, const std::string& what) const {
    if (index < 0 || index >= static_cast<int>(plan_.buffers.size()))
      refuse("{}: buffer {}: expected one of {}", what, index, plan_.buffers.size());
    return plan_.buffers[static_cast<size_t>(index)];
  }

  /// A place in the arena has a lifetime in one entry.
  void own(const PlanEntry& entry, int index) {
    const Buffer& buffer = plan_.buffers[static_cast<size_t>(index)];
    if (!in_arena(buffer.role)) return;
    const PlanEntry*& owner = owner_[static_cast<size_t>(index)];
    if (owner && owner != &entry)
      refuse("buffer '{}' is used by the entries '{}' and '{}': expected one", buffer.name, owner->name,
             entry.name);
    owner = &entry;
    if (buffer.bytes > entry.arena_bytes || buffer.offset_bytes > entry.arena_bytes - buffer.bytes)
      refuse("entry '{}': buffer '{}' [{}, +{}) exceeds the arena of {} bytes", entry.name, buffer.name,
             buffer.offset_bytes, buffer.bytes, entry.arena_bytes);
  }

  void check_step(const PlanEntry& entry, size_t index, const std::set<int>& bound) {
    const Step& step = entry.steps[index];
    const std::string what = describe_step(entry, index);
    for (const auto* list : {&step.reads, &step.writes})
      for (const int i : *list) {
        const Buffer& buffer = find_buffer(i, what);
        const bool port = buffer.role == Role::input || buffer.role == Role::output;
        if (port && bound.count(i) == 0)
          refuse("{}: buffer '{}' ({}) is no port of the entry", what, buffer.name, name(buffer.role));
        own(entry, i);
      }
    check_written(step, what);
    check_references(step, what);
    check_counts(step, what);
    check_templates(plan_, step, what);
    for (const SymbolValues& values : points_) check_ranges(plan_, step, values, what);
  }

  void check_written(const Step& step, const std::string& what) const {
    for (const int i : step.writes) {
      const Role role = plan_.buffers[static_cast<size_t>(i)].role;
      if (role == Role::input || role == Role::constant)
        refuse("{} writes buffer '{}' with the role {}", what, plan_.buffers[static_cast<size_t>(i)].name,
               name(role));
    }
    for (const auto& [written, read] : step.may_alias) find_buffer(written, what), find_buffer(read, what);
  }

  void check_references(const Step& step, const std::string& what) const {
    const auto listed = [](const std::vector<int>& list, int i) {
      return std::find(list.begin(), list.end(), i) != list.end();
    };
    for (const StepPlace& place : places(step)) {
      const int index = place.ref->buffer;
      const Buffer& buffer = find_buffer(index, what);
      if (!listed(step.reads, index) && !listed(step.writes, index))
        refuse("{} uses buffer '{}': expected it among those it reads or writes", what, buffer.name);
      if (place.writes() && !listed(step.writes, index))
        refuse("{} writes buffer '{}': expected it among those it writes", what, buffer.name);
    }
  }

  void check_counts(const Step& step, const std::string& what) const {
    if (const auto* copy = std::get_if<CopyStep>(&step.what)) {
      const size_t rank = copy->extents.size();
      if (copy->from_strides.size() != rank || copy->to_strides.size() != rank || rank > 16)
        refuse("{}: {} extents with {} and {} strides", what, rank, copy->from_strides.size(),
               copy->to_strides.size());
    }
    const auto* collective = std::get_if<CollectiveStep>(&step.what);
    if (collective && collective->kind != CollectiveKind::all_reduce && !step.may_alias.empty())
      refuse("{}: {} in place: expected that of all_reduce alone", what, name(collective->kind));
    const auto* launch = std::get_if<KernelStep>(&step.what);
    if (!launch) return;
    if (launch->kernel < 0 || launch->kernel >= static_cast<int>(plan_.kernels.size()))
      refuse("{}: kernel {}: expected one of {}", what, launch->kernel, plan_.kernels.size());
    check_launch(plan_, step, *launch, what);
  }

  const Plan& plan_;
  std::vector<SymbolValues> points_;
  std::vector<const PlanEntry*> owner_;
};

}  // namespace

void validate(const Plan& plan) {
  try {
    Validation(plan).run();
  } catch (const Error& error) {  // sizes that overflow have a status of their own
    throw Error(error.what(), Status::invalid_file);
  }
}

std::string_view kind_name(const Step& step) {
  return std::visit([]<typename Kind>(const Kind&) { return StepKind<Kind>::name; }, step.what);
}

std::string describe_step(const PlanEntry& entry, size_t index) {
  const Step& step = entry.steps[index];
  const std::string source = step.sources.empty() ? "" : " " + step.sources.front();
  return fmt::format("entry '{}', step {} ({}{})", entry.name, index, kind_name(step), source);
}

}  // namespace smelt

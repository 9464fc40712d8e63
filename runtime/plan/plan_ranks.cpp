#include "runtime/plan/plan_ranks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "runtime/base/error.h"
#include "runtime/plan/plan_fields.h"

namespace smelt {
namespace {

/// Detects whether any size in the visited fields contains one of some symbols.
class Mentions {
 public:
  explicit Mentions(std::vector<std::string> symbols) : symbols_(std::move(symbols)) {}

  bool in(const Dim& dim) const {
    std::vector<std::string> names;
    dim.collect_symbols(names);
    return std::ranges::any_of(names, [&](const std::string& name) { return is_one(name); });
  }
  template <typename T>
  bool in(const std::vector<T>& items) const {
    return std::ranges::any_of(items, [&](const T& item) { return in(item); });
  }
  template <typename T>
  bool in(const std::optional<T>& item) const {
    return item && in(*item);
  }
  template <typename... Kinds>
  bool in(const std::variant<Kinds...>& what) const {
    return std::visit([&](const auto& kind) { return in(kind); }, what);
  }
  template <typename T>
  bool in(const T& item) const {
    bool found = false;
    const auto field = [&](const char*, const auto& member, const auto&...) { found = found || in(member); };
    if constexpr (requires { visit_fields(field, item); }) visit_fields(field, item);
    return found;
  }

  bool is_one(const std::string& name) const { return std::ranges::find(symbols_, name) != symbols_.end(); }

 private:
  std::vector<std::string> symbols_;
};

std::vector<std::string> coordinates_of(const Mesh& mesh) {
  std::vector<std::string> names;
  for (const MeshAxis& axis : mesh.axes)
    if (axis.size > 1) names.push_back(coordinate(axis));
  return names;
}

bool is_shared_over(const State& state, const std::string& axis) {
  const auto has = [&](const std::vector<std::string>& axes) {
    return std::ranges::find(axes, axis) != axes.end();
  };
  return has(state.partial) || std::ranges::any_of(state.cut, has);
}

bool is_in_parts(const Plan& plan, int buffer) {
  const int state = plan.buffers[static_cast<size_t>(buffer)].state;
  if (state < 0) return false;
  return std::ranges::any_of(plan.mesh.axes, [&](const MeshAxis& axis) {
    return axis.size > 1 && is_shared_over(plan.states[static_cast<size_t>(state)], axis.name);
  });
}

bool is_collective_along(const Step& step, const MeshAxis& axis) {
  const auto* collective = std::get_if<CollectiveStep>(&step.what);
  return collective && collective->axis == axis.name;
}

/// Kernels read sizes of their own.
bool kernels_mention(const Plan& plan, const Step& step, const Mentions& coordinates) {
  const auto has = [&](int kernel) { return coordinates.in(plan.kernels[static_cast<size_t>(kernel)]); };
  const auto* launch = std::get_if<KernelStep>(&step.what);
  return (launch && has(launch->kernel)) || std::ranges::any_of(step.kernels, has);
}

bool needs_ranks(const Plan& plan, const Step& step, const Mentions& coordinates) {
  const auto is_along = [&](const MeshAxis& axis) {
    return axis.size > 1 && is_collective_along(step, axis);
  };
  const auto is_part = [&](int buffer) {
    return is_in_parts(plan, buffer) || coordinates.in(plan.buffers[static_cast<size_t>(buffer)].elements);
  };
  return std::ranges::any_of(plan.mesh.axes, is_along) || coordinates.in(step) ||
         kernels_mention(plan, step, coordinates) || std::ranges::any_of(step.reads, is_part) ||
         std::ranges::any_of(step.writes, is_part);
}

/// Returns the mesh in the syntax of --mesh.
std::string option_of(const Mesh& mesh) {
  std::vector<std::string> parts;
  for (const MeshAxis& axis : mesh.axes) parts.push_back(fmt::format("{}={}", axis.name, axis.size));
  return fmt::format("--mesh {}", fmt::join(parts, ","));
}

std::string text_of(const Mesh& mesh) {
  return mesh.ranks() == 1 ? "for one rank" : fmt::format("for {} ranks (mesh {})", mesh.ranks(), str(mesh));
}

}  // namespace

bool needs_ranks(const Plan& plan, const PlanEntry& entry) {
  if (plan.mesh.ranks() == 1) return false;
  const Mentions coordinates(coordinates_of(plan.mesh));
  return coordinates.in(entry.inputs) || coordinates.in(entry.outputs) ||
         std::ranges::any_of(entry.steps,
                             [&](const Step& step) { return needs_ranks(plan, step, coordinates); });
}

bool uses_axis(const Plan& plan, const MeshAxis& axis) {
  const auto is_along = [&](const Step& step) { return is_collective_along(step, axis); };
  const auto has_it = [&](const PlanEntry& entry) { return std::ranges::any_of(entry.steps, is_along); };
  return std::ranges::any_of(plan.entries, has_it) ||
         std::ranges::any_of(plan.states, [&](const State& s) { return is_shared_over(s, axis.name); });
}

bool exchanges_along(const Plan& plan, std::string_view entry, std::string_view axis) {
  const PlanEntry* found = plan.find_entry(entry);
  const auto number = plan.mesh.find(axis);
  return found && number && plan.mesh.axes[*number].size > 1 &&
         std::ranges::any_of(found->steps, [&](const Step& step) {
           return is_collective_along(step, plan.mesh.axes[*number]);
         });
}

void require_mesh(const Plan& plan, const RankGroups* ranks) {
  const int64_t needed = plan.mesh.ranks(), there = ranks ? ranks->mesh().ranks() : 1;
  if (needed == 1 && there == 1) return;
  if (there == 1)
    fail(
        "the plan is {}, and this process runs alone: start all with `smelt launch -n {} -- smelt ...`, or "
        "compile the plan without a mesh",
        text_of(plan.mesh), needed);
  if (plan.mesh != ranks->mesh())
    fail("the plan is {}, and there are {} (mesh {}): compile it with {}", text_of(plan.mesh), there,
         str(ranks->mesh()), option_of(ranks->mesh()));
}

void require_ranks(const Plan& plan, const PlanEntry& entry, const RankGroups* ranks) {
  if (needs_ranks(plan, entry)) require_mesh(plan, ranks);
}

}  // namespace smelt

#include "runtime/plan/adapter_interface.h"

#include "runtime/plan/plan_model.h"
#include "runtime/plan/plan_refusal.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

constexpr std::string_view kStates = "adapters.";

bool is_count(const Json& json, const char* name) {
  return json.contains(name) && json[name].is_number_integer() && json[name] >= 1 && json[name] <= INT32_MAX;
}

bool are_names(const Json& json) {
  return json.is_array() && std::ranges::all_of(json, [](const Json& name) { return name.is_string(); });
}

/// Returns the sizes of a state whose first ones are `begin`.
std::vector<int64_t> sizes_of(const Plan& plan, const std::string& name, size_t least, int64_t slots) {
  const State* state = plan.find_state(name);
  std::vector<int64_t> sizes;
  for (const Dim& dim : state ? state->shape : Shape{})
    if (dim.constant()) sizes.push_back(*dim.constant());
  if (!state || state->role != Role::state || !is_float(state->dtype) || sizes.size() < least ||
      sizes.size() != state->shape.size() || sizes[0] != slots)
    refuse("the plan has slots for {} adapters, and no state '{}' of their matrices; compile the model again",
           slots, name);
  return sizes;
}

AdaptedLinear linear_of(const Plan& plan, const std::string& module, const Json& names,
                        const AdapterInterface& all) {
  if (!are_names(names)) refuse("the plan's description: adapters: '{}' has no list of names", module);
  const std::vector<int64_t> a = sizes_of(plan, adapter_state_a(module), 3, all.slots),
                             b = sizes_of(plan, adapter_state_b(module), 3, all.slots);
  if (a.size() != 3 || a[1] != all.rank || b.back() != all.rank)
    refuse("the states of the adapters of '{}' are not of rank {}; compile the model again", module,
           all.rank);
  AdaptedLinear linear{module, names.get<std::vector<std::string>>(), a[2], 1};
  for (size_t i = 1; i + 1 < b.size(); ++i) linear.out *= b[i];
  return linear;
}

}  // namespace

std::string adapter_state_a(std::string_view module) { return fmt::format("{}{}.A", kStates, module); }
std::string adapter_state_b(std::string_view module) { return fmt::format("{}{}.B", kStates, module); }

AdapterInterface::AdapterInterface(const Plan& plan) {
  const Json about = read_plan_model(plan.model);
  if (!about.is_object() || !about.contains(kAdapterSlots)) return;
  const Json& adapters = about[kAdapterSlots];
  if (!adapters.is_object() || !is_count(adapters, "slots") || !is_count(adapters, "rank") ||
      !adapters.contains("modules") || !adapters["modules"].is_object())
    refuse("the plan's description: adapters: expected an object with slots, rank and modules");
  slots = adapters["slots"].get<int64_t>(), rank = adapters["rank"].get<int64_t>();
  for (const auto& [module, names] : adapters["modules"].items())
    linears.push_back(linear_of(plan, module, names, *this));
}

}  // namespace smelt

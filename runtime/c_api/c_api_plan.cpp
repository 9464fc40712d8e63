// The C interface: errors, types, plans and their introspection.
#include <cstring>

#include "runtime/c_api/c_api_detail.h"
#include "runtime/c_api/structs.h"
#include "runtime/plan/plan_file.h"
#include "runtime/session/executor.h"

using namespace smelt;
using namespace smelt::c_api;

namespace {

thread_local std::string last_error;

static_assert(SMELT_F32 == static_cast<int>(DType::f32) && SMELT_F8E4M3 == static_cast<int>(DType::f8e4m3));
static_assert(SMELT_OUT_OF_MEMORY == static_cast<int>(Status::out_of_memory));
static_assert(SMELT_INTERNAL == static_cast<int>(Status::internal));

bool is_dtype(smelt_dtype dtype) { return dtype >= SMELT_F32 && dtype <= SMELT_F8E4M3; }

std::vector<smelt_plan::PortText> texts_of(const Plan& plan, const std::vector<Port>& ports) {
  std::vector<smelt_plan::PortText> texts;
  for (const Port& port : ports) {
    auto& text = texts.emplace_back();
    text.shape = str(port.shape);
    for (const Dim& dim : port.shape) text.max_shape.push_back(plan.symbols.upper(dim));
  }
  return texts;
}

std::unique_ptr<smelt_plan> describe_plan(std::shared_ptr<const Plan> plan) {
  auto handle = std::make_unique<smelt_plan>();
  for (const PlanEntry& entry : plan->entries)
    handle->entries.push_back({texts_of(*plan, entry.inputs), texts_of(*plan, entry.outputs)});
  for (const State& state : plan->states) {
    handle->roles.emplace_back(name(state.role));
    handle->state_elements.push_back(plan->symbols.upper(element_count(state.shape)));
  }
  handle->memory_bytes = executor_memory(*plan).total();
  handle->plan = std::move(plan);
  return handle;
}

size_t entry_index(const smelt_plan& handle, const char* name) {
  required(name, "the entry's name");
  const auto& entries = handle.plan->entries;
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].name == name) return i;
  fail("the plan has no entry '{}'", name);
}

void check_index(const char* what, size_t index, size_t count) {
  if (index >= count) fail("{} {}: there are {}", what, index, count);
}

void fill_port(const Port& port, const smelt_plan::PortText& text, smelt_port& out) {
  const smelt_port filled{sizeof filled,
                          port.name.c_str(),
                          static_cast<smelt_dtype>(port.dtype),
                          static_cast<int32_t>(port.shape.size()),
                          text.shape.c_str(),
                          text.max_shape.data(),
                          port.optional ? 1 : 0};
  write_struct(out, filled, "port");
}

using Ports = std::vector<Port> PlanEntry::*;
using Texts = std::vector<smelt_plan::PortText> smelt_plan::EntryText::*;

smelt_status port_count(const smelt_plan* plan, const char* entry, size_t* count, Ports ports) {
  return guarded([&] {
    const size_t i = entry_index(*required(plan, "the plan"), entry);
    *required(count, "count") = (plan->plan->entries[i].*ports).size();
  });
}

smelt_status describe_port(const smelt_plan* plan, const char* entry, size_t index, smelt_port* out,
                           Ports ports, Texts texts, const char* what) {
  return guarded([&] {
    const size_t i = entry_index(*required(plan, "the plan"), entry);
    const auto& list = plan->plan->entries[i].*ports;
    check_index(what, index, list.size());
    fill_port(list[index], (plan->entries[i].*texts)[index], *required(out, "port"));
  });
}

}  // namespace

smelt_status smelt::c_api::remember(Status status, const char* message) noexcept {
  try {
    last_error = message;
  } catch (...) {
    last_error.clear();
  }
  return static_cast<smelt_status>(status);
}

extern "C" {

const char* smelt_last_error(void) { return last_error.c_str(); }
const char* smelt_version(void) { return SMELT_VERSION; }
const char* smelt_dtype_name(smelt_dtype dtype) {
  return is_dtype(dtype) ? name(static_cast<DType>(dtype)).data() : "";
}
size_t smelt_dtype_size(smelt_dtype dtype) {
  return is_dtype(dtype) ? static_cast<size_t>(size_of(static_cast<DType>(dtype))) : 0;
}

smelt_status smelt_plan_load(const char* path, smelt_plan** plan) {
  return guarded([&] {
    required(plan, "plan");
    *plan = describe_plan(load_plan(required(path, "path"))).release();
  });
}

smelt_status smelt_plan_from_memory(const void* data, size_t bytes, const char* name, smelt_plan** plan) {
  return guarded([&] {
    required(plan, "plan");
    const auto* first = static_cast<const std::byte*>(required(data, "the plan's bytes"));
    *plan = describe_plan(read_plan({first, bytes}, name ? name : "memory")).release();
  });
}

void smelt_plan_free(smelt_plan* plan) { delete plan; }

const char* smelt_plan_target(const smelt_plan* plan) { return plan ? plan->plan->target.c_str() : ""; }
const char* smelt_plan_model(const smelt_plan* plan) { return plan ? plan->plan->model.c_str() : ""; }
int64_t smelt_plan_memory_bytes(const smelt_plan* plan) { return plan ? plan->memory_bytes : 0; }
size_t smelt_plan_entry_count(const smelt_plan* plan) { return plan ? plan->plan->entries.size() : 0; }

const char* smelt_plan_entry_name(const smelt_plan* plan, size_t index) {
  return index < smelt_plan_entry_count(plan) ? plan->plan->entries[index].name.c_str() : nullptr;
}

smelt_status smelt_plan_input_count(const smelt_plan* plan, const char* entry, size_t* count) {
  return port_count(plan, entry, count, &PlanEntry::inputs);
}
smelt_status smelt_plan_output_count(const smelt_plan* plan, const char* entry, size_t* count) {
  return port_count(plan, entry, count, &PlanEntry::outputs);
}
smelt_status smelt_plan_input(const smelt_plan* plan, const char* entry, size_t index, smelt_port* out) {
  return describe_port(plan, entry, index, out, &PlanEntry::inputs, &smelt_plan::EntryText::inputs, "input");
}
smelt_status smelt_plan_output(const smelt_plan* plan, const char* entry, size_t index, smelt_port* out) {
  return describe_port(plan, entry, index, out, &PlanEntry::outputs, &smelt_plan::EntryText::outputs,
                       "output");
}

size_t smelt_plan_state_count(const smelt_plan* plan) { return plan ? plan->plan->states.size() : 0; }

smelt_status smelt_plan_state(const smelt_plan* plan, size_t index, smelt_state* out) {
  return guarded([&] {
    const auto& states = required(plan, "the plan")->plan->states;
    check_index("state", index, states.size());
    const State& state = states[index];
    const smelt_state filled{sizeof filled,
                             state.name.c_str(),
                             plan->roles[index].c_str(),
                             static_cast<smelt_dtype>(state.dtype),
                             plan->state_elements[index],
                             state.segments.size()};
    write_struct(*required(out, "state"), filled, "state");
  });
}

smelt_status smelt_plan_segment(const smelt_plan* plan, size_t state, size_t index, smelt_segment* out) {
  return guarded([&] {
    const auto& states = required(plan, "the plan")->plan->states;
    check_index("state", state, states.size());
    check_index("segment", index, states[state].segments.size());
    const Segment& segment = states[state].segments[index];
    const smelt_segment filled{sizeof filled, segment.name.c_str(),
                               static_cast<int32_t>(segment.shape.size()), segment.shape.data(),
                               segment.offset};
    write_struct(*required(out, "segment"), filled, "segment");
  });
}

}  // extern "C"

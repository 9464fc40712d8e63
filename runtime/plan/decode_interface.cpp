#include "runtime/plan/decode_interface.h"

#include <algorithm>
#include <optional>

#include "runtime/plan/plan_refusal.h"

namespace smelt {
namespace {

constexpr const char* kRemedy =
    "compile the model again, or change the entry (runtime/plan/decode_contract.def)";

const Port* find_port(const PlanEntry& entry, const DecodePort& port) {
  const std::vector<Port>& ports = port.is_output() ? entry.outputs : entry.inputs;
  const auto found = std::ranges::find(ports, port.name, &Port::name);
  return found == ports.end() ? nullptr : &*found;
}

/// Checks a plan's entries and states, whose sizes are collected.
class ContractCheck {
 public:
  explicit ContractCheck(const Plan& plan) : plan_(plan), reads_source_(plan.find_entry(entry::encode)) {}

  void check(const EntryContract& contract) {
    const PlanEntry* found = plan_.find_entry(contract.name);
    if (!found) return;
    sizes_.erase(sizes_.begin(), sizes_.lower_bound(Extent::row_pages));
    const bool has_other = std::ranges::count(contract.ports, PortUse::of_source, &DecodePort::use) > 0;
    for (const DecodePort* port : contract.ports)
      if (is_needed(*port, has_other)) check(*found, *port);
    for (const DecodeState* state : contract.states) check(*found, *state);
  }

  const Dim* size(Extent extent) const {
    const auto found = sizes_.find(extent);
    return found == sizes_.end() ? nullptr : &found->second;
  }

 private:
  bool is_needed(const DecodePort& port, bool has_other) const {
    if (port.use == PortUse::of_source) return reads_source_;
    return port.use != PortUse::unread && !(has_other && reads_source_ && port.name == port::input_ids.name);
  }

  std::string expected(DType dtype, const ContractShape& shape, std::string_view meaning) const {
    return fmt::format("{}{} ({}); {}", name(dtype), shape.str(sizes_), meaning, kRemedy);
  }

  void check(const PlanEntry& entry, const DecodePort& port) {
    const std::string_view kind = port.is_output() ? "output" : "input";
    const Port* found = find_port(entry, port);
    if (!found && port.use == PortUse::may_lack) return;
    if (!found)
      refuse("entry '{}' has no {} '{}': expected {}", entry.name, kind, port.name,
             expected(port.dtype, port.shape, port.meaning));
    Extents sizes = sizes_;
    if (found->dtype != port.dtype || !port.shape.matches(found->shape, sizes))
      refuse("entry '{}': its {} '{}' is {}{}; expected {}", entry.name, kind, port.name, name(found->dtype),
             str(found->shape), expected(port.dtype, port.shape, port.meaning));
    sizes_ = std::move(sizes);
  }

  void check(const PlanEntry& entry, const DecodeState& state) {
    const State* found = plan_.find_state(state.name);
    if (!found)
      refuse("entry '{}' has no state '{}': expected {} {}", entry.name, state.name, name(state.role),
             expected(state.dtype, state.shape, state.meaning));
    Extents sizes = sizes_;
    if (found->role != state.role || found->dtype != state.dtype || !state.shape.matches(found->shape, sizes))
      refuse("entry '{}': its state '{}' is {} {}{}; expected {} {}", entry.name, state.name,
             name(found->role), name(found->dtype), str(found->shape), name(state.role),
             expected(state.dtype, state.shape, state.meaning));
    sizes_ = std::move(sizes);
  }

  const Plan& plan_;
  bool reads_source_;
  Extents sizes_;
};

/// Dim of a port that has been checked.
const Dim& dim_of(const Plan& plan, const char* entry, const DecodePort& port, size_t axis) {
  return find_port(*plan.find_entry(entry), port)->shape[axis];
}

std::string symbol_of(const Dim& dim) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  return names.size() == 1 && Dim::symbol(names[0]) == dim ? names[0] : "";
}

/// Positions of the shortest caches of keys and values, [slots,positions,heads,width].
size_t shortest_cache(const Plan& plan, size_t capacity) {
  size_t shortest = capacity;
  for (const State& state : plan.states)
    if (state.role == Role::cache && state.shape.size() == 4)
      shortest = std::min(shortest, static_cast<size_t>(plan.symbols.upper(state.shape[1])));
  return shortest;
}

bool has_all(const Plan& plan, std::initializer_list<const char*> entries) {
  return std::ranges::all_of(entries, [&](const char* name) { return plan.find_entry(name) != nullptr; });
}

bool tiles_prompts_of(const Plan& plan) {
  return has_all(plan, {entry::tiled_pages, entry::next_pages, entry::begin_pages});
}

CacheAddressing addressing_of(const Plan& plan) {
  if (has_all(plan, {entry::mixed_pages, entry::begin_pages}) || tiles_prompts_of(plan))
    return CacheAddressing::pages;
  if (has_all(plan, {entry::read_pages, entry::decode_pages}) &&
      (has_all(plan, {entry::step_pages}) || has_all(plan, {entry::next_pages, entry::begin_pages})))
    return CacheAddressing::pages;
  return has_all(plan, {entry::decode, entry::reorder}) ? CacheAddressing::slots : CacheAddressing::none;
}

size_t upper(const Plan& plan, const Dim* size) {
  return size ? static_cast<size_t>(plan.symbols.upper(*size)) : 0;
}

/// Returns the slots for adapters that a port numbers; 0 if there is no port.
int64_t numbered_slots(const Port* port) {
  if (!port) return 0;
  return port->optional && port->ids ? std::max<int64_t>(port->ids->below, -1) : -1;
}

/// Returns the slots for adapters. All entries that read tokens have the same number of them.
size_t adapter_slots_of(const Plan& plan) {
  std::optional<int64_t> slots;
  for (const EntryContract& contract : decode_contract()) {
    const PlanEntry* entry = plan.find_entry(contract.name);
    if (!entry || std::ranges::count(contract.ports, port::adapters.name, &DecodePort::name) == 0) continue;
    const int64_t own = numbered_slots(find_port(*entry, port::adapters));
    if (own < 0 || own != slots.value_or(own))
      refuse("entry '{}': its input '{}' does not number the slots for adapters as other entries do; {}",
             entry->name, port::adapters.name, kRemedy);
    slots = own;
  }
  return static_cast<size_t>(slots.value_or(0));
}

}  // namespace

DecodeInterface::DecodeInterface(const Plan& plan) : addressing(addressing_of(plan)) {
  if (addressing == CacheAddressing::none) return;
  ContractCheck check(plan);
  for (const EntryContract& contract : decode_contract()) check.check(contract);
  if (!check.size(Extent::vocabulary)->constant())
    refuse("the vocabulary is {}; expected a number; {}", check.size(Extent::vocabulary)->str(), kRemedy);
  vocabulary = upper(plan, check.size(Extent::vocabulary));
  in_pages() ? derive_pages(plan) : derive_rows(plan);
  adapters = adapter_slots_of(plan);
  if (const State* text = plan.find_state(state::text_tokens)) text_capacity = upper(plan, &text->shape[1]);
  source_text_capacity = upper(plan, check.size(Extent::source_capacity));
}

void DecodeInterface::derive_rows(const Plan& plan) {
  reads_source = plan.find_entry(entry::encode) != nullptr;
  if (reads_source && !plan.find_entry(entry::reorder_sources))
    refuse("the plan has an entry '{}' and no entry '{}'; {}", entry::encode, entry::reorder_sources,
           kRemedy);
  const DecodePort& ids = reads_source ? port::decoder_input_ids : port::input_ids;
  const Dim &batch = dim_of(plan, entry::decode, ids, 0), &tokens = dim_of(plan, entry::decode, ids, 1),
            &places = dim_of(plan, entry::reorder, port::places, 0);
  rows = upper(plan, &batch), run_tokens = upper(plan, &tokens), capacity = upper(plan, &places);
  rows_symbol = symbol_of(batch), run_symbol = symbol_of(tokens);
  if (run_symbol.empty())
    refuse("entry '{}': its input '{}' has rows of {} tokens; expected a symbol; {}", entry::decode, ids.name,
           tokens.str(), kRemedy);
  if (tokens != places) addressing = CacheAddressing::rings, ring = shortest_cache(plan, capacity);
  samplers = {.tokens = has_all(plan, {entry::next}),
              .tokens_by_text = has_all(plan, {entry::next_guided}),
              .beams = has_all(plan, {entry::next_beams}),
              .beams_by_text = has_all(plan, {entry::next_beams_guided})};
  if (!reads_source) return;
  const Dim& sources = dim_of(plan, entry::encode, port::input_ids, 1);
  source_capacity = upper(plan, &sources), source_symbol = symbol_of(sources);
  masks_source = find_port(*plan.find_entry(entry::encode), port::attention_mask) != nullptr;
}

void DecodeInterface::derive_pages(const Plan& plan) {
  tiles_prompts = tiles_prompts_of(plan);
  has_next_row = tiles_prompts && has_all(plan, {entry::next_row});
  mixes_rows = tiles_prompts || has_all(plan, {entry::mixed_pages, entry::begin_pages});
  samplers.tokens = mixes_rows || has_all(plan, {entry::next_pages, entry::begin_pages});
  const char* step = tiles_prompts     ? entry::tiled_pages
                     : mixes_rows      ? entry::mixed_pages
                     : samplers.tokens ? entry::next_pages
                                       : entry::step_pages;
  samplers.allowed_tokens = samplers.tokens && plan.find_entry(entry::sample_allowed) &&
                            find_port(*plan.find_entry(step), port::logits_slots);
  const Port& table = *find_port(*plan.find_entry(step), port::pages);
  if (!table.ids || table.ids->below < 1 || !table.shape[1].constant())
    refuse("entry '{}': its input '{}' is no list of numbered pages for each row; {}", step, table.name,
           kRemedy);
  pages = static_cast<size_t>(table.ids->below), row_pages = upper(plan, &table.shape[1]);
  rows = upper(plan, &table.shape[0]);
  if (mixes_rows) {
    run_tokens = upper(plan, &dim_of(plan, step, port::token_ids, 0));
    capacity = upper(plan, &plan.find_state(state::new_tokens)->shape[1]) - 1;
  } else {
    capacity = run_tokens = upper(plan, &dim_of(plan, entry::read_pages, port::input_ids, 1));
  }
}

}  // namespace smelt

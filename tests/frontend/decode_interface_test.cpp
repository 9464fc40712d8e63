// The interface of the entries that each golden's model gets for generation, and the refusal of plans in
// which a port or state of them is missing or different.
#include "runtime/plan/decode_interface.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "frontend/build_transformer.h"
#include "frontend/description.h"
#include "ir/graph/graph.h"
#include "tests/runtime/plan/validation_fault.h"

namespace smelt {
namespace {

using testing::fault_of;

constexpr int64_t kRows = 5, kLength = 12, kSources = 11, kPages = 12, kStepTokens = 30;

/// Returns a plan without steps that has the module's ports and states.
Plan plan_with_ports(const Module& module) {
  Plan plan;
  plan.symbols = module.symbols, plan.states = module.states;
  for (const auto& graph : module.graphs) {
    PlanEntry& entry = plan.entries.emplace_back();
    entry.name = graph->name;
    for (const Node* input : graph->inputs())
      entry.inputs.push_back({.name = input->get(attr::name),
                              .dtype = input->result()->dtype(),
                              .shape = input->result()->shape(),
                              .optional = input->get(attr::optional),
                              .ids = id_range(*input)});
    for (const Graph::Output& output : graph->outputs)
      entry.outputs.push_back(
          {.name = output.name, .dtype = output.value->dtype(), .shape = output.value->shape()});
  }
  return plan;
}

/// The plans of a golden that generates: caches in rows and, for a decoder alone, in pages, whose tokens the
/// host samples or the plan, by runs that mix rows or not.
std::vector<Plan> plans_of(const TransformerSpec& spec) {
  std::vector<Plan> plans;
  const bool both = spec.encoder.layers > 0;
  const struct {
    int64_t pages;
    bool samples;
    int64_t step_tokens = 0;
    bool tiles = false;
  } kinds[] = {{0, false},
               {0, true},
               {kPages, false},
               {kPages, true},
               {kPages, true, kStepTokens},
               {kPages, true, kStepTokens, true}};
  for (const auto& [pages, samples, step_tokens, tiles] : kinds) {
    BuildOptions options{.bounds = {{{"B"}, kRows}, {{"T"}, kLength}}, .training = false};
    options.caches = std::nullopt, options.has_sampler = samples, options.cache_pages = pages;
    options.step_tokens = step_tokens, options.tiles_prompts = tiles;
    if (both) options.bounds.push_back({{"S"}, kSources});
    if (keeps_caches(spec, options) && (pages == 0 || !both))
      plans.push_back(plan_with_ports(*build_transformer(spec, options)));
  }
  return plans;
}

std::vector<Plan> plans_of_goldens() {
  std::vector<Plan> all;
  const auto goldens = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens";
  for (const auto& golden : std::filesystem::directory_iterator(goldens)) {
    if (!std::filesystem::exists(golden.path() / "config.json")) continue;
    for (Plan& plan : plans_of(read_description(golden.path()).spec)) all.push_back(std::move(plan));
  }
  return all;
}

const std::vector<Plan>& plans() {
  static const std::vector<Plan> kPlans = plans_of_goldens();
  return kPlans;
}

std::string refusal(const Plan& plan) {
  return fault_of([&] { DecodeInterface{plan}; });
}

bool needs(const Plan& plan, const DecodePort& port) {
  return port.use != PortUse::unread && !(port.use == PortUse::of_source && !plan.find_entry(entry::encode));
}

TEST(DecodeInterface, HasTheSizesOfEveryGolden) {
  EXPECT_GE(plans().size(), 40U);
  for (const Plan& plan : plans()) {
    const DecodeInterface decode(plan);
    EXPECT_EQ(decode.rows, static_cast<size_t>(kRows));
    EXPECT_EQ(decode.capacity, static_cast<size_t>(kLength));
    EXPECT_EQ(decode.tiles_prompts, plan.find_entry(entry::tiled_pages) != nullptr);
    EXPECT_EQ(decode.mixes_rows, decode.tiles_prompts || plan.find_entry(entry::mixed_pages));
    EXPECT_EQ(decode.in_pages(), decode.mixes_rows || plan.find_entry(entry::decode_pages));
    EXPECT_TRUE(!decode.mixes_rows || decode.run_tokens == static_cast<size_t>(kStepTokens));
    EXPECT_EQ(decode.pages, decode.in_pages() ? kPages : 0);
    EXPECT_EQ(decode.row_pages, decode.in_pages() ? 1U : 0U);
    EXPECT_EQ(decode.reads_source, plan.find_entry(entry::encode) != nullptr);
    EXPECT_EQ(decode.source_capacity, decode.reads_source ? kSources : 0);
    EXPECT_EQ(decode.addressing == CacheAddressing::rings, decode.ring > 0);
    const bool samples =
        decode.mixes_rows || plan.find_entry(entry::next) || plan.find_entry(entry::next_pages);
    EXPECT_EQ(decode.samplers.tokens, samples);
    EXPECT_EQ(decode.samplers.beams_by_text, samples && decode.in_rows());
  }
}

/// Plans with slots for adapters: caches in rows, in pages, and in pages with runs that mix rows.
std::vector<Plan> plans_with_adapters() {
  std::vector<Plan> all;
  const TransformerSpec spec =
      read_description(std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens/gpt2").spec;
  for (const int64_t pages : {int64_t{0}, kPages})
    for (const bool samples : {false, true})
      for (const bool tiles : {false, true}) {
        if (pages == 0 && !samples) continue;  // one entry reads tokens, which no other can contradict
        BuildOptions options{.bounds = {{{"B"}, kRows}, {{"T"}, kLength}}, .training = false};
        options.caches = true, options.has_sampler = samples, options.cache_pages = pages;
        options.step_tokens = kStepTokens, options.tiles_prompts = tiles, options.adapters = 2;
        all.push_back(plan_with_ports(*build_transformer(spec, options)));
      }
  return all;
}

TEST(DecodeInterface, HasTheSlotsForAdaptersOfAllEntries) {
  for (const Plan& plan : plans_with_adapters()) {
    EXPECT_EQ(DecodeInterface(plan).adapters, 2U);
    size_t with_slots = 0;
    for (size_t entry = 0; entry < plan.entries.size(); ++entry) {
      Plan lacks = plan, other = plan;
      std::vector<Port>&ports = lacks.entries[entry].inputs, &others = other.entries[entry].inputs;
      const auto found = std::ranges::find(ports, port::adapters.name, &Port::name);
      if (found == ports.end()) continue;
      ++with_slots;
      std::ranges::find(others, port::adapters.name, &Port::name)->ids->below = 3;
      ports.erase(found);
      for (const Plan& broken : {lacks, other})
        EXPECT_NE(refusal(broken).find("slots for adapters"), std::string::npos);
    }
    EXPECT_GE(with_slots, 2U);
  }
}

/// Each port of each entry in turn: without it, and with one dimension more.
void break_ports(const Plan& plan, const EntryContract& contract, size_t entry) {
  for (const DecodePort* port : contract.ports) {
    Plan broken = plan;
    std::vector<Port>& ports =
        port->is_output() ? broken.entries[entry].outputs : broken.entries[entry].inputs;
    const auto found = std::ranges::find(ports, port->name, &Port::name);
    if (found == ports.end() || !needs(plan, *port)) continue;
    const std::string name = fmt::format("'{}'", port->name), entry_name = fmt::format("'{}'", contract.name);
    found->shape.push_back(7);
    const std::string misshaped = refusal(broken);
    for (const std::string& part : {name, entry_name, str(found->shape)})
      EXPECT_NE(misshaped.find(part), std::string::npos) << part << " in " << misshaped;
    ports.erase(found);
    const std::string missing = refusal(broken);
    if (port->use == PortUse::may_lack) {
      EXPECT_EQ(missing, "accepted");
      continue;
    }
    for (const std::string& part : {name, entry_name, std::string("expected"), std::string(port->meaning)})
      EXPECT_NE(missing.find(part), std::string::npos) << part << " in " << missing;
  }
}

TEST(DecodeInterface, RefusesAPlanWithoutAPort) {
  for (const Plan& plan : plans())
    for (const EntryContract& contract : decode_contract()) {
      const auto entry = std::ranges::find(plan.entries, contract.name, &PlanEntry::name);
      if (entry != plan.entries.end())
        break_ports(plan, contract, static_cast<size_t>(entry - plan.entries.begin()));
    }
}

TEST(DecodeInterface, RefusesAPlanWithoutAState) {
  for (const Plan& plan : plans())
    for (const EntryContract& contract : decode_contract())
      for (const DecodeState* state : contract.states) {
        if (!plan.find_entry(contract.name)) continue;
        Plan broken = plan;
        std::erase_if(broken.states, [&](const State& each) { return each.name == state->name; });
        const std::string fault = refusal(broken);
        EXPECT_NE(fault.find(state->name), std::string::npos) << fault;
      }
}

TEST(DecodeInterface, NamesTheEntryThatIsMissing) {
  for (Plan plan : plans()) {
    if (!plan.find_entry(entry::encode)) continue;
    std::erase_if(plan.entries, [](const PlanEntry& each) { return each.name == entry::reorder_sources; });
    EXPECT_NE(refusal(plan).find("no entry 'reorder_sources'"), std::string::npos) << refusal(plan);
  }
}

/// Entries that only share a name with those of the contract are somebody else's.
TEST(DecodeInterface, LeavesOtherPlansAlone) {
  Plan plan;
  plan.entries.resize(2);
  plan.entries[0].name = entry::decode, plan.entries[1].name = entry::next;
  EXPECT_EQ(DecodeInterface(plan).addressing, CacheAddressing::none);
}

}  // namespace
}  // namespace smelt

#include "compiler/cli/shared/compile_flags.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "compiler/cli/shared/text_table.h"
#include "ir/target.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/cuda/device.h"
#include "runtime/plan/device_kind.h"

namespace smelt::cli {
namespace {

constexpr OptionGroup kEveryCommand[] = {OptionGroup::common, OptionGroup::passes};

/// Prints a note where there is no GPU, so that the user does not expect a GPU's speed.
void say_fallback(const CompileOptions& options) {
  if (options.target == "native" && cuda::device_count() == 0)
    fmt::print(stderr,
               "note: --target=native is the CPU here: there is no GPU that works (smelt doctor says why)\n");
}

/// Returns whether --target names the target of a plan.
bool is_for(const std::string& target, std::string_view plan) {
  return target == "native" || target == plan || target == device_kind(plan).name;
}

/// "{fp32,tf32,bf16,fp16}" or "INT", as the help shows it.
std::string type_name(const CompileOption& option) {
  switch (option.kind) {
    case ValueKind::one_of:
      break;
    case ValueKind::whole:
      return "INT";
    case ValueKind::real:
      return "FLOAT";
    case ValueKind::bytes:
      return "BYTES";
    case ValueKind::list:
      return "NAME,...";
    case ValueKind::bounds:
      return "SYMBOL=SIZE,...";
    default:
      return "TEXT";
  }
  std::string words = option.values;
  std::ranges::replace(words, '|', ',');
  return "{" + words + "}";
}

/// Sets an option of the command line; an Error becomes one of usage.
void set_from_words(const CompileOption& option, CompileOptions& options, const std::string& text) {
  try {
    option.set(options, text);
  } catch (const Error& error) {
    throw CLI::ValidationError(fmt::format("--{}={}", option.name, text), error.what());
  }
}

}  // namespace

CLI::Option* CompileFlags::add_switch(CLI::App& app, const CompileOption& option, const std::string& name,
                                      bool value) {
  const auto set = [this, &option, value](int64_t count) {  // --no-NAME=false leaves the option alone
    if (value || count > 0) option.set(values, (count > 0) == value ? "true" : "false");
  };
  return app.add_flag_function(name, set,
                               value ? std::string(option.help) : fmt::format("--{} as false", option.name));
}

CLI::Option* CompileFlags::add_valued(CLI::App& app, const CompileOption& option, const std::string& name) {
  const auto set = [this, &option](const CLI::results_t& words) {
    set_from_words(option, values, join_list(words));
    return true;
  };
  CLI::Option* added = app.add_option(name, set, std::string(option.help));
  if (is_list(option.kind)) added->expected(1, CLI::detail::expected_max_vector_size)->delimiter(',');
  return added->type_name(type_name(option))->default_str(option.get(values));
}

void CompileFlags::add(CLI::App& app, const CompileOption& option) {
  const std::string name = fmt::format("--{}", option.name);
  CLI::Option* added =
      is_switch(option.kind) ? add_switch(app, option, name, true) : add_valued(app, option, name);
  if (option.group == OptionGroup::passes || option.group == OptionGroup::optimizer)
    added->group(std::string(title(option.group)));
  if (option.kind == ValueKind::toggle)
    add_switch(app, option, fmt::format("--no-{}", option.name), false)->excludes(added);
}

void CompileFlags::add_to(CLI::App& app, std::initializer_list<OptionGroup> groups) {
  command_ = &app, defaults_ = values;
  for (const CompileOption& option : option_table())
    if (llvm::is_contained(kEveryCommand, option.group) || llvm::is_contained(groups, option.group))
      add(app, option);
}

void CompileFlags::add_all_to(CLI::App& app) {
  using enum OptionGroup;
  add_to(app, {entries, mode, inputs, caches, cache_storage, sampling, serving, dropout, trained, optimizer,
               memory, ranks, stage, mesh});
}

void CompileFlags::refuse_for_plan(const std::string& file, std::string_view target,
                                   std::initializer_list<std::string_view> read) const {
  std::vector<std::string> names;
  for (const CompileOption& option : option_table()) {
    const bool is_set = command_->get_option_no_throw(fmt::format("--{}", option.name));
    if (!is_set || llvm::is_contained(read, option.name) || option.get(values) == option.get(defaults_))
      continue;
    if (option.name != "target" || !is_for(values.target, target))
      names.push_back(fmt::format("--{}", option.name));
  }
  if (!names.empty())
    fail(
        "{} is a compiled plan, which {} cannot change: leave the options out, or compile the model again "
        "with them",
        file, fmt::join(names, ", "));
}

CompileOptions CompileFlags::options() const {
  CompileOptions options = checked_options(values, !command_ || command_->get_option_no_throw("--mode"));
  options.passes.print_to = [](std::string_view text) { fmt::print(stderr, "{}\n", text); };
  if (says_fallback) say_fallback(options);
  return options;
}

CompileFlags silent_flags(CompileOptions values) {
  CompileFlags flags;
  flags.values = std::move(values);
  flags.says_memory = flags.says_fallback = false;
  return flags;
}

bool default_bound(std::vector<Symbols::Bound>& bounds, std::string_view symbol, int64_t upper) {
  const auto is_it = [&](const Symbols::Bound& b) { return b.factors.size() == 1 && b.factors[0] == symbol; };
  if (std::ranges::any_of(bounds, is_it)) return false;
  bounds.push_back({{std::string(symbol)}, upper});
  return true;
}

void DefaultBounds::add(std::vector<Symbols::Bound>& bounds, std::string_view symbol, int64_t upper,
                        std::string option) {
  if (default_bound(bounds, symbol, upper)) set_.emplace_back(symbol, std::move(option));
}

std::string DefaultBounds::text() const {
  std::vector<std::string> parts;
  for (const auto& [symbol, option] : set_)
    parts.push_back(fmt::format("{} {}by {}", symbol, parts.empty() ? "is set " : "", option));
  return fmt::format("{}", fmt::join(parts, ", "));
}

namespace {

std::string schedule_text(const Schedule& s) {
  return fmt::format("{} of {} threads, {} x {} elements, {} in flight", s.team, s.threads,
                     std::max(1, s.vectors), s.vector_width, s.unroll);
}

void print_tuned(const std::vector<TunedKernel>& tuned) {
  if (tuned.empty()) return;
  TextTable table({"kernel", "tried", "default us", "taken us", "schedule taken"});
  const auto microseconds = [](double seconds) {
    return seconds > 0 ? fmt::format("{:.1f}", seconds * 1e6) : "";
  };
  for (const TunedKernel& kernel : tuned)
    table.add({kernel.name, kernel.tried > 0 ? fmt::format("{}", kernel.tried) : "known",
               microseconds(kernel.first_seconds), microseconds(kernel.seconds),
               schedule_text(kernel.schedule)});
  fmt::print(stderr, "{}\n", table.text());
}

}  // namespace

void print_timing(const Compilation& compilation) {
  double total = 0;
  TextTable table({"phase", "ms"});
  for (const auto& [phase, seconds] : compilation.seconds) {
    table.add({phase, fmt::format("{:.1f}", seconds * 1e3)});
    total += seconds;
  }
  table.add({"total", fmt::format("{:.1f}", total * 1e3)});
  fmt::print(stderr, "{}\n{}", table.text(), compilation.pass_timing);
  print_tuned(compilation.tuned);
}

}  // namespace smelt::cli

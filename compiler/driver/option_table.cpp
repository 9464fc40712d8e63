#include "compiler/driver/option_table.h"

#include <algorithm>
#include <cctype>

#include "ir/text/names.h"
#include "llvm/ADT/StringRef.h"

namespace smelt {
namespace {

template <typename Form, typename Member>
CompileOption make_option(std::string_view name, OptionGroup group, std::string_view help, Form form,
                          Member member) {
  const auto set = [=](CompileOptions& options, std::string_view text) {
    if constexpr (requires { form.set(options, text); })
      form.set(options, text);
    else
      form.parse(text, member(options));
  };
  const auto get = [=](const CompileOptions& options) -> std::string {
    if constexpr (requires { form.get(options); })
      return form.get(options);
    else
      return form.text(member(options));
  };
  return {name, group, Form::kKind, form.values(), help, set, get};
}

std::string with_dashes(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', '-');
  return text;
}

std::vector<std::string> names_as(OptionSpelling spelling) {
  std::vector<std::string> names;
  for (const CompileOption& option : option_table()) {
    names.emplace_back(option.name);
    if (spelling == OptionSpelling::python) std::ranges::replace(names.back(), '-', '_');
  }
  return names;
}

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-'; }

/// Returns "--NAME" or "--NAME=" in another spelling.
std::string word_as(std::string_view name, bool has_value, OptionSpelling spelling) {
  const bool is_off = name.starts_with("no-") && !find_option(name);
  const CompileOption* option = find_option(is_off ? name.substr(3) : name);
  if (!option) return fmt::format("--{}{}", name, has_value ? "=" : "");
  if (!is_switch(option->kind) || has_value) return spelled(option->name, spelling);
  if (spelling == OptionSpelling::c) return std::string(name);
  return spelled(option->name, spelling) + (is_off ? "False" : "True");
}

[[noreturn]] void fail_unknown(std::string_view name, OptionSpelling spelling) {
  if (const std::string renamed = renamed_option(name, spelling); !renamed.empty()) fail("{}", renamed);
  fail("compile has no option {}{}", name, did_you_mean(name, names_as(spelling)));
}

}  // namespace

std::string_view title(OptionGroup group) {
  switch (group) {
    case OptionGroup::common:
    case OptionGroup::entries:
    case OptionGroup::mode:
      return "Plan";
    case OptionGroup::inputs:
      return "Inputs and outputs";
    case OptionGroup::caches:
    case OptionGroup::cache_storage:
    case OptionGroup::sampling:
    case OptionGroup::serving:
      return "Generation";
    case OptionGroup::dropout:
    case OptionGroup::trained:
      return "Training";
    case OptionGroup::optimizer:
      return "Optimiser";
    case OptionGroup::memory:
      return "Memory";
    case OptionGroup::ranks:
    case OptionGroup::stage:
    case OptionGroup::mesh:
      return "Several ranks";
    case OptionGroup::passes:
      return "Passes";
  }
  return {};
}

const std::vector<CompileOption>& option_table() {
  static const std::vector<CompileOption> table = {
#define SMELT_COMPILE_OPTION(name, member, form, group, effect, help) \
  make_option(name, OptionGroup::group, help, form, [](auto& options) -> auto& { return options.member; }),
#include "compiler/compile_options.def"
  };
  return table;
}

const CompileOption* find_option(std::string_view name) {
  const auto found = std::ranges::find(option_table(), with_dashes(name), &CompileOption::name);
  return found == option_table().end() ? nullptr : &*found;
}

CompileOptions default_options() {
  CompileOptions options;
  options.build.caches.reset();
  options.training.optimizer.weight_decay = 0.01;
  return options;
}

std::string spelled(std::string_view name, OptionSpelling spelling) {
  if (spelling == OptionSpelling::command_line) return fmt::format("--{}", name);
  std::string text = fmt::format("{}=", name);
  if (spelling == OptionSpelling::python) std::ranges::replace(text, '-', '_');
  return text;
}

std::string respelled(std::string_view message, OptionSpelling spelling) {
  std::string text;
  for (size_t at = 0; at < message.size();) {
    const size_t option = std::min(message.find("--", at), message.size());
    text += message.substr(at, option - at);
    if (option == message.size()) break;
    if (option > 0 && message[option - 1] != ' ' && message[option - 1] != '(') {  // part of a name or a path
      text += "--", at = option + 2;
      continue;
    }
    const auto* end = std::find_if_not(message.begin() + option + 2, message.end(), is_name);
    const std::string_view name(message.begin() + option + 2, end);
    const bool has_value = end != message.end() && *end == '=';
    text += word_as(name, has_value, spelling);
    at = static_cast<size_t>(end - message.begin()) + (has_value ? 1 : 0);
  }
  return text;
}

void set_option(CompileOptions& options, std::string_view name, std::string_view text,
                OptionSpelling spelling) {
  const CompileOption* option = find_option(name);
  const bool is_off = !option && with_dashes(name).starts_with("no-");
  if (is_off) option = find_option(name.substr(3));
  if (!option || (is_off && option->kind != ValueKind::toggle)) fail_unknown(name, spelling);
  try {
    if (!is_off || parse_flag(text)) option->set(options, is_off ? "false" : text);
  } catch (const Error& error) {
    const char* equals = spelling == OptionSpelling::command_line ? "=" : "";
    fail("{}{}{}: {}", spelled(option->name, spelling), equals, text, error.what());
  }
}

std::string_view new_name(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
#define SMELT_RENAMED_OPTION(before, name) {before, name},
#include "compiler/compile_options.def"
  };
  for (const auto& [before, now] : kRenamed)
    if (with_dashes(name) == before) return now;
  return {};
}

std::string renamed_option(std::string_view name, OptionSpelling spelling) {
  const std::string_view now = new_name(name);
  if (now.empty()) return {};
  return fmt::format("{} is now {}", spelled(with_dashes(name), spelling), spelled(now, spelling));
}

}  // namespace smelt

// Programs as text: symbols, states, buffers, kernels, then each entry's steps. #3[offset] is a place in
// buffer 3.
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/program/program.h"
#include "ir/text/gemm_step_fields.h"
#include "ir/text/lexer.h"
#include "ir/text/text_writer.h"
#include "runtime/plan/plan_fields.h"
#include "runtime/plan/step_pattern.h"

namespace smelt {
namespace {

std::string str(const BufferRef& ref) {
  return ref.offset.is_zero() ? fmt::format("#{}", ref.buffer)
                              : fmt::format("#{}[{}]", ref.buffer, ref.offset.str());
}

std::string list_of(const std::vector<Dim>& strides) {
  std::vector<std::string> list;
  list.reserve(strides.size());
  for (const Dim& stride : strides) list.push_back(stride.str());
  return fmt::format("({})", fmt::join(list, ", "));
}

/// Fields of steps as text.
struct FieldText {
  using Name = std::string_view;
  std::string operator()(Name, const BufferRef& ref, const auto&) const { return str(ref); }
  std::string operator()(Name, const Dim& size, const auto&) const { return size.str(); }
  std::string operator()(Name, int number, const auto&) const { return std::to_string(number); }
  std::string operator()(Name, double number, const auto&) const { return text(number); }
  std::string operator()(Name, const std::string& word, const auto&) const { return bare_or_quoted(word); }
  std::string operator()(Name flag, bool set, const auto&) const {
    return set ? fmt::format(" {}", flag) : "";
  }
  std::string operator()(Name, const Shape& extents, const role::Extent&) const {
    return smelt::str(extents);
  }
  std::string operator()(Name, const std::vector<Dim>& strides, const role::Stride&) const {
    return list_of(strides);
  }
  std::string operator()(Name, const std::optional<BufferRef>& ref, const auto&) const { return str(*ref); }
  template <typename Workspace>
  std::string operator()(Name, const std::optional<Workspace>& workspace, const auto&) const {
    return fmt::format("{} of {}", str(workspace->base), workspace->elements.str());
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  std::string operator()(Name, Enum value, const auto&) const {
    return std::string(name(value));
  }

  static std::string in_braces(bool value) { return value ? "true" : "false"; }
  static std::string in_braces(const std::optional<BufferRef>& value) { return str(*value); }
  std::string in_braces(const auto& value) const { return (*this)("", value, role::scalar); }
};

class ProgramPrinter {
 public:
  explicit ProgramPrinter(const Program& program) : p_(program) {}

  std::string print() const {
    std::string result = text(p_.symbols);
    if (!p_.mesh.empty()) result += fmt::format("mesh {{{}}}\n", smelt::str(p_.mesh));
    if (!p_.description.empty()) result += fmt::format("description {}\n", quote(p_.description));
    for (const State& state : p_.states) result += text(state);
    for (size_t i = 0; i < p_.buffers.size(); ++i) result += text(p_.buffers[i], i);
    for (const Kernel& kernel : p_.kernels) result += (result.empty() ? "" : "\n") + smelt::print(kernel);
    for (const PlanEntry& entry : p_.entries) result += (result.empty() ? "" : "\n") + this->entry(entry);
    return result;
  }

 private:
  std::string entry(const PlanEntry& entry) const {
    Fields fields;
    if (entry.arena_bytes != 0) fields.add("arena", std::to_string(entry.arena_bytes));
    std::string text = fmt::format("entry @{}{} {{\n", bare_or_quoted(entry.name), fields.str());
    for (const Port& port : entry.inputs) text += "  input " + this->port(port);
    for (const Port& port : entry.outputs) text += "  output " + this->port(port);
    for (const Choice& choice : entry.choices) text += "  choice " + this->choice(choice) + "\n";
    for (const Step& step : entry.steps) text += "  " + this->step(step);
    return text + "}\n";
  }

  static std::string choice(const Choice& choice) {
    std::string names = text(choice.alternatives);
    if (!choice.last_where) return names;
    return fmt::format("{} {{last_where = {} < {}}}", names, choice.last_where->value.str(),
                       choice.last_where->below);
  }

  static std::string port(const Port& port) {
    Fields fields;
    if (port.optional) fields.add("fill", text(Attribute(port.fill)));
    if (port.ids) fields.add("below", std::to_string(port.ids->below));
    if (port.ids && port.ids->ignored) fields.add("ignored", std::to_string(*port.ids->ignored));
    if (port.ids && port.ids->least != 0) fields.add("least", std::to_string(port.ids->least));
    return fmt::format("{}{} : {}{} = #{}\n", quote(port.name), fields.str(), name(port.dtype),
                       smelt::str(port.shape), port.buffer);
  }

  std::string step(const Step& step) const {
    Fields fields;
    if (!step.phase.empty()) fields.add("phase", quote(step.phase));
    if (step.recomputed) fields.add("recomputed", "true");
    if (!step.sources.empty()) fields.add("sources", text(step.sources));
    if (!step.reads.empty()) fields.add("reads", fmt::format("[{}]", fmt::join(step.reads, ", ")));
    if (!step.writes.empty()) fields.add("writes", fmt::format("[{}]", fmt::join(step.writes, ", ")));
    std::vector<std::string> pairs;
    pairs.reserve(step.may_alias.size());
    for (const auto& [written, read] : step.may_alias)
      pairs.push_back(fmt::format("[{}, {}]", written, read));
    if (step.choice >= 0) fields.add("choice", fmt::format("[{}, {}]", step.choice, step.alternative));
    if (!pairs.empty()) fields.add("may_alias", fmt::format("[{}]", fmt::join(pairs, ", ")));
    const auto line = [this]<typename Kind>(const Kind& each) {
      return fmt::format("{} {}", StepKind<Kind>::keyword, what(each));
    };
    return std::visit(line, step.what) + fields.str() + "\n";
  }

  // ---- the rest of a step's line after its keyword

  std::string what(const KernelStep& s) const {
    std::vector<std::string> arguments;
    arguments.reserve(s.arguments.size());
    for (const BufferRef& ref : s.arguments) arguments.push_back(str(ref));
    std::string text = fmt::format("{}({})", kernel_name(s.kernel), fmt::join(arguments, ", "));
    if (!s.random_ids.empty()) text += fmt::format(" ids [{}]", fmt::join(s.random_ids, ", "));
    for (const RandomPart& of : s.random_parts)
      text += fmt::format(" part {} of {}", of.part.str(), of.parts.str());
    return text;
  }

  /// By name where that is one kernel's alone.
  std::string kernel_name(int index) const {
    if (index < 0 || index >= static_cast<int>(p_.kernels.size())) return std::to_string(index);
    const std::string& name = p_.kernels[index].name;
    const auto same = [&](const Kernel& other) { return other.name == name; };
    const bool alone = std::count_if(p_.kernels.begin(), p_.kernels.end(), same) == 1;
    return alone ? "@" + bare_or_quoted(name) : std::to_string(index);
  }

  std::string what(const GemmStep& s) const {
    const auto matrix = [](const GemmStep::Matrix& m) {
      return str(m.base) + list_of({m.row_stride, m.column_stride});
    };
    GemmStep usual;
    usual.m = usual.n = usual.k = -1;  // sizes are always printed
    usual.dtype = usual.result_dtype = s.dtype;
    std::string line = fmt::format("{} {} = {} * {}", name(s.dtype), matrix(s.c), matrix(s.a), matrix(s.b)) +
                       unusual(s, usual, [](const auto& visit) { visit_gemm_step_fields(visit); });
    for (const GemmStep::Batch& batch : s.batch)
      line += " batch" + unusual(batch, GemmStep::Batch{-1, -1, -1, -1},
                                 [](const auto& visit) { visit_gemm_batch_fields(visit); });
    return line;
  }

  /// Fields that differ from those of `usual`, in braces.
  template <typename T, typename VisitFields>
  static std::string unusual(const T& step, const T& usual, const VisitFields& visit_fields) {
    Fields fields;
    visit_fields([&](const char* word, auto member) {
      if (step.*member != usual.*member) fields.add(word, FieldText().in_braces(step.*member));
    });
    return fields.str();
  }

  template <typename Kind>
  std::string what(const Kind& s) const {
    return print_pattern(StepKind<Kind>::text, s, FieldText());
  }

  const Program& p_;
};

}  // namespace

std::string print(const Program& program) { return ProgramPrinter(program).print(); }

}  // namespace smelt

// Programs as text: symbols, states, buffers, kernels, then each entry's steps. #3[offset] is a place in
// buffer 3.
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/program.h"
#include "ir/text/lexer.h"
#include "ir/text/text_writer.h"
#include "runtime/plan/plan_fields.h"

namespace smelt {
namespace {

std::string str(const BufferRef& ref) {
  return ref.offset.is_zero() ? fmt::format("#{}", ref.buffer)
                              : fmt::format("#{}[{}]", ref.buffer, ref.offset.str());
}

std::string strided(const BufferRef& ref, const std::vector<Dim>& strides) {
  std::vector<std::string> list;
  list.reserve(strides.size());
  for (const Dim& stride : strides) list.push_back(stride.str());
  return fmt::format("{}({})", str(ref), fmt::join(list, ", "));
}

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

  // ---- one a kind of step: what follows its keyword

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
      return strided(m.base, {m.row_stride, m.column_stride});
    };
    Fields fields;
    fields.add("m", s.m.str());
    fields.add("n", s.n.str());
    fields.add("k", s.k.str());
    if (s.alpha != 1) fields.add("alpha", text(s.alpha));
    if (s.beta != 0) fields.add("beta", text(s.beta));
    if (s.bias) fields.add("bias", str(*s.bias));
    if (s.tf32) fields.add("tf32", "true");
    if (s.result_dtype != s.dtype) fields.add("result", std::string(name(s.result_dtype)));
    if (s.a_i8) fields.add("a_i8", "true");
    if (s.b_i8) fields.add("b_i8", "true");
    std::string line =
        fmt::format("{} {} = {} * {}{}", name(s.dtype), matrix(s.c), matrix(s.a), matrix(s.b), fields.str());
    for (const GemmStep::Batch& batch : s.batch) line += this->batch(batch);
    return line;
  }

  static std::string batch(const GemmStep::Batch& batch) {
    Fields fields;
    fields.add("extent", batch.extent.str());
    fields.add("a", batch.a_stride.str());
    fields.add("b", batch.b_stride.str());
    fields.add("c", batch.c_stride.str());
    if (batch.reduced) fields.add("reduced", "true");
    return " batch" + fields.str();
  }

  std::string what(const SortIndexStep& s) const {
    std::string line = fmt::format("{} -> {}, {} of {} below {}", str(s.indices), str(s.permutation),
                                   str(s.begins), s.count.str(), s.rows.str());
    if (!s.workspace) return line;
    return fmt::format("{} by {} of {}", line, str(s.workspace->base), s.workspace->elements.str());
  }

  std::string what(const ScanStep& s) const {
    return fmt::format(
        "{} {}{} {} = {} of {} x {} x {}", bare_or_quoted(s.kind), s.exclusive ? "exclusive " : "",
        name(s.dtype), strided(s.y, {s.y_outer_stride, s.y_stride}),
        strided(s.x, {s.x_outer_stride, s.x_stride}), s.outer.str(), s.count.str(), s.inner.str());
  }

  std::string what(const TopKStep& s) const {
    return fmt::format("{} -> {}, {} of {} x {}", strided(s.x, {s.row_stride}), str(s.values), str(s.indices),
                       s.rows.str(), s.count.str()) +
           fmt::format(" by {}", s.k.str());
  }

  std::string what(const SampleStep& s) const {
    return fmt::format("{}, {}, {} -> {}, {} of {} x {}", strided(s.scores, {s.row_stride}),
                       strided(s.numbers, {s.numbers_stride}), strided(s.integers, {s.integers_stride}),
                       str(s.tokens), str(s.log_probabilities), s.rows.str(), s.count.str());
  }

  std::string what(const CopyStep& s) const {
    return fmt::format("{}{} {} = {}{}", name(s.dtype), smelt::str(s.extents), strided(s.to, s.to_strides),
                       strided(s.from, s.from_strides), until(s.waited_at));
  }

  std::string what(const FillStep& s) const {
    return fmt::format("{} = {} of {}", str(s.to), text(s.value), s.elements.str());
  }

  std::string what(const CollectiveStep& s) const {
    const bool one = s.rows.is_one();
    return fmt::format("{}{} {} {} = {} of {} over {} x {}{}{}", smelt::name(s.kind),
                       is_sum(s.kind) ? fmt::format(" {}", smelt::name(s.sum)) : "", smelt::name(s.dtype),
                       one ? str(s.to) : strided(s.to, {s.to_stride}),
                       one ? str(s.from) : strided(s.from, {s.from_stride}), s.elements.str(),
                       bare_or_quoted(s.axis), s.ranks.str(), one ? "" : " rows " + s.rows.str(),
                       until(s.waited_at));
  }

  static std::string until(int waited_at) { return waited_at < 0 ? "" : fmt::format(" until {}", waited_at); }

  const Program& p_;
};

}  // namespace

std::string print(const Program& program) { return ProgramPrinter(program).print(); }

}  // namespace smelt

#include "ir/program_verifier.h"

#include <fmt/format.h>

#include "ir/analysis/step_refs.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/plan/plan_validate.h"

namespace smelt {
namespace {

bool is_number_of(int64_t number, size_t count) {
  return number >= 0 && number < static_cast<int64_t>(count);
}

class KernelVerifier {
 public:
  explicit KernelVerifier(const Kernel& kernel) : kernel_(kernel), defined_(kernel.instructions.size()) {}

  std::vector<std::string> run() {
    for (const KernelBlock& block : kernel_.blocks)
      for (const int id : block.instructions) check_listed(id);
    for (const std::vector<Kernel>* others : {&kernel_.before, &kernel_.beside, &kernel_.tail})
      for (const Kernel& other : *others)
        for (std::string& message : verify(other)) messages_.push_back(std::move(message));
    return std::move(messages_);
  }

 private:
  template <typename... Args>
  void fault(int id, fmt::format_string<Args...> text, Args&&... args) {
    messages_.push_back(
        fmt::format("kernel @{}, %{}: {}", kernel_.name, id, fmt::format(text, std::forward<Args>(args)...)));
  }

  void check_listed(int id) {
    if (!is_number_of(id, defined_.size())) return fault(id, "expected one of {}", defined_.size());
    if (defined_[static_cast<size_t>(id)]) return fault(id, "stands in two blocks");
    check(id, kernel_.instructions[static_cast<size_t>(id)]);
    defined_[static_cast<size_t>(id)] = true;
  }

  void check(int id, const Instruction& instruction) {
    using Kind = Instruction::Kind;
    for (const int operand : instruction.operands) check_operand(id, operand);
    if (instruction.predicate >= 0) check_operand(id, instruction.predicate);
    const bool has_access = instruction.kind == Kind::load || instruction.kind == Kind::store ||
                            instruction.kind == Kind::accumulate;
    if (!has_access) return;
    if (!is_number_of(instruction.access.param, kernel_.params.size()))
      fault(id, "accesses parameter {} of {}", instruction.access.param, kernel_.params.size());
    if (instruction.access.computed >= 0) check_operand(id, instruction.access.computed);
  }

  void check_operand(int id, int operand) {
    if (!is_number_of(operand, defined_.size()))
      fault(id, "reads %{} of {}", operand, defined_.size());
    else if (!defined_[static_cast<size_t>(operand)])
      fault(id, "reads %{} before it is defined", operand);
  }

  const Kernel& kernel_;
  std::vector<bool> defined_;
  std::vector<std::string> messages_;
};

class ProgramVerifier {
 public:
  explicit ProgramVerifier(const Program& program) : program_(program) {}

  std::vector<std::string> run() {
    for (const Kernel& kernel : program_.kernels)
      for (std::string& message : verify(kernel)) messages_.push_back(std::move(message));
    for (const Buffer& buffer : program_.buffers)
      if (buffer.state >= 0 && !is_number_of(buffer.state, program_.states.size()))
        messages_.push_back(
            fmt::format("buffer '{}': state {} of {}", buffer.name, buffer.state, program_.states.size()));
    for (const PlanEntry& entry : program_.entries) check_entry(entry);
    return std::move(messages_);
  }

 private:
  void check_entry(const PlanEntry& entry) {
    for (const auto* ports : {&entry.inputs, &entry.outputs})
      for (const Port& port : *ports)
        check_buffer(port.buffer, fmt::format("entry @{}, port \"{}\"", entry.name, port.name));
    for (size_t i = 0; i < entry.steps.size(); ++i)
      check_step(entry, entry.steps[i], static_cast<int>(i), describe_step(entry, i));
  }

  void check_buffer(int number, const std::string& place) {
    if (!is_number_of(number, program_.buffers.size()))
      messages_.push_back(fmt::format("{}: buffer {} of {}", place, number, program_.buffers.size()));
  }

  void check_step(const PlanEntry& entry, const Step& step, int number, const std::string& place) {
    for (const auto* buffers : {&step.reads, &step.writes})
      for (const int buffer : *buffers) check_buffer(buffer, place);
    Step copy = step;
    for_each_ref(copy, [&](BufferRef& ref) { check_ref(step, ref.buffer, place); });
    if (step.choice >= 0 && !is_number_of(step.choice, entry.choices.size()))
      messages_.push_back(fmt::format("{}: choice {} of {}", place, step.choice, entry.choices.size()));
    const int waited = waited_at(step);
    if (waited != -1 && (waited <= number || waited > static_cast<int>(entry.steps.size())))
      messages_.push_back(fmt::format("{}: step {} waits for it", place, waited));
    if (const auto* launch = std::get_if<KernelStep>(&step.what)) check_launch(*launch, place);
  }

  void check_ref(const Step& step, int buffer, const std::string& place) {
    if (buffer < 0) return;
    check_buffer(buffer, place);
    if (!llvm::is_contained(step.reads, buffer) && !llvm::is_contained(step.writes, buffer))
      messages_.push_back(fmt::format("{}: buffer {} is neither read nor written", place, buffer));
  }

  void check_launch(const KernelStep& launch, const std::string& place) {
    if (!is_number_of(launch.kernel, program_.kernels.size())) {
      messages_.push_back(fmt::format("{}: kernel {} of {}", place, launch.kernel, program_.kernels.size()));
      return;
    }
    const size_t expected = program_.kernels[static_cast<size_t>(launch.kernel)].arguments();
    if (launch.arguments.size() != expected)
      messages_.push_back(
          fmt::format("{}: {} arguments, expected {}", place, launch.arguments.size(), expected));
  }

  const Program& program_;
  std::vector<std::string> messages_;
};

}  // namespace

std::vector<std::string> verify(const Kernel& kernel) { return KernelVerifier(kernel).run(); }
std::vector<std::string> verify(const Program& program) { return ProgramVerifier(program).run(); }

}  // namespace smelt

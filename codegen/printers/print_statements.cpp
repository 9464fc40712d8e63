#include "codegen/printers/print_statements.h"

#include "codegen/printers/code_text.h"
#include "codegen/printers/print_expression.h"

namespace smelt {
namespace {

using gpu::Assignment;

/// The end of the name of sm_load or sm_store.
std::string form_of(const gpu::VectorAccess& x) {
  constexpr const char* kAligned[] = {"false", "true", "aligned"};
  const char* const aligned = kAligned[static_cast<size_t>(x.aligned)];
  return x.last == 0 ? fmt::format("<{}>", aligned) : fmt::format("_end<{}, {}>", aligned, x.last);
}

class StatementPrinter {
 public:
  StatementPrinter(const Language& language, size_t depth) : language_(language) {
    for (size_t i = 0; i < depth; ++i) out.indent();
  }
  void print_all(const gpu::Body& body) {
    for (const gpu::Statement& statement : body) std::visit(*this, statement.as);
  }

  void operator()(const gpu::Declaration& x) {
    out.line("{};{}", declaration_text(x), x.comment.empty() ? "" : "  // " + x.comment);
  }
  void operator()(const Assignment& x) { out.line("{};", assignment_text(x)); }
  void operator()(const gpu::Call& x) { out.line("{};", text(x.call)); }
  void operator()(const gpu::Store& x) { out.line("sm_put({}, {});", text(x.element), text(x.value)); }
  void operator()(const gpu::VectorAccess& x) {
    const std::string registers = text(x.registers), address = text(x.address);
    if (x.lane)
      return out.line("sm_store_shifted({}, {}, {}, {});", address, registers, text(x.count), text(x.lane));
    out.line("sm_{}{}({}, {}, {});", x.store ? "store" : "load", form_of(x), x.store ? address : registers,
             x.store ? registers : address, text(x.count));
  }
  void operator()(const gpu::Combination& x) {
    const ReduceOpInfo& row = info(x.op);
    const std::string_view patterns[] = {row.cuda_combine, row.cuda_combine_vector, row.cuda_combine_lanes};
    std::vector<std::string> operands = operand_texts(language_, x.state);
    const std::vector<std::string> others = operand_texts(language_, x.others);
    operands.insert(operands.end(), others.begin(), others.end());
    out.line("{}", fill_pattern(patterns[static_cast<size_t>(x.with)], operands,
                                {{"fast", fmt::format("{}", x.fast)},
                                 {"lanes", fmt::format("{}", x.lanes)},
                                 {"vector", others.back()},
                                 {"mask", others.back()}}));
  }
  void operator()(const gpu::Loop& x) {
    if (x.unroll == gpu::Loop::kWholly) out.pragma_unroll();
    if (x.unroll > 0) out.pragma_unroll(x.unroll);
    if (x.step)
      out.open("for ({}; {}; {})", x.variable ? declaration_text(*x.variable) : "", text(x.condition),
               step_text(*x.step));
    else
      out.open("while ({})", text(x.condition));
    print_all(*x.body);
    out.close();
  }
  void operator()(const gpu::Branch& x) {
    out.open("if ({})", text(x.condition));
    print_all(*x.body);
    out.close();
  }
  void operator()(const gpu::Scope& x) {
    out.open("");
    print_all(*x.body);
    out.close();
  }
  void operator()(const gpu::Barrier& x) {
    if (x.of == gpu::Barrier::Of::block) return out.line("__syncthreads();");
    if (x.of == gpu::Barrier::Of::warp) return out.line("{}({});", language_.lanes_barrier, text(x.mask));
    out.line("sm_barrier({}, {});", text(x.group), x.threads);
  }
  void operator()(const gpu::Jump& x) { out.line("{};", x.next_iteration ? "continue" : "return"); }

  CodeText out;

 private:
  std::string text(const gpu::Expr& expression) const { return print(language_, expression); }

  std::string assignment_text(const Assignment& x) const {
    constexpr const char* kOps[] = {"=", "+=", "/=", "^=", "|="};
    return fmt::format("{} {} {}", text(x.target), kOps[static_cast<size_t>(x.op)], text(x.value));
  }

  /// i += 1 is ++i.
  std::string step_text(const Assignment& step) const {
    const bool by_one = step.op == Assignment::Op::add && text(step.value) == "1";
    return by_one ? "++" + text(step.target) : assignment_text(step);
  }

  std::string declaration_text(const gpu::Declaration& x) const {
    std::string type = type_text(x.type),
                line = x.alignment > 0 ? fmt::format("alignas({}) ", x.alignment) : "";
    if (x.constant && x.type.pointer) type += " const";
    line += fmt::format("{}{} {}", x.constant && !x.type.pointer ? "const " : "", type, x.name);
    for (const int64_t extent : x.extents) line += fmt::format("[{}]", extent);
    if (x.value) line += " = " + text(x.value);
    return line + (x.zero ? " = {}" : "");
  }

  const Language& language_;
};

}  // namespace

std::string print(const Language& language, const gpu::Body& body, size_t depth) {
  StatementPrinter printer(language, depth);
  printer.print_all(body);
  return printer.out.text();
}

}  // namespace smelt

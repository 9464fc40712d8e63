#include "codegen/cuda/printers/address_printer.h"

#include "llvm/ADT/STLExtras.h"

namespace smelt {

void AddressPrinter::declare_starts(const BlockNest& nest) {
  starts_.clear(), start_names_.clear();
  for (int id : nest.block->instructions)
    if (nest.in_vectors(id) && c_.instruction(id).access.param >= 0) starts_[id] = start_of_lanes(id);
}

/// An index that all accesses with the same strides share takes one register and not two for each of them.
std::string AddressPrinter::start_of_lanes(int id) {
  const Accumulation how = c_.shape.accumulation(id);
  const bool sum_in_register =
      c_.instruction(id).kind == Instruction::Kind::accumulate &&
      (how == Accumulation::scalar || (how == Accumulation::column && c_.vectors > 0));
  if (sum_in_register) return "";
  const std::string text = index(id, false);
  if (text == "0") return "";
  auto [found, fresh] = start_names_.try_emplace(text, fmt::format("at{}", id));
  if (fresh) c_.out.line("const Index at{} = {};", id, text);
  return found->second;
}

/// Returns the index at the current indices; without the terms of the inner axis it is the start of all
/// lanes.
std::string AddressPrinter::index(int id, bool with_inner) const {
  const Access& access = c_.instruction(id).access;
  std::string text = c_.index_sum(access.offset, access.strides, with_inner ? -1 : c_.shape.inner);
  if (access.computed >= 0 && (with_inner || !c_.shape.moves(access.computed, c_.shape.inner))) {
    const std::string computed = "(Index)" + operand_text(c_.index_text(access.computed));
    text = c_.names.sum(0, {{text, 1}, {computed, access.computed_stride}});
  }
  return text;
}

std::string AddressPrinter::slice(int param) const {
  return fmt::format("{} + (long long)blockIdx.x * {}", c_.names.params()[param],
                     c_.dim(c_.kernel.params[param].partial_elements));
}

std::string AddressPrinter::array(int id) const {
  const int number = c_.instruction(id).access.param;
  return c_.kernel.params[number].partial ? "(" + slice(number) + ")" : c_.names.params()[number];
}

std::string AddressPrinter::vector(int id) const {
  const std::string& start = starts_.at(id);
  return start.empty() ? array(id) + " + c" : fmt::format("{} + ({} + c)", array(id), start);
}

std::string AddressPrinter::vector_without_start(int id) const {
  return fmt::format("{} + ({} + c)", array(id), index(id, false));
}

std::string AddressPrinter::element(int id) const {
  if (!c_.place.in_lanes) return fmt::format("{}[{}]", array(id), index(id, true));
  const Access& access = c_.instruction(id).access;
  const int inner = c_.shape.inner;
  std::vector<CudaNames::Term> terms;
  if (!starts_.at(id).empty()) terms.emplace_back(starts_.at(id), 1);
  if (inner >= 0 && inner < static_cast<int>(access.strides.size()))
    terms.emplace_back(c_.place.indices[inner], access.strides[inner]);
  if (access.computed >= 0 && c_.shape.moves(access.computed, inner))
    terms.emplace_back("(Index)" + operand_text(c_.index_text(access.computed)), access.computed_stride);
  return fmt::format("{}[{}]", array(id), c_.names.sum(0, terms));
}

// ---- alignment

/// Notes what `sometimes` depends on.
VectorAlignment::When AddressPrinter::alignment(int id) {
  const VectorAlignment alignment = vector_alignment(c_.kernel, c_.shape, id);
  for (const VectorAlignment::Condition& condition : alignment.conditions) {
    const std::string text = fmt::format("{}_ % {} == 0", c_.dim(condition.size), condition.elements);
    if (!llvm::is_contained(alignment_conditions_, text)) alignment_conditions_.push_back(text);
  }
  return alignment.when;
}

std::string AddressPrinter::vector_form(int id) {
  constexpr const char* kTexts[] = {"false", "true", "aligned"};
  const VectorAlignment::When when = alignment(id);
  const char* const text = kTexts[static_cast<size_t>(when)];
  const auto extent = c_.kernel.axes[c_.shape.inner].extent.constant();
  const int64_t end = extent && when != VectorAlignment::When::never ? *extent % c_.width : 0;
  return end == 0 ? fmt::format("<{}>", text) : fmt::format("_end<{}, {}>", text, end);
}

}  // namespace smelt

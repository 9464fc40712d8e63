// Kernels as text. An instruction is named by its number. Stores and accumulations, which have no reader,
// have no name if their numbers are the unused ones, in order.
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/kernel/attention_fields.h"
#include "ir/kernel/gemm_fields.h"
#include "ir/kernel/kernel.h"
#include "ir/kernel/schedule_fields.h"
#include "ir/text/lexer.h"
#include "ir/text/names.h"
#include "ir/text/text_writer.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

bool has_value(const Instruction& i) { return i.kind != Kind::store && i.kind != Kind::accumulate; }

class KernelPrinter {
 public:
  explicit KernelPrinter(const Kernel& kernel) : k_(kernel) {
    name_axes();
    number_effects();
  }

  std::string print() const {
    std::string text = fmt::format("kernel @{}({})", bare_or_quoted(k_.name), params());
    if (!k_.axes.empty()) text += "\n    " + axes();
    text += " {\n" + settings();
    std::vector<bool> shown(k_.instructions.size());
    for (const KernelBlock& block : k_.blocks) text += this->block(block, shown);
    return text + unplaced(shown) + inner("before", k_.before) + inner("beside", k_.beside) +
           inner("tail", k_.tail) + "}\n";
  }

 private:
  // ---- names

  /// Axes go by name where the names are distinct and no symbol's; else they are quoted and go by number.
  void name_axes() {
    std::vector<std::string> taken = symbols();
    named_axes_ = std::all_of(k_.axes.begin(), k_.axes.end(), [&](const KernelAxis& axis) {
      const bool fine = is_identifier(axis.name) && axis.name.find('.') == std::string::npos &&
                        std::find(taken.begin(), taken.end(), axis.name) == taken.end();
      taken.push_back(axis.name);
      return fine;
    });
  }

  std::vector<std::string> symbols() const {
    std::vector<std::string> names;
    for (const KernelAxis& axis : k_.axes) axis.extent.collect_symbols(names);
    for (const KernelParam& param : k_.params) {
      param.table_elements.collect_symbols(names);
      if (param.indices) param.indices->below.collect_symbols(names);
    }
    for (const Instruction& i : k_.instructions) {
      i.access.offset.collect_symbols(names);
      i.access.computed_stride.collect_symbols(names);
      for (const Dim& stride : i.access.strides) stride.collect_symbols(names);
      i.random_offset.collect_symbols(names);
      i.random_begin.collect_symbols(names);
      for (const Dim& stride : i.random_strides) stride.collect_symbols(names);
    }
    return names;
  }

  void number_effects() {
    int last = -1;
    for (const KernelBlock& block : k_.blocks)
      for (int number : block.instructions)
        if (known(number) && !has_value(k_.instructions[number])) {
          bare_effects_ &= number > last;
          last = number;
        }
    std::vector<bool> shown(k_.instructions.size());
    for (const KernelBlock& block : k_.blocks)
      for (int number : block.instructions)
        if (known(number)) shown[number] = true;
    for (size_t i = 0; i < shown.size(); ++i) bare_effects_ &= shown[i] || has_value(k_.instructions[i]);
  }

  bool known(int number) const { return number >= 0 && number < static_cast<int>(k_.instructions.size()); }

  std::string axis(int i) const {
    if (i < 0) return "none";
    return named_axes_ && i < static_cast<int>(k_.axes.size()) ? k_.axes[i].name : fmt::format("${}", i);
  }

  std::string param(int i) const {
    if (i < 0 || i >= static_cast<int>(k_.params.size())) return fmt::format("%?{}", i);
    const std::string& name = k_.params[i].name;
    const auto same = [&](const KernelParam& other) { return other.name == name; };
    const bool fine = is_identifier(name) && std::count_if(k_.params.begin(), k_.params.end(), same) == 1;
    return fine ? "%" + name : fmt::format("%_{}", i);
  }

  static std::string values(const std::vector<int>& numbers) {
    std::string text;
    for (int number : numbers) text += (text.empty() ? "%" : ", %") + std::to_string(number);
    return text;
  }

  // ---- header

  std::string params() const {
    std::vector<std::string> list;
    for (int i = 0; i < static_cast<int>(k_.params.size()); ++i) {
      const KernelParam& p = k_.params[i];
      const std::string name = param(i);
      std::string text = p.output ? (p.input ? "inout " : "out ") : (p.input ? "" : "unused ");
      if (p.partial) text += "partial ";
      text +=
          name + (name == "%" + p.name ? "" : " " + quote(p.name)) + ": " + std::string(smelt::name(p.dtype));
      if (!p.partial_elements.is_zero()) text += "[" + p.partial_elements.str() + "]";
      if (!p.table_elements.is_zero()) text += " table " + p.table_elements.str();
      if (p.indices) text += indices(*p.indices);
      if (p.alignment != 0) text += fmt::format(" align {}", p.alignment);
      list.push_back(std::move(text));
    }
    return fmt::format("{}", fmt::join(list, ", "));
  }

  static std::string indices(const IndexBounds& bounds) {
    const std::string text = fmt::format(" indices {} to {}", bounds.least, bounds.below.str());
    return bounds.ignored ? fmt::format("{} or {}", text, *bounds.ignored) : text;
  }

  std::string axes() const {
    std::vector<std::string> list;
    for (const KernelAxis& axis : k_.axes) {
      std::string text = fmt::format("{} {} = {}", kAxisWords[static_cast<size_t>(axis.kind)],
                                     named_axes_ ? axis.name : quote(axis.name), axis.extent.str());
      if (axis.begin >= 0 || axis.end >= 0) text += fmt::format(" from %{} to %{}", axis.begin, axis.end);
      list.push_back(std::move(text));
    }
    return fmt::format("{}", fmt::join(list, ", "));
  }

  static std::string field(bool value) { return value ? "true" : "false"; }
  static std::string field(int value) { return std::to_string(value); }
  static std::string field(int64_t value) { return std::to_string(value); }
  static std::string field(const std::vector<int>& numbers) { return "[" + values(numbers) + "]"; }

  /// Returns the fields that differ from a new kernel.
  std::string settings() const {
    const Schedule plain;
    Fields fields;
    visit_schedule_fields([&](const char* word, auto member) {
      if (k_.schedule.*member != plain.*member) fields.add(word, field(k_.schedule.*member));
    });
    std::string text = fields.str().empty() ? "" : "  schedule" + fields.str() + "\n";
    if (k_.attention) text += attention(*k_.attention);
    if (k_.gemm) text += gemm(*k_.gemm);
    if (k_.random_slots != 0) text += fmt::format("  random_slots {}\n", k_.random_slots);
    if (k_.waits) text += "  waits\n";
    if (k_.in_order) text += "  in_order\n";
    if (k_.copies != 1) text += fmt::format("  copies {}\n", k_.copies);
    if (k_.row_predicate != -1) text += fmt::format("  where %{}\n", k_.row_predicate);
    return text;
  }

  // ---- attention

  static std::string field(double value) { return text(value); }
  static std::string field(const Dim& value) { return value.str(); }
  static std::string field(AttentionPart value) { return std::string(smelt::name(value)); }
  static std::string field(const std::vector<int64_t>& numbers) {
    return fmt::format("[{}]", fmt::join(numbers, ", "));
  }
  static std::string field(const AttentionKernel::Matrix& m) {
    return fmt::format("[{}, {}, {}, {}, {}]", m.param, field(m.of_keys), m.batch_stride.str(),
                       m.place_stride.str(), m.head_stride.str());
  }
  static std::string field(const TemplateTiles& tiles) {
    return std::visit(
        [](const auto& of_template) {
          std::vector<int> numbers;
          visit_tile_numbers(of_template, [&](const auto& number) { numbers.push_back(number); });
          return fmt::format("{} [{}]", template_name(of_template), fmt::join(numbers, ", "));
        },
        tiles);
  }
  template <typename T>
  static std::string field(const std::vector<T>& items) {
    std::vector<std::string> list;
    for (const T& item : items) list.push_back(field(item));
    return fmt::format("[{}]", fmt::join(list, ", "));
  }

  /// Returns the fields that differ from an empty attention kernel.
  static std::string attention(const AttentionKernel& attention) {
    const AttentionKernel plain;
    Fields fields;
    visit_attention_fields([&](const char* word, auto member) {
      if (!(attention.*member == plain.*member)) fields.add(word, field(attention.*member));
    });
    return "  attention" + fields.str() + "\n";
  }

  // ---- matmuls

  static std::string field(const GemmKernel::Operand& operand) {
    return fmt::format("[{}, {}, {}]", operand.param, field(operand.transposed), operand.pitch.str());
  }
  static std::string field(const GemmTiles& tiles) {
    std::vector<int> numbers;
    visit_gemm_tiles(tiles, [&](int number) { numbers.push_back(number); });
    return fmt::format("[{}]", fmt::join(numbers, ", "));
  }
  static std::string field(const std::optional<MmaTiles>& tiles) {
    std::vector<int> numbers;
    visit_mma_tiles(*tiles, [&](int number) { numbers.push_back(number); });
    return fmt::format("[{}]", fmt::join(numbers, ", "));
  }
  static std::string field(const GemmKernel::Batch& axis) {
    return fmt::format("[{}, {}, {}]", axis.extent.str(), axis.a_stride.str(), axis.b_stride.str());
  }
  static std::string field(const std::optional<PackedOperand>& packed) {
    return fmt::format("[{}, {}, {}, {}, {}, {}]", packed->format, packed->group, packed->scales,
                       packed->zeros, packed->scales_pitch.str(), packed->zeros_pitch.str());
  }
  static std::string field(const std::optional<SmallMTiles>& few) {
    return fmt::format("[{}, {}, {}, {}, {}, {}{}{}]", few->rows, few->weights, few->depth, few->parts,
                       few->bias, smelt::name(few->result_dtype),
                       few->splits || few->warps ? fmt::format(", {}, {}", few->splits, few->together) : "",
                       few->warps ? fmt::format(", {}", few->warps) : "");
  }
  static std::string gemm(const GemmKernel& gemm) {
    const GemmKernel plain;
    Fields fields;
    visit_gemm_fields([&](const char* word, auto member) {
      if (!(gemm.*member == plain.*member)) fields.add(word, field(gemm.*member));
    });
    return "  gemm" + fields.str() + "\n";
  }

  // ---- blocks

  std::string block(const KernelBlock& block, std::vector<bool>& shown) const {
    std::string text =
        fmt::format("  {}{}{} {{\n", kScopeWords[static_cast<size_t>(block.scope)],
                    block.after_barrier ? " after_barrier" : "", block.loads_first ? " loads_first" : "");
    for (int number : block.instructions) {
      if (!known(number)) continue;
      text += shown[number] ? fmt::format("    repeat %{}\n", number) : "    " + instruction(number) + "\n";
      shown[number] = true;
    }
    return text + "  }\n";
  }

  std::string unplaced(const std::vector<bool>& shown) const {
    std::string text;
    for (int i = 0; i < static_cast<int>(shown.size()); ++i)
      if (!shown[i]) text += "    " + instruction(i) + "\n";
    return text.empty() ? "" : "  unplaced {\n" + text + "  }\n";
  }

  /// Kernels within this one, indented.
  static std::string inner(const std::string& word, const std::vector<Kernel>& kernels) {
    std::string text;
    for (const Kernel& kernel : kernels) {
      const std::string whole = word + KernelPrinter(kernel).print().substr(std::string("kernel").size());
      for (size_t begin = 0; begin < whole.size();) {
        const size_t end = whole.find('\n', begin) + 1;
        text += "  " + whole.substr(begin, end - begin);
        begin = end;
      }
    }
    return text;
  }

  std::string instruction(int number) const {
    const Instruction& i = k_.instructions[number];
    const std::string name = has_value(i) || !bare_effects_ ? fmt::format("%{} = ", number) : "";
    return fmt::format("{}{} : {}", name, action(i), smelt::name(i.dtype));
  }

  std::string action(const Instruction& i) const {
    const std::string operands = values(i.operands);
    switch (i.kind) {
      case Kind::constant:
        return "constant " + text(i.number);
      case Kind::index:
        return "index " + axis(i.axis);
      case Kind::scalar:
        return fmt::format("{}{} {}", smelt::name(i.scalar_op), form(i), operands);
      case Kind::convert:
        return "convert " + operands;
      case Kind::random:
        return fmt::format("random {}[{}, {}]", i.slot, sum(i.random_offset, i.random_strides, -1, 0),
                           column(i));
      case Kind::load:
        return fmt::format("load{} {}{}", form(i), place(i.access), condition(i));
      case Kind::store:
        return fmt::format("store {} = {}{}", place(i.access), operands, condition(i));
      case Kind::accumulate:
        return fmt::format("accumulate{} {} += {}{}{}", form(i), place(i.access), operands, condition(i),
                           exchange(i));
      case Kind::reduce:
        return fmt::format("reduce {}{} {}{}{}", smelt::name(i.reduce_op), form(i), operands, condition(i),
                           exchange(i));
      case Kind::result:
        return fmt::format("result {} of {}", i.slot, operands);
      case Kind::handed:
        return fmt::format("handed {}", i.slot);
    }
    return "";
  }

  static std::string form(const Instruction& i) {
    return i.form == Form::plain ? "" : fmt::format(".{}", kFormWords[static_cast<size_t>(i.form)]);
  }

  static std::string condition(const Instruction& i) {
    return i.predicate < 0 ? "" : fmt::format(" if %{}", i.predicate);
  }

  static std::string exchange(const Instruction& i) {
    return (i.exchange_round == 0 ? "" : fmt::format(" round {}", i.exchange_round)) +
           (i.exchange_columns == 0 ? "" : fmt::format(" columns {}", i.exchange_columns));
  }

  std::string place(const Access& a) const {
    return fmt::format("{}[{}]", param(a.param), sum(a.offset, a.strides, a.computed, a.computed_stride));
  }

  /// Returns the column of a random op: "c", "c + 96*model.rank", "3", or "none".
  std::string column(const Instruction& i) const {
    if (i.random_begin.is_zero()) return axis(i.random_axis);
    const std::string begin = i.random_begin.str();
    return i.random_axis < 0 ? begin : fmt::format("{} + {}", axis(i.random_axis), begin);
  }

  /// r*768 + c + %5*64 + 128
  std::string sum(const Dim& offset, const std::vector<Dim>& strides, int computed,
                  const Dim& computed_stride) const {
    std::string text;
    for (int i = 0; i < static_cast<int>(strides.size()); ++i)
      if (!strides[i].is_zero()) append(text, product(axis(i), strides[i]));
    if (computed >= 0) append(text, product(fmt::format("%{}", computed), computed_stride));
    if (!offset.is_zero() || text.empty()) append(text, offset.str());
    return text;
  }

  static void append(std::string& text, const std::string& term) {
    text += (text.empty() ? "" : " + ") + term;
  }

  static std::string product(const std::string& name, const Dim& stride) {
    if (stride.is_one()) return name;
    const bool plain = stride.terms().size() == 1 && stride.terms()[0].coefficient > 0;
    return plain ? fmt::format("{}*{}", name, stride.str()) : fmt::format("{}*({})", name, stride.str());
  }

  const Kernel& k_;
  bool named_axes_ = false, bare_effects_ = true;
};

}  // namespace

std::string print(const Kernel& kernel) { return KernelPrinter(kernel).print(); }

}  // namespace smelt

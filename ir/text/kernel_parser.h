// Parser of the text form of kernels, for a kernel alone and for the kernels of a program.
#pragma once

#include <map>
#include <optional>

#include "ir/kernel/kernel.h"
#include "ir/text/text_parser.h"

namespace smelt {

/// State of the parser while it parses one kernel. Instructions get their final numbers at the end of the
/// kernel (finish()), because the text may leave an instruction without a name, and may use an instruction
/// before it is defined.
struct KernelParts {
  /// One instruction of the text. The name %12 gives an instruction the number 12. Instructions without a
  /// name get the numbers that no name uses.
  struct Line {
    std::optional<int> number;  // from the name; nothing: the instruction has no name
    Instruction instruction;
  };
  /// One block of the text.
  struct Block {
    std::optional<KernelBlock::Scope> scope = {};     // nothing: `unplaced`, instructions outside all blocks
    std::vector<size_t> lines = {};                   // indices into lines_, in the order of the block
    bool after_barrier = false, loads_first = false;  // as in KernelBlock
  };
  /// Use of an instruction that may be defined after the use.
  struct Reference {
    Token at;
    int number;  // of the instruction
  };

  Kernel kernel_;
  /// Per axis: whether it is declared without quotes. Only then may an index refer to the axis by its name;
  /// every axis also has a number, as in $0.
  std::vector<bool> named_axes_;
  std::vector<Line> lines_;  // in the order of the text
  std::vector<Block> blocks_;
  std::map<int, size_t> defined_;   // index into lines_ of each instruction with a name, by its number
  std::vector<Reference> forward_;  // checked at the end of the kernel
};

/// Recursive-descent parser with one function per construct. Functions throw Error with the position of a
/// fault.
class KernelParser : public TextParser, private KernelParts {
 public:
  KernelParser(std::string_view text, std::string_view file) : TextParser(text, file) {}
  /// Parses a text that consists of one kernel.
  Kernel parse();

 protected:
  /// Parses the text after the word `kernel`.
  Kernel kernel();

  /// Parses fields in braces, {name = value, ...}, into `made`. visit_fields calls its argument with the name
  /// and the pointer to member of each field; read_value parses the value of one field.
  template <typename T, typename VisitFields, typename ReadValue>
  void read_fields(T& made, const VisitFields& visit_fields, const ReadValue& read_value) {
    lexer.expect("{");
    fields([&](const Token& key) {
      bool known = false;
      std::string words;
      visit_fields([&](const char* word, auto member) {
        words += (words.empty() ? "" : ", ") + std::string(word);
        if (key.text != word) return;
        known = true;
        read_value(made.*member);
      });
      if (!known) unknown_field(key, words);
    });
  }

 private:
  void param();
  IndexBounds indices();
  void kernel_axis();
  void schedule();
  /// Parses fields in braces with the overload of read() for the type of each field.
  template <typename T, typename VisitFields>
  void read_fields(T& made, const VisitFields& visit_fields) {
    read_fields(made, visit_fields, [this](auto& value) { this->read(value); });
  }
  void read(bool& value) { value = boolean(); }
  void read(int& value) { value = small_integer(); }
  void read(int64_t& value) { value = integer(); }
  void read(std::vector<int>& numbers);
  void read(double& value) { value = number(); }
  void read(Dim& value) { value = dim(); }
  void read(std::vector<int64_t>& values) { values = integers(); }
  void read(AttentionPart& part);
  void read(AttentionKernel::Matrix& matrix);
  void read(TemplateTiles& tiles);
  template <typename T>
  void read(std::vector<T>& items);
  /// Parses a list such as [2, 128] into the integers that visit(next) passes to `next`.
  template <typename Visit>
  void read_list(const Visit& visit) {
    lexer.expect("[");
    bool first = true;
    visit([&](int& number) {
      if (!std::exchange(first, false)) lexer.expect(",");
      number = small_integer();
    });
    lexer.expect("]");
  }
  void read(GemmKernel::Operand& operand);
  void read(GemmTiles& tiles);
  void read(std::optional<MmaTiles>& tiles);
  void read(GemmKernel::Batch& axis);
  void read(std::optional<PackedOperand>& packed);
  void read(std::optional<SmallMTiles>& few);
  void attention();
  void gemm();
  void check_attention();
  Kernel inner();  // a kernel within the kernel that is being parsed: before, beside or tail
  void block();
  void line(Block& block);
  /// Splits a token such as exp.fast into the word and the form after the dot.
  std::pair<std::string_view, Form> split_form(const Token& token);
  void instruction(Instruction& i);
  /// Parses the instruction `word`, all kinds except reduce.
  void action(const Token& op, std::string_view word, Instruction& i);
  void operands(Instruction& i);
  void reduce(Instruction& i);
  void exchange(Instruction& i);  // [round NUMBER] [columns NUMBER]
  void memory(Instruction& i);
  void random(Instruction& i);
  void random_column(Instruction& i);
  Access place();                     // %param[index], the element that an instruction accesses
  Access index_sum(const Token& at);  // a sum of sizes, of axes times sizes and of at most one computed index
  void add_term(const Token& at, const Dim::Term& term, Access& access);
  /// Returns a symbol that represents an axis or a computed index (%value) within a sum; nothing for any
  /// other token.
  std::optional<Dim> index_atom(const Token& token);
  int param_reference();  // number of a parameter, %name
  int axis_reference();   // number of an axis
  std::optional<int> find_axis(const Token& token) const;
  int value();          // number of an instruction that is defined before this use
  int forward_value();  // number of an instruction that is defined anywhere in the kernel
  int number_of(const Token& token);
  void condition(Instruction& i);
  void finish();  // numbers the instructions without a name, and fills kernel_
};

}  // namespace smelt

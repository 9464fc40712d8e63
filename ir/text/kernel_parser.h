// Parser of the text form of kernels, for a kernel alone and for the kernels of a program.
#pragma once

#include <map>
#include <optional>

#include "ir/kernel/kernel.h"
#include "ir/text/text_parser.h"

namespace smelt {

/// Parsed parts of a kernel, before its instructions have their final numbers.
struct KernelParts {
  /// Instruction in the order of the text. At the end of the kernel, instructions without a name get the
  /// numbers that no name uses.
  struct Line {
    std::optional<int> number;  // from its name, such as %12; nothing: it has no name
    Instruction instruction;
  };
  struct Block {
    std::optional<KernelBlock::Scope> scope = {};  // nothing: the instructions are in no block of the kernel
    std::vector<size_t> lines = {};                // indices of lines_
    bool after_barrier = false, loads_first = false;
  };
  /// Use of an instruction that may be defined after the use.
  struct Reference {
    Token at;
    int number;
  };

  Kernel kernel_;
  std::vector<bool> named_axes_;  // per axis, whether its name is not in quotes, so that places can use it
  std::vector<Line> lines_;
  std::vector<Block> blocks_;
  std::map<int, size_t> defined_;  // index in lines_, by the number of the instruction
  std::vector<Reference> forward_;
};

class KernelParser : public TextParser, private KernelParts {
 public:
  KernelParser(std::string_view text, std::string_view file) : TextParser(text, file) {}
  /// Parses a text that is one kernel. Throws Error with the place of a fault.
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
  void read(GemmKernel::Operand& operand);
  void read(GemmTiles& tiles);
  void read(std::optional<SmallMTiles>& few);
  void attention();
  void gemm();
  void check_attention();
  Kernel inner();
  void block();
  void line(Block& block);
  std::pair<std::string_view, Form> split_form(const Token& token);
  void instruction(Instruction& i);
  void action(const Token& op, std::string_view word, Instruction& i);
  void operands(Instruction& i);
  void reduce(Instruction& i);
  void exchange(Instruction& i);
  void memory(Instruction& i);
  void random(Instruction& i);
  void random_column(Instruction& i);
  Access place();
  Access index_sum(const Token& at);
  void add_term(const Token& at, const Dim::Term& term, Access& access);
  std::optional<Dim> index_atom(const Token& token);
  int param_reference();
  int axis_reference();
  std::optional<int> find_axis(const Token& token) const;
  int value();          // number of an instruction that is defined before this use
  int forward_value();  // number of an instruction that is defined anywhere in the kernel
  int number_of(const Token& token);
  void condition(Instruction& i);
  void finish();
};

}  // namespace smelt

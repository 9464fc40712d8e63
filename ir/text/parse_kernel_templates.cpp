// The parser of kernels: what those that are templates say of themselves.
#include <algorithm>
#include <utility>

#include "ir/kernel/attention_fields.h"
#include "ir/kernel/gemm_fields.h"
#include "ir/text/kernel_parser.h"
#include "runtime/base/packed_format.h"

namespace smelt {

// ---- attention

void KernelParser::read(AttentionPart& part) {
  const Token word = lexer.expect(Token::Kind::identifier, "a part of attention");
  const auto found = parse_attention_part(word.text);
  if (!found) lexer.fail_at(word.offset, "expected a part of attention, such as forward");
  part = *found;
}

void KernelParser::read(AttentionKernel::Matrix& matrix) {
  lexer.expect("[");
  matrix.param = small_integer();
  lexer.expect(","), matrix.of_keys = boolean();
  for (Dim* stride : {&matrix.batch_stride, &matrix.place_stride, &matrix.head_stride})
    lexer.expect(","), *stride = dim();
  lexer.expect("]");
}

void KernelParser::read(TemplateTiles& tiles) {
  const Token word = lexer.expect(Token::Kind::identifier, "a template (mma, wgmma, blocks or few)");
  if (word.text == "wgmma")
    tiles = WgmmaTiles{};
  else if (word.text == "blocks")
    tiles = BlockTiles{};
  else if (word.text == "few")
    tiles = FewTiles{};
  else if (word.text != "mma")
    lexer.fail_at(word.offset, "expected mma, wgmma, blocks or few");
  lexer.expect("[");
  bool first = true;
  const auto next = [&](auto& number) {
    if (!std::exchange(first, false)) lexer.expect(",");
    number = static_cast<std::remove_reference_t<decltype(number)>>(small_integer());
  };
  std::visit([&](auto& of_template) { visit_tile_numbers(of_template, next); }, tiles);
  lexer.expect("]");
}

template <typename T>
void KernelParser::read(std::vector<T>& items) {
  lexer.expect("[");
  list("]", [&] { read(items.emplace_back()); });
}

void KernelParser::attention() {
  read_fields(kernel_.attention.emplace(), [](const auto& visit) { visit_attention_fields(visit); });
  check_attention();
}

/// Numbers of parameters and axes that the kernel has.
void KernelParser::check_attention() {
  const AttentionKernel& made = *kernel_.attention;
  std::vector<int64_t> params = made.rows;
  params.insert(params.end(), made.sums.begin(), made.sums.end());
  for (const auto* list : {&made.matrices, &made.scales})
    for (const AttentionKernel::Matrix& matrix : *list) params.push_back(matrix.param);
  const auto within = [](const auto& numbers, size_t count) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](int64_t n) { return n >= 0 && n < static_cast<int64_t>(count); });
  };
  for (const int shared : {made.query_sums, made.counters, made.places, made.workspace})
    if (shared != -1) params.push_back(shared);
  if (!within(params, kernel_.params.size())) lexer.expected("numbers of the kernel's parameters");
  if (made.axes.size() != 4 || !within(made.axes, kernel_.axes.size()))
    lexer.expected("axes: four of the kernel's");
  if (made.returned.empty() || made.matrices.size() < 4)
    lexer.expected("what the body returns, and four matrices");
  if (!made.scales.empty() && made.scales.size() != 2)
    lexer.expected("scales of keys and of values, or none");
}

// ---- matmuls

void KernelParser::read(GemmKernel::Operand& operand) {
  lexer.expect("[");
  operand.param = small_integer();
  lexer.expect(","), operand.transposed = boolean();
  lexer.expect(","), operand.pitch = dim();
  lexer.expect("]");
}

void KernelParser::read(GemmTiles& tiles) {
  read_list([&](const auto& next) { visit_gemm_tiles(tiles, next); });
}

void KernelParser::read(std::optional<MmaTiles>& tiles) {
  read_list([&](const auto& next) { visit_mma_tiles(tiles.emplace(), next); });
}

void KernelParser::read(GemmKernel::Batch& axis) {
  lexer.expect("[");
  axis.extent = dim();
  for (Dim* stride : {&axis.a_stride, &axis.b_stride}) lexer.expect(","), *stride = dim();
  lexer.expect("]");
}

void KernelParser::read(std::optional<PackedOperand>& packed) {
  PackedOperand& made = packed.emplace();
  lexer.expect("[");
  const Token word = lexer.expect(Token::Kind::identifier, "a format of packed numbers");
  made.format = word.text;
  if (!find_packed_format(made.format)) lexer.fail_at(word.offset, "expected int4, nf4, int8 or fp8");
  lexer.expect(","), made.group = small_integer();
  if (made.group < 1) lexer.expected("groups of at least one element");
  for (int* number : {&made.scales, &made.zeros}) lexer.expect(","), *number = small_integer();
  for (Dim* pitch : {&made.scales_pitch, &made.zeros_pitch}) lexer.expect(","), *pitch = dim();
  lexer.expect("]");
}

void KernelParser::read(std::optional<SmallMTiles>& few) {
  SmallMTiles& made = few.emplace();
  lexer.expect("[");
  for (int* number : {&made.rows, &made.weights, &made.depth, &made.parts, &made.bias})
    *number = small_integer(), lexer.expect(",");
  made.result_dtype = dtype();
  if (lexer.accept(",")) made.splits = small_integer(), lexer.expect(","), made.together = small_integer();
  if (lexer.accept(",")) made.warps = small_integer();
  lexer.expect("]");
}

/// Parses a gemm. In small-M GEMM A may be the result of the prologue, and the bias may be absent.
void KernelParser::gemm() {
  GemmKernel& made = kernel_.gemm.emplace();
  read_fields(made, [](const auto& visit) { visit_gemm_fields(visit); });
  const auto is_param = [&](int param) { return param >= 0 && param < std::ssize(kernel_.params); };
  const bool has_a = is_param(made.a.param) || (made.few && made.is_staged());
  const bool has_bias = !made.few || made.few->bias < 0 || is_param(made.few->bias);
  const bool has_groups = !made.packed || (made.is_small_m() && is_param(made.packed->scales) &&
                                           (made.packed->zeros < 0 || is_param(made.packed->zeros)));
  if (!has_a || !is_param(made.b.param) || !has_bias || !has_groups)
    lexer.expected("numbers of the kernel's parameters");
  if (made.mma)
    visit_mma_tiles(*made.mma, [&](int number) {
      if (number <= 0) lexer.expected("tiles of at least one element");
    });
  if (made.is_byte_gemm() && !(made.n.is_constant() && made.few->rows > 0 && made.few->parts > 0 &&
                               made.few->weights >= made.few->parts && made.few->together > 0))
    lexer.expected("a constant n, and tiles of at least one row and one column of each part");
}

}  // namespace smelt

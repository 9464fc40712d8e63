#include "passes/graph/fusion/gemm_members.h"

#include <fmt/format.h>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "passes/expressions.h"

namespace smelt {

MatmulSpec renamed(const MatmulSpec& spec, const std::string& first) {
  std::string seen;
  for (char letter : first + spec.a + spec.b)
    if (seen.find(letter) == std::string::npos) seen += letter;
  auto rename = [&](const std::string& letters) {
    std::string result;
    for (char letter : letters) result += static_cast<char>('a' + seen.find(letter));
    return result;
  };
  return {rename(spec.a), rename(spec.b), rename(spec.out)};
}

Member member_of(Node* node, unsigned side) {
  const MatmulSpec spec = parse_matmul_spec(node->get(attr::spec));
  return {node, side, renamed(spec, side == 0 ? spec.b : spec.a)};
}

std::string common_key(const Member& member, int64_t axis) {
  Shape shape = member.stacked()->shape();
  shape.erase(shape.begin() + axis);
  return fmt::format("{}|{}|{}|{}|{}|{}", member.letters.str(), member.side, str(shape),
                     name(member.stacked()->dtype()), name(member.node->phase), member.node->anchored);
}

Stack names_of(const Members& members) {
  Stack names;
  for (const Member& member : members) names.push_back(parameter_name(member.stacked()));
  return names;
}

void order_like(Members& members, const Stack& stack) {
  auto place = [&](const Member& m) { return llvm::find(stack, parameter_name(m.stacked())); };
  llvm::sort(members, [&](const Member& l, const Member& r) { return place(l) < place(r); });
}

void replace_by_slices(Graph& graph, GraphBuilder& b, Value* whole, int64_t axis,
                       llvm::ArrayRef<Node*> parts) {
  Dim begin = 0;
  for (Node* part : parts) {
    const Dim length = part->result()->shape()[axis];
    b.set_source(part->source);
    Value* slice = b.slice(whole, axis, begin, length);
    inherit_marks(*part, *slice->node());
    graph.replace_all_uses(part->result(), slice);
    begin += length;
  }
}

std::string joined_source(llvm::ArrayRef<Node*> nodes) {
  constexpr llvm::StringRef kPlus = " + ";
  llvm::SetVector<llvm::StringRef> names;
  for (const Node* node : nodes) {
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(node->source).split(parts, kPlus, -1, false);
    names.insert(parts.begin(), parts.end());
  }
  return llvm::join(names, kPlus);
}

}  // namespace smelt

#include "passes/graph/training/hidden_matrices.h"

#include "ir/ops/op.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

bool multiplies(const Node& node) {
  return node.is(Op::matmul) || node.is(Op::linear) || node.is(Op::einsum);
}

bool moves_no_data(const Node& node) { return info(node.op()).has(Trait::view) || node.is(Op::convert); }

/// Returns whether a product of rounded numbers has a derivative by `value`, as those of quantisation-aware
/// training have (passes/graph/precision/quantize_activations.h).
bool is_rounded(const Value* value) {
  return llvm::any_of(value->users(), [](const Node* user) { return user->is(Op::custom_vjp); });
}

/// Adds the products that read the rounded numbers of a weight, which end in its custom_vjp. Returns whether
/// only such read it.
bool add_rounded_products(const Value* value, llvm::DenseSet<const Node*>& products) {
  bool only = true;
  for (const Node* user : value->users()) {
    if (user->is(Op::custom_vjp)) continue;
    if (multiplies(*user))
      products.insert(user);
    else
      only &= !user->is(Op::embedding) && add_rounded_products(user->result(), products);
  }
  return only;
}

/// Adds the products that read `value`, also through views. Returns whether there are no other readers.
bool add_products(const Value* value, llvm::DenseSet<const Node*>& products) {
  if (is_rounded(value)) return add_rounded_products(value, products);
  bool only = true;
  for (const Node* user : value->users()) {
    if (multiplies(*user))
      products.insert(user);
    else
      only &= moves_no_data(*user) && add_products(user->result(), products);
  }
  return only;
}

/// The products that read each parameter, and whether nothing else reads it.
struct Reader {
  const Node* parameter;
  llvm::DenseSet<const Node*> products;
  bool only_multiplied;
};

std::vector<Reader> readers_of(const Graph& graph) {
  std::vector<Reader> readers;
  for (const auto& node : graph.nodes()) {
    if (!node->is(Op::parameter)) continue;
    Reader& reader = readers.emplace_back(Reader{node.get(), {}, false});
    reader.only_multiplied = add_products(node->result(), reader.products);
  }
  return readers;
}

/// The nodes after whose results a node of `products` follows.
llvm::DenseSet<const Node*> nodes_before(const Graph& graph, const llvm::DenseSet<const Node*>& products) {
  llvm::DenseSet<const Node*> before;
  for (const auto& node : llvm::reverse(graph.nodes()))
    for (const auto& result : node->results())
      for (const Node* user : result->users())
        if (products.contains(user) || before.contains(user)) before.insert(node.get());
  return before;
}

/// Filters of convolutions have three dims, too; they are multiplied as matrices, through a view.
bool has_form_of_matrices(const Node& parameter) {
  const Value& value = *parameter.result();
  return value.rank() == 2 || (value.rank() == 3 && llvm::all_of(value.users(), [](const Node* user) {
                                 return multiplies(*user);
                               }));
}

bool is_trained(const Graph& graph, const std::string& name) {
  return !graph.module().find_parameter(name)->frozen;
}

}  // namespace

std::vector<std::string> hidden_matrices(const Graph& graph) {
  const std::vector<Reader> readers = readers_of(graph);
  llvm::DenseSet<const Node*> products;
  for (const Reader& reader : readers) products.insert(reader.products.begin(), reader.products.end());
  const llvm::DenseSet<const Node*> before = nodes_before(graph, products);
  std::vector<std::string> names;
  for (const Reader& reader : readers) {
    const std::string& name = reader.parameter->get(attr::name);
    const bool is_hidden = reader.only_multiplied && !reader.products.empty() &&
                           llvm::all_of(reader.products, [&](const Node* p) { return before.contains(p); });
    if (is_hidden && has_form_of_matrices(*reader.parameter) && is_trained(graph, name))
      names.push_back(name);
  }
  return names;
}

}  // namespace smelt
